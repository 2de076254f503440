"""Instances and references → Report: decides what can be scored and counts what cannot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import fsum

from simulmt.errors import SimulmtError
from simulmt.instance import Instance
from simulmt.policy import WaitK
from simulmt.policy.base import scheduled_reads
from simulmt.scoring import latency, quality
from simulmt.scoring.bootstrap import bootstrap_mean
from simulmt.scoring.definitions import CLOCK_SUFFIX, COMPUTATION_SUFFIX, LATENCY_NAMES, OTHER_NAMES, QUALITY_NAMES
from simulmt.scoring.degeneracy import degeneracy
from simulmt.scoring.erasure import normalised_erasure
from simulmt.scoring.report import Report, Score
from simulmt.scoring.timeline import (
    Timeline,
    Unavailable,
    computation_timeline,
    elapsed_timeline,
    ideal_timeline,
    unit_timeline,
)
from simulmt.scoring.units import Unit, count_units, default_unit, simuleval_length

DEFAULT_METRICS = ("BLEU", "chrF2", *LATENCY_NAMES, *OTHER_NAMES)
_FORMULAS: dict[str, latency.Latency] = {
    "AL": latency.average_lagging,
    "LAAL": latency.length_adaptive_average_lagging,
    "AP": latency.average_proportion,
    "DAL": latency.differentiable_average_lagging,
    "YAAL": latency.yet_another_average_lagging,
    "ATD": latency.average_token_delay,
}
Build = Callable[[Instance, "int | None"], Timeline]


@dataclass(frozen=True, slots=True)
class ScoreOptions:
    """What to score and how.

    Attributes:
        metrics: names to report.
        language: target language code; decides `unit` and `tokenizer` where those are None.
        unit: target units, `word` or `char`.
        tokenizer: of BLEU, one of sacrebleu's.
        simuleval_compatible: count reference lengths as SimulEval does.
        bootstrap: resamples for 95 % confidence intervals; 0 for none.
        speech: the log is of speech to text, its delays in ms of audio.
        comet_model: path of a COMET checkpoint.
        no_delays: why instances have no delays, when that is so for all.
        assumed: the policy whose ideal schedule the delays are.
        erasure: target units taken back and written in all, where the log counts them.
    """

    metrics: tuple[str, ...] = DEFAULT_METRICS
    language: str | None = None
    unit: Unit | None = None
    tokenizer: str | None = None
    simuleval_compatible: bool = False
    bootstrap: int = 0
    speech: bool = False
    comet_model: str | None = None
    no_delays: str | None = None
    assumed: str | None = None
    erasure: tuple[int, int] | None = None

    @property
    def target_unit(self) -> Unit:
        return self.unit or default_unit(self.language)

    @property
    def bleu_tokenizer(self) -> str:
        return self.tokenizer or quality.default_tokenizer(self.language)


def score_instances(
    instances: Sequence[Instance],
    references: Sequence[Sequence[str]] | None = None,
    options: ScoreOptions | None = None,
    system: str = "hypothesis",
) -> Report:
    """Score a corpus.

    Args:
        instances: one per segment.
        references: streams of references, each in the order of `instances`; None takes those of the instances.
        options: what to score and how.
        system: name in the report.

    Raises:
        SimulmtError: a stream of references has another length than `instances`; COMET cannot be run.
    """
    options = options or ScoreOptions()
    streams = _streams(instances, references)
    report = Report(system, options.target_unit, tokenizer=options.bleu_tokenizer, assumed=options.assumed)
    report.hypotheses = [instance.prediction for instance in instances]
    report.references = streams
    _add_quality(report, instances, options)
    lengths = reference_lengths(instances, streams, options)
    _add_latency(report, instances, lengths, options)
    _add_other(report, instances, lengths, options)
    report.counts = _counts(report, instances, options)
    report.notes = _notes(report, instances, lengths, options)
    return report


def assume_wait_k(
    hypotheses: Sequence[str], sources: Sequence[str], k: int, unit: Unit = "word", source_unit: Unit = "word"
) -> list[Instance]:
    """Return instances with the delays that an ideal wait-k would have: written at once when allowed.

    Args:
        hypotheses: plain text.
        sources: plain text, as many.
        k: at least 1.
        unit: target units.
        source_unit: source units.
    """
    policy = WaitK(k)
    instances = []
    for index, (hypothesis, source) in enumerate(zip(hypotheses, sources, strict=True)):
        length = count_units(source, source_unit)
        delays = scheduled_reads(policy, length, count_units(hypothesis, unit))
        instances.append(Instance(index, hypothesis, [float(d) for d in delays], [], length, source))
    return instances


def reference_lengths(
    instances: Sequence[Instance], streams: Sequence[Sequence[str]], options: ScoreOptions
) -> list[int | None]:
    """Return T of each segment by its first reference; None where there is none."""
    texts: Sequence[str | None] = streams[0] if streams else [instance.reference for instance in instances]
    if options.simuleval_compatible:
        return [simuleval_length(text, options.target_unit) for text in texts]
    return [None if text is None else count_units(text, options.target_unit) for text in texts]


def latency_score(formula: latency.Latency, timelines: Iterable[Timeline | Unavailable], bootstrap: int = 0) -> Score:
    """Return the mean of `formula` over segments; an Unavailable stands for a segment that has no timeline."""
    values: list[float | None] = []
    reasons: dict[str, int] = {}
    for timeline in timelines:
        try:
            if isinstance(timeline, Unavailable):
                raise timeline
            values.append(formula(timeline))
        except Unavailable as reason:
            values.append(None)
            reasons[str(reason)] = reasons.get(str(reason), 0) + 1
    present = [value for value in values if value is not None]
    if not present:
        return Score(None, "; ".join(reasons) or "there are no segments", per_segment=values)
    score = Score(fsum(present) / len(present), per_segment=values)
    if bootstrap:
        score.mean, score.half_width = bootstrap_mean(present, bootstrap)
    return score


def timelines_of(
    build: Build, instances: Sequence[Instance], lengths: Sequence[int | None]
) -> list[Timeline | Unavailable]:
    """Return the timeline of each instance, or why it has none."""
    timelines: list[Timeline | Unavailable] = []
    for instance, length in zip(instances, lengths, strict=True):
        try:
            timelines.append(build(instance, length))
        except Unavailable as reason:
            timelines.append(reason)
    return timelines


def _streams(instances: Sequence[Instance], references: Sequence[Sequence[str]] | None) -> list[list[str]]:
    if references is None:
        logged = [instance.reference for instance in instances]
        return [[text for text in logged if text is not None]] if logged and None not in logged else []
    for stream in references:
        if len(stream) != len(instances):
            raise SimulmtError(
                f"{len(instances)} hypotheses but {len(stream)} references", "they must match line by line"
            )
    return [list(stream) for stream in references]


def _add_quality(report: Report, instances: Sequence[Instance], options: ScoreOptions) -> None:
    for name in QUALITY_NAMES:
        if name not in options.metrics and not (name == "COMET" and options.comet_model):
            continue
        try:
            result = _quality(name, report, instances, options)
            report.scores[name] = Score(result.value, None, result.signature, result.mean, result.half_width)
        except Unavailable as reason:
            report.scores[name] = Score(None, str(reason))


def _quality(name: str, report: Report, instances: Sequence[Instance], options: ScoreOptions) -> quality.QualityScore:
    if not report.references:
        raise Unavailable("there are no references" if instances else "there are no segments")
    if name != "COMET":
        return quality.corpus_quality(
            name, report.hypotheses, report.references, options.bleu_tokenizer, options.bootstrap
        )
    if options.comet_model is None:
        raise Unavailable("no model is given (--comet FILE)")
    sources = [instance.source for instance in instances if instance.source is not None]
    if len(sources) != len(instances):
        raise Unavailable("the source text is not known (--source FILE)")
    return quality.comet(options.comet_model, sources, report.hypotheses, report.references[0])


def _add_latency(
    report: Report, instances: Sequence[Instance], lengths: Sequence[int | None], options: ScoreOptions
) -> None:
    names = [name for name in LATENCY_NAMES if name in options.metrics]
    if options.no_delays is not None:
        report.scores |= {name: Score(None, options.no_delays) for name in names}
        return
    formulas = _FORMULAS | ({"ATD": latency.speech_average_token_delay} if options.speech else {})
    plans: list[tuple[str, Build]] = [("", _logged)]
    if any(instance.arrivals is not None for instance in instances):
        plans += [(CLOCK_SUFFIX, ideal_timeline), (CLOCK_SUFFIX + COMPUTATION_SUFFIX, computation_timeline)]
    elif any(any(instance.elapsed) for instance in instances):
        plans.append((COMPUTATION_SUFFIX, elapsed_timeline))
    for suffix, build in plans:
        timelines = timelines_of(build, instances, lengths)
        for name in names:
            if suffix == COMPUTATION_SUFFIX and name == "ATD":
                continue  # needs to know which part of elapsed is computation
            report.scores[name + suffix] = latency_score(formulas[name], timelines, options.bootstrap)


def _logged(instance: Instance, length: int | None) -> Timeline:
    return unit_timeline(instance.delays, instance.source_length, length)


def _add_other(
    report: Report, instances: Sequence[Instance], lengths: Sequence[int | None], options: ScoreOptions
) -> None:
    scores: dict[str, Score] = {}
    scores |= _degeneracy_scores(report, timelines_of(_logged, instances, lengths), options)
    scores["length_ratio"] = _length_ratio(report, options.target_unit)
    scores["NE"] = _erasure(instances, options)
    report.scores |= {name: score for name, score in scores.items() if name in options.metrics}


def _degeneracy_scores(
    report: Report, timelines: Sequence[Timeline | Unavailable], options: ScoreOptions
) -> dict[str, Score]:
    try:
        if options.no_delays is not None:
            raise Unavailable(options.no_delays)
        shares = degeneracy([timeline for timeline in timelines if isinstance(timeline, Timeline)])
    except Unavailable as reason:
        return {name: Score(None, str(reason)) for name in ("SWF", "EFSW", "DSPTV")}
    scores = {"SWF": Score(shares.swf)}
    try:
        scores |= {"EFSW": Score(shares.efsw), "DSPTV": Score(shares.dsptv)}
        report.degenerate = shares.degenerate
    except Unavailable as reason:
        scores |= {name: Score(None, str(reason)) for name in ("EFSW", "DSPTV")}
    return scores


def _length_ratio(report: Report, unit: Unit) -> Score:
    if not report.references:
        return Score(None, "there are no references")
    total = sum(count_units(text, unit) for text in report.references[0])
    if not total:
        return Score(None, "the references are empty")
    return Score(sum(count_units(text, unit) for text in report.hypotheses) / total)


def _erasure(instances: Sequence[Instance], options: ScoreOptions) -> Score:
    try:
        if options.erasure is not None:
            deleted, written = options.erasure
            return Score(normalised_erasure([deleted], [written - deleted]))
        if options.no_delays is not None or options.assumed is not None:
            return Score(None, "plain text does not tell what was taken back")
        return Score(normalised_erasure([0], [sum(instance.prediction_length for instance in instances)]))
    except Unavailable as reason:
        return Score(None, str(reason))


def _counts(report: Report, instances: Sequence[Instance], options: ScoreOptions) -> dict[str, int]:
    unit = options.target_unit
    first = report.references[0] if report.references else ()
    return {
        "segments": len(instances),
        "references_each": len(report.references),
        "hypothesis_units": sum(count_units(text, unit) for text in report.hypotheses),
        "reference_units": sum(count_units(text, unit) for text in first),
        "empty_hypotheses": sum(not text.strip() for text in report.hypotheses),
        "empty_references": sum(not text.strip() for text in first),
    }


def _notes(
    report: Report, instances: Sequence[Instance], lengths: Sequence[int | None], options: ScoreOptions
) -> list[str]:
    total = len(instances)
    notes = []
    if empty := report.counts["empty_hypotheses"]:
        notes.append(f"{empty} of {total} hypotheses are empty; they count in quality scores and have no latency")
    if empty := report.counts["empty_references"]:
        notes.append(f"{empty} of {total} references are empty")
    if options.assumed:
        notes.append(f"latency is assumed: the ideal schedule of {options.assumed}, not what a system did")
    if options.no_delays is None:
        notes += _log_notes(instances, lengths, options)
    if options.simuleval_compatible:
        notes.append("reference lengths are counted as SimulEval does, between single spaces")
    return notes


def _log_notes(instances: Sequence[Instance], lengths: Sequence[int | None], options: ScoreOptions) -> list[str]:
    unit, total = options.target_unit, len(instances)
    notes = []
    counted = {
        f"have another number of delays than of target units (counted as {unit})": sum(
            instance.prediction_length != count_units(instance.prediction, unit) for instance in instances
        ),
        "have delays above their source length": sum(
            any(delay > instance.source_length for delay in instance.delays) for instance in instances
        ),
        "have delays that fall": sum(list(i.delays) != sorted(i.delays) for i in instances),
        "have no reference; the hypothesis length stands in for its length": lengths.count(None),
    }
    notes += [f"{count} of {total} segments {what}" for what, count in counted.items() if count]
    if any(any(i.elapsed) for i in instances) and all(i.arrivals is None for i in instances) and not options.speech:
        notes.append("the log has elapsed but no arrivals: _CA compares ms with source units, as SimulEval does")
    return notes
