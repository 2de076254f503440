"""Translating many segments at a time, word for word as one stream at a time would."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from simulmt.errors import SimulmtError
from simulmt.evaluation.corpus import Sentence
from simulmt.instance import Instance
from simulmt.model.decoder import Decoder
from simulmt.model.loading import Translator
from simulmt.model.packing import PackedDecoder, can_pack
from simulmt.model.writer import Request
from simulmt.policy import Policy
from simulmt.stream import Segment
from simulmt.text.events import Word
from simulmt.text.units import split_units

__all__ = ["DEFAULT_ROWS", "Sentence", "decode", "decode_fitting", "default_rows"]

DEFAULT_ROWS = 64
GPU_ROWS = 256

_ROW_TOKENS = 512  # a long sentence and its translation
_CPU_BYTES = 2**30

_REFILL = 8
"""Rows are given new sentences when this fraction of them is free: a first step has many tokens, and while it is made
attention pads all others to it."""

_PASS_COST = {"cpu": 16}
_GPU_PASS_COST = 2000
"""What a forward pass costs beside its tokens, in tokens: on a CPU the weights are read anew and kernels started, on a
GPU tokens cost next to nothing until there are thousands."""


def decode_fitting(
    translator: Translator, sentences: Sequence[Sentence], policy: Policy, rows: int | None = None
) -> Iterator[Instance]:
    """Decode with as many rows as fit: `decode`, with half the rows each time that a GPU's memory runs out.

    Args:
        translator, sentences, policy: as for `decode`.
        rows: the most to try; None takes what `default_rows` says.

    Raises:
        SimulmtError: the memory does not hold one stream.
    """
    rows = rows or default_rows(translator.model)
    left = {sentence.index: sentence for sentence in sentences}
    while left:
        try:
            for instance in decode(translator, list(left.values()), policy, min(rows, len(left))):
                del left[instance.index]
                yield instance
        except torch.OutOfMemoryError as error:
            if rows == 1:
                raise SimulmtError("the GPU's memory does not hold one stream", "try --dtype bfloat16") from error
            rows //= 2
            torch.cuda.empty_cache()


def default_rows(model: Any) -> int:
    """Return how many streams to decode at a time: 64 on a CPU, 256 on a GPU, fewer if their caches would be large.

    On a CPU the caches may take 1 GiB, on a GPU half of the memory that is free.
    """
    config = model.config.get_text_config()
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    row_bytes = 2 * _ROW_TOKENS * config.num_hidden_layers * heads * size * model.dtype.itemsize
    most, memory = DEFAULT_ROWS, _CPU_BYTES
    if model.device.type == "cuda":
        most, memory = GPU_ROWS, torch.cuda.mem_get_info(model.device)[0] // 2
    return int(max(1, min(most, memory // row_bytes)))


def decode(
    translator: Translator, sentences: Sequence[Sentence], policy: Policy, rows: int = DEFAULT_ROWS
) -> Iterator[Instance]:
    """Yield an Instance for each sentence, in the order in which they get done.

    Up to `rows` sentences are decoded at a time, those of like length together; rows that get free take the next ones.
    Each is a stream of its own, its words and delays are those of a single stream. `arrivals` are left out and
    `elapsed` is 0: in a batch, time says nothing about a live stream. (In float32. In bfloat16 the rounding of another
    batch can tip a word where two are equally likely.)
    """
    batch = _Batch(translator, policy, rows)
    waiting = deque(sorted(sentences, key=lambda sentence: -len(sentence.source)))
    refill = max(1, rows // _REFILL)
    while waiting or batch.active:
        if len(batch.free) >= refill or not batch.active:
            for _ in range(min(len(batch.free), len(waiting))):
                batch.add(waiting.popleft())
        yield from batch.step()


@dataclass(slots=True)
class _Active:
    """A sentence on its row."""

    sentence: Sentence
    segment: Segment

    @property
    def done(self) -> bool:
        return self.segment.done or not self.segment.words

    def instance(self) -> Instance:
        """Return its record; `source` is the sentence as it was given."""
        instance = self.segment.instance(reference=self.sentence.reference)
        instance.source = self.sentence.source
        instance.arrivals, instance.offset, instance.elapsed = None, None, [0.0] * len(instance.delays)
        return instance


class _Batch:
    """Rows of one decoder, each free or with a sentence."""

    def __init__(self, translator: Translator, policy: Policy, rows: int) -> None:
        self.translator = translator
        self.policy = policy
        self.decoder = _decoder(translator, rows)
        self.active: dict[int, _Active] = {}
        self.free = list(range(rows))

    def add(self, sentence: Sentence) -> None:
        """Give a sentence a free row."""
        segment = Segment(self.translator, self.policy, sentence.index, whole=True)
        now = time.monotonic()
        for unit in split_units(sentence.source, self.translator.source.unit):
            segment.feed(Word(unit, now))
        segment.close("line")
        self.active[self.free.pop()] = _Active(sentence, segment)

    def step(self) -> Iterator[Instance]:
        """Make one step of all active rows; yield those that end and free their rows."""
        requests: dict[int, Request] = {}
        for row, active in self.active.items():
            request = active.segment.advance() if active.segment.words else None
            if request is not None:
                requests[row] = request
        for rows in self._passes(requests):
            tokens = self.decoder.run([requests[row] for row in rows], rows)
            for row, token in zip(rows, tokens, strict=True):
                self.active[row].segment.take(token)
        for row in [row for row, active in self.active.items() if active.done]:
            self.decoder.release(row)
            self.free.append(row)
            yield self.active.pop(row).instance()

    def _passes(self, requests: Mapping[int, Request]) -> list[list[int]]:
        if not requests:
            return []
        if isinstance(self.decoder, PackedDecoder):
            return [sorted(requests)]
        sizes = {row: len(request.source) + len(request.target) for row, request in requests.items()}
        return alike(sizes, _PASS_COST.get(self.decoder.device.type, _GPU_PASS_COST))


def _decoder(translator: Translator, rows: int) -> Decoder:
    """One row needs no packing: then it is the decoder of live streams."""
    if rows == 1 or not can_pack(translator.model):
        return translator.decoder(rows)
    return PackedDecoder(translator.model, translator.tokenizer, translator.prompt.stops, translator.card.phi, rows)


def alike(sizes: Mapping[int, int], pass_cost: int) -> list[list[int]]:
    """Part rows into the passes that cost least together.

    Rows of one pass are padded to the longest of them, so a pass costs rows × longest, and `pass_cost` on top.

    Args:
        sizes: for each row the tokens of its step.
        pass_cost: in tokens.

    Returns:
        The rows of each pass, in rising order.
    """
    ranked = sorted(sizes, key=lambda row: (sizes[row], row))
    widths = [sizes[row] for row in ranked]
    cuts = [0] + [i for i in range(1, len(ranked)) if widths[i] != widths[i - 1]] + [len(ranked)]
    # best[j]: least cost of the rows before cuts[j], and where the last of their passes starts.
    best: list[tuple[int, int]] = [(0, 0)]
    for j in range(1, len(cuts)):
        width = widths[cuts[j] - 1] if ranked else 0
        best.append(min((best[i][0] + pass_cost + (cuts[j] - cuts[i]) * width, i) for i in range(j)))
    parts, j = [], len(cuts) - 1
    while j > 0:
        i = best[j][1]
        parts.append(sorted(ranked[cuts[i] : cuts[j]]))
        j = i
    return [part for part in reversed(parts) if part]
