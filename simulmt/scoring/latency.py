"""Latency of one segment: AL, LAAL, AP, DAL, YAAL and ATD, one function each.

All take a Timeline and return a number in its measure (source units, or ms), except AP, which is a proportion. A case
in which a formula has no value raises Unavailable with the reason; none returns NaN. The rate r = S / target length is
the source that passes per target unit of a system that keeps up with the source.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from math import fsum

from simulmt.scoring.timeline import Timeline, Unavailable

Latency = Callable[[Timeline], float]
SPEECH_TOKEN_MS = 300.0  # length of a source token of speech, as SimulEval has it


def average_lagging(timeline: Timeline) -> float:
    """AL = (1/τ) Σ_{i≤τ} (d_i − (i−1)·S/T), τ the first unit with d_i ≥ S, else H; d_1 when d_1 > S.

    Source: Ma et al. 2019, https://aclanthology.org/P19-1289, with the reference length as SimulEval has it.

    Raises:
        Unavailable: the reference is empty.
    """
    if timeline.reference_length == 0:
        raise Unavailable("the reference is empty")
    return _mean_lag(timeline, timeline.source_length / timeline.reference_length, timeline.before_end + 1)


def length_adaptive_average_lagging(timeline: Timeline) -> float:
    """LAAL: AL with max(H, T) for T, so that a long hypothesis gains nothing.

    Source: Papi et al. 2022, https://aclanthology.org/2022.autosimtrans-1.2.
    """
    return _mean_lag(timeline, _adaptive_rate(timeline), timeline.before_end + 1)


def average_proportion(timeline: Timeline) -> float:
    """AP = Σ d_i / (S·T) over all units; above 1 is possible when H > T.

    Source: Cho and Esipova 2016, https://arxiv.org/abs/1606.02012.

    Raises:
        Unavailable: the reference is empty, or S is 0.
    """
    if timeline.reference_length == 0:
        raise Unavailable("the reference is empty")
    if timeline.source_length == 0:
        raise Unavailable("the source arrived all at once")
    return fsum(timeline.times) / (timeline.source_length * timeline.reference_length)


def differentiable_average_lagging(timeline: Timeline) -> float:
    """DAL = (1/H) Σ (d'_i − (i−1)·S/H) with d'_1 = d_1 and d'_i = max(d_i, d'_{i−1} + S/H).

    Source: Cherry and Foster 2019, https://arxiv.org/abs/1906.00048.
    """
    rate = timeline.source_length / timeline.hypothesis_length
    smoothed: list[float] = []
    for time in timeline.times:
        smoothed.append(max(time, smoothed[-1] + rate) if smoothed else time)
    return fsum(time - i * rate for i, time in enumerate(smoothed)) / len(smoothed)


def yet_another_average_lagging(timeline: Timeline) -> float:
    """YAAL: LAAL over the units written strictly before the source had ended.

    Source: Polák et al. 2025, https://arxiv.org/abs/2509.17349.

    Raises:
        Unavailable: no unit was written before the source ended.
    """
    if timeline.before_end == 0:
        raise Unavailable("no unit was written before the source ended")
    return _mean_lag(timeline, _adaptive_rate(timeline), timeline.before_end)


def average_token_delay(timeline: Timeline) -> float:
    """ATD for text: mean over t of (end of target unit t − end of source unit a(t)).

    Units written after the same READ are one chunk. a(t) = t − max(0, target units − source units in earlier chunks),
    but not beyond what had been read. Without clock times a unit, source or target, lasts 1 and target units come one
    after another; with clock times a target unit ends when it was written and a source unit when it arrived.
    Source: Kano et al. 2023, https://arxiv.org/abs/2211.13173.
    """
    written = 0
    chunks: list[tuple[int, int]] = []
    for read, chunk in groupby(timeline.reads):
        written += len(list(chunk))
        chunks.append((int(read), written))
    sources = _matched_sources(chunks)
    arrivals = timeline.arrivals
    if arrivals is None:
        return _mean_difference(_consecutive_ends(timeline.times, 1.0), [float(a) for a in sources])
    return _mean_difference(timeline.times, [arrivals[min(a, len(arrivals)) - 1] if a else 0.0 for a in sources])


def speech_average_token_delay(timeline: Timeline) -> float:
    """ATD for a log of speech to text: each chunk of source is cut into tokens of 300 ms, target units last 0 ms."""
    ends = [0.0]
    written = 0
    chunks: list[tuple[int, int]] = []
    for read, chunk in groupby(timeline.reads):
        while ends[-1] < read:
            ends.append(min(ends[-1] + SPEECH_TOKEN_MS, read))
        written += len(list(chunk))
        chunks.append((len(ends) - 1, written))
    sources = _matched_sources(chunks)
    return _mean_difference(_consecutive_ends(timeline.times, 0.0), [ends[a] for a in sources])


def _mean_lag(timeline: Timeline, rate: float, stop: int) -> float:
    times = timeline.times[:stop]
    return fsum(time - i * rate for i, time in enumerate(times)) / len(times)


def _adaptive_rate(timeline: Timeline) -> float:
    return timeline.source_length / max(timeline.hypothesis_length, timeline.reference_length)


def _matched_sources(chunks: Sequence[tuple[int, int]]) -> list[int]:
    """Return a(1)..a(H), given the source units read and the target units written by the end of each chunk."""
    sources: list[int] = []
    read_before = 0
    for read, written in chunks:
        surplus = max(0, len(sources) - read_before)
        sources += [min(t - surplus, read) for t in range(len(sources) + 1, written + 1)]
        read_before = read
    return sources


def _consecutive_ends(starts: Sequence[float], duration: float) -> list[float]:
    ends: list[float] = []
    for start in starts:
        ends.append(max(start, ends[-1] if ends else 0.0) + duration)
    return ends


def _mean_difference(target_ends: Sequence[float], source_ends: Sequence[float]) -> float:
    return fsum(target - source for target, source in zip(target_ends, source_ends, strict=True)) / len(target_ends)
