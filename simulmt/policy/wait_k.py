"""wait-k with catch-up (STACL, Ma et al. 2019, https://aclanthology.org/P19-1289)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from simulmt.errors import UsageError
from simulmt.policy.base import Action, View


@lru_cache(maxsize=64)
def _decimal(number: float) -> Fraction:
    """Return the number as it is written in decimals: 0.58 · 50 is 29, but a little less in binary."""
    return Fraction(repr(number))


@dataclass(frozen=True, slots=True)
class WaitK:
    """Write target unit i (from 1) when g(i) = min(k + i − 1 − ⌊c·i⌋, S) source units have been read.

    Args:
        k: source units read before the first is written, at least 1.
        catchup: c, target units written beyond one per source unit, 0 ≤ c < 1; for targets longer than their source.

    Raises:
        UsageError: k or catchup out of range.
    """

    k: int = 5
    catchup: float = 0.0

    def __post_init__(self) -> None:
        if self.k < 1:
            raise UsageError(f"k must be at least 1, not {self.k}", "with k=1 each word is translated as it is read")
        if not (math.isfinite(self.catchup) and 0 <= self.catchup < 1):
            raise UsageError(f"catchup must be at least 0 and below 1, not {self.catchup}")

    @property
    def name(self) -> str:
        return f"wait-k(k={self.k}" + (f",catchup={self.catchup:g})" if self.catchup else ")")

    def required(self, i: int) -> int:
        """Return k + i − 1 − ⌊c·i⌋, the source units to read before target unit i (from 1), source length aside.

        At least 1, so that no unit is written on nothing.
        """
        return max(1, self.k + i - 1 - math.floor(_decimal(self.catchup) * i))

    def action(self, view: View) -> Action:
        if not view.ended and view.read < self.required(view.written + 1):
            return Action.READ
        return Action.WRITE
