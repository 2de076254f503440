"""Rows of tokens: short examples side by side in one, so that hardly anything is padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from simulmt.model.layout import Frame, GroupedSegment

LENGTHS = (96, 160, 256, 384, 512, 768, 1024)
"""Tokens a side of the longest example of a shape, and one token more: few, so that little has to be compiled."""

OPEN = 64
"""Rows that are being filled at the same time."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Widths of a row's source half and target half, in tokens."""

    source: int
    target: int

    @property
    def tokens(self) -> int:
        return self.source + self.target

    def holds(self, segment: GroupedSegment) -> bool:
        return len(segment.source) <= self.source and len(segment.target) <= self.target


def shapes(frame: Frame, max_length: int, typical: tuple[float, float]) -> list[Shape]:
    """Return the shapes for pairs of up to `max_length` tokens a side, in ascending order.

    Args:
        frame: what stands around the units of each example.
        max_length: as said; every shape holds one pair as long as its length.
        typical: tokens of the units of a usual pair, source and target; the halves are wide enough for the same number of
            such examples, with their frames.
    """
    lengths = [*(length for length in LENGTHS if length < max_length), max_length]
    source, target = (min(side, lengths[0] - 1) for side in typical)
    usual = max(1, round(lengths[0] / max(source, target)))
    first, pair = longest_pair(frame, lengths[0]), longest_pair(frame, 1)
    found = [
        Shape(
            max(first.source, round(usual * (source + pair.source))),
            max(first.target, round(usual * (target + pair.target))),
        )
    ]
    for below, length in pairwise(lengths):
        # A longer row has one example that no shorter row would hold, and usual ones in what it leaves.
        usual = round((length - below) / 2 / max(typical))
        longest, last = longest_pair(frame, length), found[-1]
        found.append(
            Shape(
                max(longest.source + usual * pair.source, last.source),
                max(longest.target + usual * pair.target, last.target),
            )
        )
    return found


def longest_pair(frame: Frame, max_length: int) -> Shape:
    """Return the most tokens that one pair takes whose units have less than `max_length` tokens a side."""
    source = len(frame.source_head) + len(frame.source_end)
    return Shape(max_length - 1 + source, max_length - 1 + len(frame.target_head))


@dataclass(slots=True)
class RowFiller:
    """Puts segments into rows of a shape, each where it leaves the least room (best fit with a bounded number of bins).

    Attributes:
        shape: of a row.
        full: rows into which nothing more will be put, in the order in which they were filled.
    """

    shape: Shape
    full: list[list[GroupedSegment]] = field(default_factory=list)
    _open: list[list[GroupedSegment]] = field(default_factory=list)
    _room: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 2), np.int64))  # [rows, 2] of both halves

    def add(self, segment: GroupedSegment) -> None:
        """Put a segment into a row, a new one if need be; it must fit the shape."""
        if not self.add_to_open(segment):
            self._open_row()
            self.add_to_open(segment)

    def add_to_open(self, segment: GroupedSegment) -> bool:
        """Put a segment into a row that is being filled; return False if none has room for it."""
        left = self._room - np.array([len(segment.source), len(segment.target)])
        fitting = (left >= 0).all(axis=1)
        if not fitting.any():
            return False
        row = int(np.where(fitting, left.sum(axis=1), np.iinfo(np.int64).max).argmin())
        self._open[row].append(segment)
        self._room[row] = left[row]
        return True

    def take(self, count: int) -> list[list[GroupedSegment]]:
        """Return the first `count` full rows and forget them."""
        taken, self.full = self.full[:count], self.full[count:]
        return taken

    def close(self) -> None:
        """Put nothing more into the rows there are."""
        self.full += self._open
        self._open, self._room = [], self._room[:0]

    def _open_row(self) -> None:
        if len(self._open) == OPEN:
            fullest = int(self._room.sum(axis=1).argmin())
            self.full.append(self._open.pop(fullest))
            self._room = np.delete(self._room, fullest, axis=0)
        self._open.append([])
        self._room = np.vstack([self._room, [[self.shape.source, self.shape.target]]])


def smallest(shapes: Sequence[Shape], segment: GroupedSegment) -> int:
    """Return the place of the smallest shape that holds a segment; one of them must."""
    return next(place for place, shape in enumerate(shapes) if shape.holds(segment))
