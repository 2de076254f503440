"""A whole talk against its reference sentences: StreamLAAL and LongYAAL, for text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from simulmt.errors import SimulmtError
from simulmt.instance import Instance
from simulmt.scoring.definitions import CLOCK_SUFFIX, COMPUTATION_SUFFIX, STREAM_NAMES
from simulmt.scoring.latency import length_adaptive_average_lagging, yet_another_average_lagging
from simulmt.scoring.report import Report
from simulmt.scoring.resegmentation import resegment
from simulmt.scoring.scorer import ScoreOptions, latency_score, score_instances
from simulmt.scoring.timeline import Timeline, Unavailable, first_reaching
from simulmt.scoring.units import Unit, count_units, split_units


@dataclass(frozen=True, slots=True)
class Talk:
    """All segments of a log, end to end.

    Attributes:
        units: target units.
        delays: for each, the source units read since the start of the talk when it was written.
        source_length: source units in all.
        arrivals: for each source unit the ms from the start of the stream to its arrival; None if not logged.
        written: for each target unit the ms from the start of the stream until it was written; None if not logged.
    """

    units: list[str]
    delays: list[float]
    source_length: int
    arrivals: list[float] | None
    written: list[float] | None


@dataclass(frozen=True, slots=True)
class Sentence:
    """One reference sentence's part of the talk.

    Attributes:
        start: source units before the sentence.
        source_length: S, its source units.
        reference_length: T, its reference's target units.
        first: position of its first target unit in the talk.
        stop: position after its last.
    """

    start: int
    source_length: int
    reference_length: int
    first: int
    stop: int


Build = Callable[[Talk, Sentence], Timeline]


def join_talk(instances: Sequence[Instance], unit: Unit) -> Talk:
    """Join the segments of a log, in order; each one's delays count on from the source units before it.

    Raises:
        SimulmtError: an instance whose delays do not match its units.
    """
    units: list[str] = []
    delays: list[float] = []
    before = 0
    for instance in instances:
        own = split_units(instance.prediction, unit)
        if len(own) != len(instance.delays):
            raise SimulmtError(
                f"instance {instance.index} has {len(own)} target units (counted as {unit}) "
                f"but {len(instance.delays)} delays",
                "choose --unit word or char as the log was written",
            )
        units += own
        delays += [before + delay for delay in instance.delays]
        before += int(instance.source_length)
    return Talk(units, delays, before, _stream_arrivals(instances), _stream_written(instances))


def cut_talk(talk: Talk, references: Sequence[Sequence[str]], sources: Sequence[str], unit: Unit) -> list[Sentence]:
    """Cut a talk into its reference sentences.

    Args:
        talk: the hypothesis.
        references: streams of reference sentences.
        sources: the source sentences, as many; together they must have the talk's source units.
        unit: target units.

    Raises:
        SimulmtError: other counts of sentences, or other source units.
    """
    for stream in references:
        if len(stream) != len(sources):
            raise SimulmtError(f"{len(sources)} source sentences but {len(stream)} reference sentences")
    lengths = _source_lengths(sources, talk.source_length)
    starts = [0, *accumulate(lengths)]
    targets = [[split_units(text, unit) for text in stream] for stream in references]
    cuts = resegment(talk.units, targets)
    return [Sentence(starts[i], lengths[i], len(targets[0][i]), cuts[i], cuts[i + 1]) for i in range(len(sources))]


def score_talk(
    instances: Sequence[Instance],
    references: Sequence[Sequence[str]],
    sources: Sequence[str],
    options: ScoreOptions | None = None,
    system: str = "hypothesis",
) -> Report:
    """Score the log of a whole talk sentence by sentence, after cutting its translation as the reference is cut.

    Args:
        instances: the log's segments, which need not be sentences; together one talk.
        references: streams of reference sentences.
        sources: source sentences.
        options: as for `score_instances`.
        system: name in the report.

    Raises:
        SimulmtError: counts that do not fit.
    """
    options = options or ScoreOptions()
    unit = options.target_unit
    talk = join_talk(instances, unit)
    sentences = cut_talk(talk, references, sources, unit)
    join = " " if unit == "word" else ""
    pieces = [
        Instance(i, join.join(talk.units[s.first : s.stop]), [], [], s.source_length, sources[i])
        for i, s in enumerate(sentences)
    ]
    quality = tuple(name for name in options.metrics if name in ("BLEU", "chrF2", "TER", "COMET", "length_ratio"))
    reason = "the log is scored as one talk"
    report = score_instances(pieces, references, replace(options, metrics=quality, no_delays=reason), system)
    _add_stream_latency(report, talk, sentences, options)
    report.notes.append(f"{len(instances)} segments are scored as one talk, cut into {len(sentences)} sentences")
    return report


def _add_stream_latency(report: Report, talk: Talk, sentences: Sequence[Sentence], options: ScoreOptions) -> None:
    plans: list[tuple[str, Build]] = [("", _read_timeline)]
    if talk.arrivals is not None:
        plans.append((CLOCK_SUFFIX, _ideal_timeline))
        if talk.written is not None:
            plans.append((CLOCK_SUFFIX + COMPUTATION_SUFFIX, _written_timeline))
    for suffix, build in plans:
        timelines = [_try(build, talk, sentence) for sentence in sentences]
        to_end = [
            timeline if isinstance(timeline, Unavailable) else _until_end(timeline, talk, sentence)
            for timeline, sentence in zip(timelines, sentences, strict=True)
        ]
        stream_laal, long_yaal = (name + suffix for name in STREAM_NAMES)
        report.scores[stream_laal] = latency_score(length_adaptive_average_lagging, timelines, options.bootstrap)
        report.scores[long_yaal] = latency_score(yet_another_average_lagging, to_end, options.bootstrap)


def _read_timeline(talk: Talk, sentence: Sentence) -> Timeline:
    """In source units, from the sentence's first."""
    delays = _own_delays(talk, sentence)
    end = first_reaching(delays, sentence.source_length)
    return Timeline(delays, sentence.source_length, sentence.reference_length, end, delays)


