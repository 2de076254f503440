"""BLEU, chrF2 and TER through sacrebleu, COMET through unbabel-comet."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from simulmt.errors import SimulmtError, UsageError
from simulmt.scoring.parallel import in_parts
from simulmt.scoring.timeline import Unavailable
from simulmt.scoring.units import short_code

SACREBLEU_METRICS = ("BLEU", "chrF2", "TER")

# Tokenizers of BLEU by ISO 639-1 code; every other language has sacrebleu's default.
_TOKENIZERS = {
    "zh": "zh",
    "ja": "ja-mecab",
    "ko": "ko-mecab",
    "th": "char",
    "lo": "char",
    "km": "char",
    "my": "char",
}
_EXTRAS = {"ja-mecab": "sacrebleu[ja]", "ko-mecab": "sacrebleu[ko]"}


@dataclass(frozen=True, slots=True)
class QualityScore:
    """A corpus score with what defines it.

    Attributes:
        value: the score, 0-100 for the sacrebleu metrics.
        signature: sacrebleu's signature, or the model for COMET.
        mean: mean over bootstrap samples; None when not asked for.
        half_width: half of the 95 % confidence interval around `mean`; None when not asked for.
    """

    value: float
    signature: str
    mean: float | None = None
    half_width: float | None = None


def default_tokenizer(language: str | None) -> str:
    """Return the sacrebleu tokenizer that suits target `language` (a code such as `zh` or `pt-BR`); None gives 13a."""
    return "13a" if language is None else _TOKENIZERS.get(short_code(language), "13a")


def check_tokenizer(name: str) -> None:
    """Raise UsageError when sacrebleu has no tokenizer called `name`."""
    from sacrebleu.metrics.bleu import BLEU

    known = sorted(BLEU.TOKENIZERS)
    if name not in known:
        raise UsageError(f"unknown tokenizer {name!r}", f"choose one of: {', '.join(known)}")


def sacrebleu_metric(name: str, tokenizer: str) -> Any:
    """Return sacrebleu's metric object for `name`, one of SACREBLEU_METRICS; the tokenizer matters for BLEU only.

    Raises:
        Unavailable: the tokenizer needs a package or a download that is not there.
    """
    from sacrebleu.metrics import BLEU, CHRF, TER

    if name == "chrF2":
        return CHRF()
    if name == "TER":
        return TER()
    try:
        return BLEU(tokenize=tokenizer)
    except Exception as error:  # sacrebleu raises whatever the tokenizer's package or its download does
        remedy = f"pip install '{_EXTRAS[tokenizer]}', or " if tokenizer in _EXTRAS else ""
        reason = " ".join(str(error).split())[:100]
        raise Unavailable(f"tokenizer {tokenizer} cannot be loaded ({reason}): {remedy}--tokenize char") from error


def corpus_quality(
    name: str,
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    tokenizer: str = "13a",
    bootstrap: int = 0,
) -> QualityScore:
    """Score a corpus with sacrebleu.

    Args:
        name: one of SACREBLEU_METRICS.
        hypotheses: one per segment, detokenised.
        references: one or more streams of references, each as long as `hypotheses`.
        tokenizer: of BLEU.
        bootstrap: number of resamples for the confidence interval; 0 for none.

    Raises:
        Unavailable: no segments, or the tokenizer cannot be loaded.
    """
    if not hypotheses:
        raise Unavailable("there are no segments")
    metric = sacrebleu_metric(name, tokenizer)
    metric._extract_corpus_statistics = partial(_statistics, metric, name, tokenizer)
    score = metric.corpus_score(hypotheses, references, n_bootstrap=max(bootstrap, 1))
    signature = str(metric.get_signature())
    if not bootstrap:
        return QualityScore(float(score.score), signature)
    printed = json.loads(score.format(width=12, signature=signature, is_json=True))
    mean, half_width = printed.get("confidence_mean", 0.0), printed.get("confidence_var", 0.0)
    return QualityScore(float(score.score), signature, mean, half_width)


def _statistics(
    metric: Any, name: str, tokenizer: str, hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> list[Any]:
    rows = in_parts(partial(_statistics_of_part, name, tokenizer), hypotheses, references)
    metric.num_refs = len(references)  # the signature shows it
    return rows


def _statistics_of_part(
    name: str, tokenizer: str, hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> list[Any]:
    rows: list[Any] = sacrebleu_metric(name, tokenizer)._extract_corpus_statistics(hypotheses, references)
    return rows


def comet(
    model: str, sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[str], batch_size: int = 16
) -> QualityScore:
    """Score with a COMET checkpoint file, on the CPU.

    Raises:
        SimulmtError: unbabel-comet is not installed, or the checkpoint cannot be loaded.
    """
    try:
        from comet import load_from_checkpoint
    except ImportError as error:
        raise SimulmtError("COMET needs the package unbabel-comet", "pip install 'simulmt[comet]'") from error
    try:
        scorer = load_from_checkpoint(model)
    except Exception as error:
        raise SimulmtError(f"COMET model {model} cannot be loaded: {error}", "give the path of a .ckpt file") from error
    samples = [
        {"src": source, "mt": hypothesis, "ref": reference}
        for source, hypothesis, reference in zip(sources, hypotheses, references, strict=True)
    ]
    output = scorer.predict(samples, batch_size=batch_size, gpus=0, progress_bar=False)
    return QualityScore(float(output.system_score), f"model:{model}")
