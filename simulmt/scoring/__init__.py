"""Scores of simultaneous translation: quality, latency, and what stands behind each number.

The names below are found when they are used, so that the live summary gets its formulas without numpy.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulmt.scoring.bootstrap import Comparison, paired_bootstrap
    from simulmt.scoring.report import Report, Score
    from simulmt.scoring.scorer import ScoreOptions, score_instances
    from simulmt.scoring.timeline import Timeline, Unavailable

_HOMES = {
    "Comparison": "bootstrap",
    "Report": "report",
    "Score": "report",
    "ScoreOptions": "scorer",
    "Timeline": "timeline",
    "Unavailable": "timeline",
    "paired_bootstrap": "bootstrap",
    "score_instances": "scorer",
}

__all__ = [
    "Comparison",
    "Report",
    "Score",
    "ScoreOptions",
    "Timeline",
    "Unavailable",
    "paired_bootstrap",
    "score_instances",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
