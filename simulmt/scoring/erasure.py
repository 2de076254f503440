"""Normalised erasure: how much of what was shown was taken back."""

from __future__ import annotations

from collections.abc import Sequence

from simulmt.scoring.timeline import Unavailable


def normalised_erasure(deleted: Sequence[int], final: Sequence[int]) -> float:
    """Return NE = Σ deleted units / Σ units of the final output, over all segments.

    Source: Arivazhagan et al. 2020, https://arxiv.org/abs/1912.03393. 0 for output that is only ever appended to.

    Raises:
        Unavailable: the final output is empty.
    """
    total = sum(final)
    if not total:
        raise Unavailable("the final output is empty")
    return sum(deleted) / total
