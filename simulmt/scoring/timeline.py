"""Timeline: what a latency formula needs to know of one segment, in source units or in milliseconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from simulmt.instance import Instance


class Unavailable(ValueError):
    """A metric that has no value here; the message says why, as part of a sentence."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """One segment as the latency formulas see it.

    Attributes:
        times: d_1..d_H, how much of the source had come when each target unit was written.
        source_length: S, in the same measure as `times`.
        reference_length: T in target units; H stands in where there is no reference.
        before_end: how many target units come before the first that was written on the whole source.
        reads: for each target unit the source units (ms of audio for speech) read when it was written.
        arrivals: for each source unit the time of its arrival; None where time is counted in source units.
    """

    times: Sequence[float]
    source_length: float
    reference_length: int
    before_end: int
    reads: Sequence[float]
    arrivals: Sequence[float] | None = None

    @property
    def hypothesis_length(self) -> int:
        """H, the target units written."""
        return len(self.times)


def first_reaching(times: Sequence[float], source_length: float) -> int:
    """Return how many of `times` come before the first d_i ≥ S; all of them when none reaches S."""
    return next((i for i, time in enumerate(times) if time >= source_length), len(times))


def unit_timeline(delays: Sequence[float], source_length: float, reference_length: int | None) -> Timeline:
    """Return the timeline of one segment in source units (or in ms of audio for a speech log).

    Args:
        delays: d_1..d_H.
        source_length: S, end marks not counted.
        reference_length: T; None when there is no reference, and H is used.

    Raises:
        Unavailable: nothing was written, or the source is empty.
    """
    _require(delays, source_length)
    length = len(delays) if reference_length is None else reference_length
    return Timeline(delays, source_length, length, first_reaching(delays, source_length), delays)


def elapsed_timeline(instance: Instance, reference_length: int | None) -> Timeline:
    """Return a timeline of `elapsed` against the logged source length, as SimulEval's computation-aware metrics do.

    Raises:
        Unavailable: nothing was written, the source is empty, or no time was measured.
    """
    _require(instance.delays, instance.source_length)
    _require_elapsed(instance)
    if not any(instance.elapsed):
        raise Unavailable("elapsed is 0 for every unit: the log holds no measured time")
    timeline = unit_timeline(instance.elapsed, instance.source_length, reference_length)
    return replace(timeline, reads=instance.delays)


def ideal_timeline(instance: Instance, reference_length: int | None) -> Timeline:
    """Return the timeline in ms of a system that needs no time: d_i is when the last unit it had read arrived.

    Time runs from the arrival of the segment's first unit, so S is the time from the first to the last arrival: the
    first unit's own length is before the clock starts and is not guessed. S is 0 for a single unit, or when all came
    at once; the formulas that do not divide by S then still have a value.

    Raises:
        Unavailable: nothing was written, the source is empty, or no (fitting) arrivals are logged.
    """
    arrivals = _arrivals(instance)
    times = [arrivals[min(int(delay), len(arrivals)) - 1] if delay >= 1 else 0.0 for delay in instance.delays]
    return _clocked(instance, times, arrivals, reference_length)


def computation_timeline(instance: Instance, reference_length: int | None) -> Timeline:
    """Return the timeline in ms with computation: d_i is when target unit i was really written.

    The source ends for the same target unit as in the ideal timeline (the first one written on the whole source), so
    both average over the same units and computing can never make the lag look smaller.

    Raises:
        Unavailable: as for `ideal_timeline`, or `elapsed` does not fit.
    """
    arrivals = _arrivals(instance)
    _require_elapsed(instance)
    return _clocked(instance, instance.elapsed, arrivals, reference_length)


def _clocked(instance: Instance, times: Sequence[float], arrivals: list[float], length: int | None) -> Timeline:
    delays = instance.delays
    before_end = first_reaching(delays, instance.source_length)
    return Timeline(times, arrivals[-1], len(times) if length is None else length, before_end, delays, arrivals)


def _arrivals(instance: Instance) -> list[float]:
    _require(instance.delays, instance.source_length)
    if instance.arrivals is None:
        raise Unavailable("the log holds no arrival times of source units")
    if len(instance.arrivals) != instance.source_length:
        raise Unavailable(
            f"{len(instance.arrivals)} arrival times are logged for {instance.source_length:g} source units"
        )
    return instance.arrivals


def _require(delays: Sequence[float], source_length: float) -> None:
    if not delays:
        raise Unavailable("nothing was written")
    if source_length <= 0:
        raise Unavailable("the source is empty")


def _require_elapsed(instance: Instance) -> None:
    if len(instance.elapsed) != len(instance.delays):
        raise Unavailable(f"{len(instance.elapsed)} elapsed times are logged for {len(instance.delays)} target units")
