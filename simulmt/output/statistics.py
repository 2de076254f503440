"""Running numbers of a stream, for the live panel and the summary. Bounded memory however long the stream."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

from simulmt.emission import Emission, SegmentEnd
from simulmt.scoring.latency import (
    average_lagging,
    differentiable_average_lagging,
    length_adaptive_average_lagging,
)
from simulmt.scoring.timeline import unit_timeline

SAMPLE = 4096
"""Durations kept to tell the median and the 95th percentile from; a random sample beyond that."""


@dataclass
class Quantiles:
    """A uniform sample of a stream of numbers (reservoir sampling), and their median and 95th percentile."""

    seen: int = 0
    sample: list[float] = field(default_factory=list)
    _random: random.Random = field(default_factory=lambda: random.Random(0))

    def add(self, value: float) -> None:
        self.seen += 1
        if len(self.sample) < SAMPLE:
            self.sample.append(value)
            return
        place = self._random.randrange(self.seen)
        if place < SAMPLE:
            self.sample[place] = value

    def at(self, share: float) -> float | None:
        """Return the value below which `share` of the numbers lie, None while there are none."""
        if not self.sample:
            return None
        return sorted(self.sample)[min(len(self.sample) - 1, int(share * len(self.sample)))]


@dataclass
class Statistics:
    """Counts and lagging over the finished segments. There is no reference, so T is the number of units written.

    Attributes:
        segments, read, written: finished segments, their source units, all target units.
        compute: ms from the moment a unit could be written (its last source unit there, its predecessor out) until it was.
        reasons: how often each reason ended a segment. stopped: segments whose target was cut off, by
            the first reason.
        empty: segments without a translation. truncated: source words too long to be encoded whole. parted: segments
            translated in more than one part.
    """

    segments: int = 0
    read: int = 0
    written: int = 0
    compute: Quantiles = field(default_factory=Quantiles)
    reasons: Counter[str] = field(default_factory=Counter)
    stopped: Counter[str] = field(default_factory=Counter)
    empty: int = 0
    truncated: int = 0
    parted: int = 0
    last_emitted: float | None = None
    _sums: dict[str, float] = field(default_factory=lambda: {"AL": 0.0, "LAAL": 0.0, "DAL": 0.0})
    _measured: int = 0

    def emit(self, emission: Emission) -> None:
        self.written += 1
        ready = max(emission.arrival, self.last_emitted or 0.0)
        self.compute.add((emission.emitted - ready) * 1000)
        self.last_emitted = emission.emitted

    def end(self, segment: SegmentEnd) -> None:
        instance = segment.instance
        if not instance.source_length:
            return  # a blank line
        self.segments += 1
        self.read += int(instance.source_length)
        if segment.stopped is None:
            self.reasons[segment.reason] += 1
        self.truncated += segment.truncated
        self.parted += segment.parts > 1
        if segment.stopped:
            self.stopped[segment.stopped] += 1
        if not instance.delays:
            self.empty += 1
            return
        self._measured += 1
        timeline = unit_timeline(instance.delays, instance.source_length, None)
        self._sums["AL"] += average_lagging(timeline)
        self._sums["LAAL"] += length_adaptive_average_lagging(timeline)
        self._sums["DAL"] += differentiable_average_lagging(timeline)

    def close(self) -> None:
        pass

    def lagging(self, name: str) -> float | None:
        """Return the mean of AL, LAAL or DAL over the finished segments, None while there are none."""
        return self._sums[name] / self._measured if self._measured else None
