"""Translating many segments at a time, word for word as one stream at a time would."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from simulmt.instance import Instance
from simulmt.model.decoder import Decoder
from simulmt.model.loading import Translator
from simulmt.model.writer import Request
from simulmt.policy import Policy
from simulmt.stream import Segment
from simulmt.text.events import Word
from simulmt.text.units import split_units

DEFAULT_ROWS = 48


@dataclass(frozen=True, slots=True)
class Sentence:
    """One source sentence of a corpus, with its number and, where there is one, its reference."""

    index: int
    source: str
    reference: str | None = None


def decode(
    translator: Translator, sentences: Sequence[Sentence], policy: Policy, rows: int = DEFAULT_ROWS
) -> Iterator[Instance]:
    """Yield an Instance for each sentence, in the order in which they get done.

    Up to `rows` sentences are decoded at a time, those of like length together; as one ends the next takes its row. Each is a
    stream of its own, its words and delays are those of a single stream. `elapsed` and `arrivals` are left out: in a batch,
    time says nothing about a live stream.
    """
    decoder = translator.decoder(rows)
    waiting = deque(sorted(sentences, key=lambda sentence: -len(sentence.source)))
    active: dict[int, tuple[Sentence, Segment]] = {}
    free = list(range(rows))
    while waiting or active:
        while waiting and free:
            sentence = waiting.popleft()
            active[free.pop()] = sentence, _open(translator, policy, sentence)
        yield from _step(decoder, active, free)


def _open(translator: Translator, policy: Policy, sentence: Sentence) -> Segment:
    segment = Segment(translator, policy, sentence.index)
    now = time.monotonic()
    for unit in split_units(sentence.source, translator.source.unit):
        segment.feed(Word(unit, now))
    segment.close("line")
    return segment


def _step(decoder: Decoder, active: dict[int, tuple[Sentence, Segment]], free: list[int]) -> Iterator[Instance]:
    """Make one step of all active rows; yield those that end and free their rows."""
    requests: dict[int, Request] = {}
    for row, (_, segment) in active.items():
        request = segment.advance() if segment.words else None
        if request is not None:
            requests[row] = request
    for rows in _alike(requests):
        tokens = decoder.run([requests[row] for row in rows], rows)
        for row, token in zip(rows, tokens, strict=True):
            active[row][1].take(token)
    for row in [row for row, (_, segment) in active.items() if segment.done or not segment.words]:
        sentence, segment = active.pop(row)
        decoder.release(row)
        free.append(row)
        instance = segment.instance(reference=sentence.reference)
        instance.arrivals, instance.elapsed = None, [0.0] * len(instance.delays)
        yield instance


def _alike(requests: dict[int, Request]) -> list[list[int]]:
    """Part the rows by the size of their step, so that short steps are not padded to the length of long ones."""
    sizes = {row: len(request.source) + len(request.target) for row, request in requests.items()}
    small = [row for row, size in sizes.items() if size <= 3]
    large = [row for row, size in sizes.items() if size > 3]
    padded = max(sizes.values(), default=0) * len(sizes)
    parted = 3 * len(small) + max((sizes[row] for row in large), default=0) * len(large)
    parts = [small, large] if padded > 2 * parted else [list(sizes)]
    return [sorted(part) for part in parts if part]
