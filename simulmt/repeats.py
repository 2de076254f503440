"""Finding a text that goes round in circles."""

from __future__ import annotations

from collections.abc import Iterable

LONGEST = 8
"""Longest run of units taken as one repeated phrase."""

_TIMES = {1: 8, 2: 5}
"""How often a phrase of that many units must follow itself to count; longer phrases: 4 times."""


class Repeats:
    """Watches units as they are written; constant time and memory a unit."""

    def __init__(self) -> None:
        self._recent: list[str] = []
        self._runs = [0] * (LONGEST + 1)

    def add(self, unit: str) -> bool:
        """Add a unit; return True if the text now ends in one phrase said again and again."""
        self._recent.append(unit)
        found = False
        for n in range(1, LONGEST + 1):
            # A run of units equal to those n before them: m such units are m / n more times the same phrase.
            same = len(self._recent) > n and self._recent[-1 - n] == unit
            self._runs[n] = self._runs[n] + 1 if same else 0
            found = found or self._runs[n] >= n * (_TIMES.get(n, 4) - 1)
        del self._recent[: -LONGEST - 1]
        return found

    @classmethod
    def of(cls, units: Iterable[str]) -> bool:
        """Return True if any stretch of `units` repeats itself: a source that does may be translated so."""
        watch = cls()
        return any(watch.add(unit) for unit in units)
