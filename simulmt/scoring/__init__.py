"""Scores of simultaneous translation: quality, latency, and what stands behind each number."""

from simulmt.scoring.bootstrap import Comparison, paired_bootstrap
from simulmt.scoring.report import Report, Score
from simulmt.scoring.scorer import ScoreOptions, score_instances
from simulmt.scoring.timeline import Timeline, Unavailable

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
