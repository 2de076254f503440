"""How much faster batched evaluation is than one stream at a time, on the same sentences in the same run."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from simulmt.evaluation.corpus import Sentence
from simulmt.evaluation.decoding import decode, decode_fitting
from simulmt.instance import Instance
from simulmt.model.loading import Translator
from simulmt.policy import Policy


@dataclass(frozen=True, slots=True)
class Speed:
    """Sentences a second both ways.

    Attributes:
        batched: many streams at a time, over all sentences.
        single: one stream at a time.
        sentences: how many the batched run had.
        single_sentences: how many the single run had: a sample of them, evenly drawn over the corpus.
        differing: sentences of the sample whose words or delays differ between the two; 0 in float32.
    """

    batched: float
    single: float
    sentences: int
    single_sentences: int
    differing: int

    @property
    def ratio(self) -> float:
        """Batched ÷ single."""
        return self.batched / self.single


def measure(
    translator: Translator, sentences: Sequence[Sentence], policy: Policy, rows: int | None = None, sample: int = 100
) -> Speed:
    """Decode all sentences batched, and a sample of them one stream at a time.

    The sample keeps the run short; it is drawn at even steps from the sentences by length, so its mean length is that
    of all. Both ways are warmed up on a few sentences first.

    Args:
        translator, sentences, policy: what to decode, at least one sentence.
        rows: streams at a time in the batch; None for the default.
        sample: sentences of the single run, at most.
    """
    ranked = sorted(sentences, key=lambda sentence: len(sentence.source))
    step = max(1, len(ranked) // sample)
    drawn = ranked[step // 2 :: step][:sample]
    list(decode_fitting(translator, drawn[:4], policy, rows))
    list(_one_by_one(translator, drawn[:1], policy))
    batched, batched_seconds = _timed(decode_fitting(translator, sentences, policy, rows))
    single, single_seconds = _timed(_one_by_one(translator, drawn, policy))
    together = {instance.index: instance for instance in batched}
    differing = sum(
        (instance.prediction, instance.delays) != (together[instance.index].prediction, together[instance.index].delays)
        for instance in single
    )
    return Speed(
        len(batched) / batched_seconds, len(single) / single_seconds, len(batched), len(single), differing
    )  # fmt: skip


def _one_by_one(translator: Translator, sentences: Sequence[Sentence], policy: Policy) -> Iterator[Instance]:
    for sentence in sentences:
        yield from decode(translator, [sentence], policy, rows=1)


def _timed(instances: Iterator[Instance]) -> tuple[list[Instance], float]:
    began = time.perf_counter()
    decoded = list(instances)
    return decoded, time.perf_counter() - began
