"""What a stream gives: target units, and the ends of segments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from simulmt.instance import Instance


@dataclass(frozen=True, slots=True)
class Emission:
    """One target unit, written.

    Attributes:
        text: the unit, detokenised, without white space.
        segment: number of its segment in the stream, from 0.
        index: its number in the segment, from 0.
        delay: source units read when it was written.
        arrival: when the last of those units arrived, in seconds since the first unit of the stream did.
        emitted: when it was written, likewise.
        space: True if white space stands before it.
    """

    text: str
    segment: int
    index: int
    delay: int
    arrival: float
    emitted: float
    space: bool


@dataclass(frozen=True, slots=True)
class SegmentEnd:
    """A segment is finished.

    Attributes:
        instance: its record.
        reason: why its source ended, one of `events.Reason`.
        stopped: None, or why its target was first cut off: "length" or "repeat".
        emitted: when it ended, in seconds since the first unit of the stream arrived.
        truncated: source units too long to be encoded whole.
        parts: how many pieces its words were translated in, each without a view of those before.
    """

    instance: Instance
    reason: str
    stopped: str | None
    emitted: float
    truncated: int = 0
    parts: int = 1


Output: TypeAlias = Emission | SegmentEnd
