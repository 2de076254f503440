"""Group decoding against re-encoding and against whole-sentence `generate()`, on the same weights."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from simulmt.benchmark.text import TEXT
from simulmt.model.decoder import Decoder
from simulmt.model.loading import Translator
from simulmt.model.writer import Request
from simulmt.policy import Full, Policy, WaitK
from simulmt.stream import Segment
from simulmt.text.events import Word


@dataclass
class Measure:
    """What one way of decoding took.

    Attributes:
        words, tokens: target words and target tokens written. forwarded: tokens that went through the model.
        seconds: in all. word_times: seconds for each word.
    """

    words: int = 0
    tokens: int = 0
    forwarded: int = 0
    seconds: float = 0.0
    word_times: list[float] = field(default_factory=list)

    def quantile(self, share: float) -> float | None:
        """Return a quantile of the time of a word, in ms; None if words were not timed."""
        times = sorted(self.word_times)
        return times[min(len(times) - 1, int(share * len(times)))] * 1000 if times else None


@dataclass(frozen=True)
class Row:
    """One line of the table: a way of decoding segments of a length under a policy."""

    method: str
    length: int
    policy: str
    measure: Measure


class ReencodingDecoder(Decoder):
    """The baseline: at each READ the whole prompt and all that was written is encoded again."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._source: list[int] = []
        self._target: list[int] = []

    def logits(self, requests: Sequence[Request], rows: Sequence[int] | None = None) -> Tensor:
        (request,) = requests
        del self._source[request.source_start :], self._target[request.target_start :]
        self._source += request.source
        self._target += request.target
        if request.source:
            self.release(0)
            request = Request(tuple(self._source), 0, tuple(self._target), 0, 0, request.choice)
        return super().logits([request], rows)


def compare(
    translator: Translator,
    lengths: Sequence[int] = (30, 100, 300),
    ks: Sequence[int] = (5, 9),
    repeats: int = 2,
    tell: Callable[[str], None] = lambda text: None,
) -> Iterator[Row]:
    """Yield the rows of the comparison.

    Args:
        translator: the model.
        lengths: words of the segments, cut from `benchmark.text`.
        ks: of wait-k.
        repeats: how often each is run, re-encoding once; the fastest run counts.
        tell: is told what is measured next.
    """
    words = TEXT.split()
    ways = {"group": Decoder, "re-encoding": ReencodingDecoder}
    plain = _as_loaded_by_transformers(translator.model)
    _translate(translator, Decoder, words[:8], WaitK(3))  # the first passes are slow: memory is taken, kernels chosen
    for length in lengths:
        segment = (words * (length // len(words) + 1))[:length]
        for k in ks:
            for name, decoder in ways.items():
                tell(f"{name}, {length} words, k = {k}")
                policy = WaitK(k)
                runs = 1 if decoder is ReencodingDecoder else repeats  # slow, and by far more than runs differ
                yield Row(name, length, policy.name, _best(translator, decoder, segment, policy, runs))
        tell(f"whole sentences, {length} words")
        whole = _best(translator, Decoder, segment, Full(), repeats)
        yield Row("group", length, "full", whole)
        yield Row("generate()", length, "full", min(
            (_generate(translator, plain, segment, whole) for _ in range(repeats)), key=lambda measure: measure.seconds
        ))  # fmt: skip


def _best(translator: Translator, kind: type[Decoder], words: Sequence[str], policy: Policy, repeats: int) -> Measure:
    runs = [_translate(translator, kind, words, policy) for _ in range(repeats)]
    return min(runs, key=lambda measure: measure.seconds)


def _translate(translator: Translator, kind: type[Decoder], words: Sequence[str], policy: Policy) -> Measure:
    decoder = kind(translator.model, translator.tokenizer, translator.prompt.stops, translator.card.phi)
    segment = Segment(translator, policy, whole=True)
    for word in words:
        segment.feed(Word(word, 0.0))
    segment.close("end")
    measure = Measure()
    start = last = time.perf_counter()
    while not segment.done:
        request = segment.advance()
        if request is None:
            break
        emissions = segment.take(decoder.run([request])[0])
        now = time.perf_counter()
        if emissions:
            measure.word_times += [(now - last) / len(emissions)] * len(emissions)
            last = now
    measure.seconds = time.perf_counter() - start
    measure.words, measure.tokens = len(segment.units), len(segment.writer.target)
    measure.forwarded = decoder.work.tokens
    return measure


def _as_loaded_by_transformers(model: Any) -> Any:
    """Return a copy of the model whose weights lie in memory as `from_pretrained` leaves them."""
    plain = copy.deepcopy(model)
    for weight in plain.parameters():
        weight.data = weight.data.contiguous()
    return plain


@torch.inference_mode()
def _generate(translator: Translator, model: Any, words: Sequence[str], like: Measure) -> Measure:
    """Run transformers' own greedy generation on the same tokens, until it has written as many as group decoding did."""
    frame, tokenizer = translator.prompt.frame, translator.tokenizer
    units = [tokenizer.encode(word, number == 0, translator.source.unit) for number, word in enumerate(words)]
    prompt = [*frame.source_head, *(token for unit in units for token in unit), *frame.source_end, *frame.target_head]
    ids = torch.tensor([prompt], device=model.device)
    start = time.perf_counter()
    output = model.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        do_sample=False,
        num_beams=1,
        min_new_tokens=like.tokens,
        max_new_tokens=like.tokens,
        pad_token_id=frame.target_end,
    )
    seconds = time.perf_counter() - start
    written = output[0, len(prompt) :].tolist()
    text = tokenizer.decode(written)
    return Measure(len(text.split()), len(written), len(prompt) + len(written) - 1, seconds)


def ratios(rows: Sequence[Row]) -> dict[str, float]:
    """Return the ratios that matter, by description: each is group decoding against a baseline of the same rows."""
    found: dict[str, float] = {}
    by_key = {(row.method, row.length, row.policy): row.measure for row in rows}
    for (method, length, policy), measure in by_key.items():
        group = by_key[("group", length, policy)]
        if method == "re-encoding":
            speed = (group.words / group.seconds) / (measure.words / measure.seconds)
            found[f"words/s of group decoding over re-encoding, {length} words, {policy}"] = speed
        elif method == "generate()":
            speed = (group.tokens / group.seconds) / (measure.tokens / measure.seconds)
            found[f"tokens/s of group decoding over generate(), {length} words"] = speed
    return found