def _ideal_timeline(talk: Talk, sentence: Sentence) -> Timeline:
    assert talk.arrivals is not None
    arrivals = talk.arrivals
    read = talk.delays[sentence.first : sentence.stop]
    return _clocked(talk, sentence, [arrivals[min(max(int(d), 1), len(arrivals)) - 1] for d in read])


def _written_timeline(talk: Talk, sentence: Sentence) -> Timeline:
    assert talk.written is not None
    return _clocked(talk, sentence, talk.written[sentence.first : sentence.stop])


def _clocked(talk: Talk, sentence: Sentence, times: Sequence[float]) -> Timeline:
    """In ms, from the arrival of the sentence's first source unit; the units counted are those of `_read_timeline`."""
    assert talk.arrivals is not None
    own = talk.arrivals[sentence.start : sentence.start + sentence.source_length]
    base = _read_timeline(talk, sentence)
    return replace(base, times=[time - own[0] for time in times], source_length=own[-1] - own[0], arrivals=own)


def _until_end(timeline: Timeline, talk: Talk, sentence: Sentence) -> Timeline:
    """Let the source end where the talk ends, as LongYAAL has it."""
    return replace(timeline, before_end=first_reaching(timeline.reads, talk.source_length - sentence.start))


def _try(build: Build, talk: Talk, sentence: Sentence) -> Timeline | Unavailable:
    if sentence.first == sentence.stop:
        return Unavailable("nothing was written")
    if not sentence.source_length:
        return Unavailable("the source is empty")
    return build(talk, sentence)


def _own_delays(talk: Talk, sentence: Sentence) -> list[float]:
    return [delay - sentence.start for delay in talk.delays[sentence.first : sentence.stop]]


def _source_lengths(sources: Sequence[str], total: int) -> list[int]:
    counts: dict[Unit, list[int]] = {}
    for unit in ("word", "char"):
        counts[unit] = [count_units(text, unit) for text in sources]
        if sum(counts[unit]) == total:
            return counts[unit]
    raise SimulmtError(
        f"the log has {total} source units but the source sentences have {sum(counts['word'])} words "
        f"({sum(counts['char'])} characters)",
        "give the text that was translated, one sentence a line",
    )


def _stream_arrivals(instances: Sequence[Instance]) -> list[float] | None:
    times: list[float] = []
    for instance in instances:
        if instance.arrivals is None or instance.offset is None or len(instance.arrivals) != instance.source_length:
            return None
        times += [instance.offset + time for time in instance.arrivals]
    return times


def _stream_written(instances: Sequence[Instance]) -> list[float] | None:
    times: list[float] = []
    for instance in instances:
        if instance.offset is None or len(instance.elapsed) != len(instance.delays):
            return None
        times += [instance.offset + time for time in instance.elapsed]
    return times
