"""Validation BLEU: the pairs are translated as a stream would translate them."""

from __future__ import annotations

from collections.abc import Sequence

from simulmt.evaluation.decoding import Sentence, decode
from simulmt.model.loading import Translator
from simulmt.policy import Full, Policy, WaitK
from simulmt.scoring.quality import default_tokenizer, sacrebleu_metric

LAGS: tuple[int | str, ...] = (1, 3, 5, "full")
SCORED = 200
"""Most validation pairs that a run translates for BLEU."""


def spread(pairs: Sequence[tuple[str, str]], count: int) -> list[tuple[str, str]]:
    """Return at most `count` pairs at even distances: a validation set is in file order, so its head is one file."""
    count = min(count, len(pairs))
    return [pairs[number * len(pairs) // count] for number in range(count)]


def translate_all(translator: Translator, sources: Sequence[str], policy: Policy) -> list[str]:
    """Return the translations of `sources`, in their order."""
    sentences = [Sentence(number, source) for number, source in enumerate(sources)]
    rows = min(48, max(1, len(sources)))
    done = {instance.index: instance.prediction for instance in decode(translator, sentences, policy, rows)}
    return [done[number] for number in range(len(sources))]


def bleu_by_lag(translator: Translator, pairs: Sequence[tuple[str, str]]) -> dict[str, float]:
    """Return BLEU (sacrebleu, with the tokenizer of the target language) at k = 1, 3, 5 and for whole segments."""
    metric = sacrebleu_metric("BLEU", default_tokenizer(translator.target.code))
    references = [[target for _, target in pairs]]
    scores = {}
    for lag in LAGS:
        policy: Policy = Full() if isinstance(lag, str) else WaitK(lag)
        hypotheses = translate_all(translator, [source for source, _ in pairs], policy)
        scores[str(lag)] = round(float(metric.corpus_score(hypotheses, references).score), 2)
    return scores
