"""Bootstrap resampling: confidence intervals, and the paired test between two systems.

As in sacrebleu, so that quality and latency are judged alike: the same seed (SACREBLEU_SEED, 12345 by default), the
same resampled segments, the same two-sided p-value.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simulmt.errors import SimulmtError
from simulmt.scoring.quality import SACREBLEU_METRICS, sacrebleu_metric
from simulmt.scoring.report import Report

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A system against a baseline in one metric.

    Attributes:
        baseline: score of the baseline.
        system: score of the system.
        p_value: chance of a difference this large between systems that are alike.
        segments: segments that took part: for latency those that have a value in both.
    """

    baseline: float
    system: float
    p_value: float
    segments: int

    @property
    def difference(self) -> float:
        """System − baseline."""
        return self.system - self.baseline


def bootstrap_mean(values: Sequence[float], samples: int) -> tuple[float, float]:
    """Return the mean over resamples of the mean of `values`, and half the 95 % confidence interval."""
    import numpy as np

    means = _resampled_means(np.asarray(values, dtype=np.float64), samples)
    means.sort()
    margin = samples // 40
    return float(means.mean()), float(0.5 * (means[samples - margin - 1] - means[margin]))


def paired_bootstrap(baseline: Report, system: Report, samples: int = 1000) -> dict[str, Comparison]:
    """Return the paired bootstrap test of every metric that both reports have segment by segment.

    Raises:
        SimulmtError: the reports are not of the same segments.
    """
    if len(baseline.hypotheses) != len(system.hypotheses):
        raise SimulmtError(
            f"{baseline.system} has {len(baseline.hypotheses)} segments, {system.system} has {len(system.hypotheses)}",
            "a paired test needs the same segments in the same order",
        )
    if baseline.references != system.references:
        raise SimulmtError(
            f"{baseline.system} and {system.system} are not scored against the same references",
            "a paired test needs the same segments in the same order",
        )
    return _paired_quality(baseline, system, samples) | _paired_means(baseline, system, samples)


def _paired_quality(baseline: Report, system: Report, samples: int) -> dict[str, Comparison]:
    from sacrebleu.significance import PairedTest

    names = [name for name in SACREBLEU_METRICS if baseline.value(name) is not None and system.value(name) is not None]
    if not names:
        return {}
    metrics: dict[str, Any] = {name: sacrebleu_metric(name, baseline.tokenizer) for name in names}
    systems = [("baseline", baseline.hypotheses), ("system", system.hypotheses)]
    _, results = PairedTest(systems, metrics, baseline.references, test_type="bs", n_samples=samples)()
    count = len(baseline.hypotheses)
    return {
        name: Comparison(float(first.score), float(second.score), float(second.p_value), count)
        for name, (first, second) in ((name, results[name]) for name in names)
    }


def _paired_means(baseline: Report, system: Report, samples: int) -> dict[str, Comparison]:
    import numpy as np

    comparisons = {}
    for name, score in baseline.scores.items():
        other = system.scores.get(name)
        if score.per_segment is None or other is None or other.per_segment is None:
            continue
        both = [(a, b) for a, b in zip(score.per_segment, other.per_segment, strict=True) if None not in (a, b)]
        if both:
            comparisons[name] = _compare(np.asarray(both, dtype=np.float64), samples)
    return comparisons


def _compare(pairs: Values, samples: int) -> Comparison:
    import numpy as np

    first, second = float(pairs[:, 0].mean()), float(pairs[:, 1].mean())
    differences = np.abs(_resampled_means(pairs[:, 1] - pairs[:, 0], samples))
    beyond = int(np.sum(differences - differences.mean() > abs(second - first)))
    return Comparison(first, second, (beyond + 1) / (samples + 1), len(pairs))


def _resampled_means(values: Values, samples: int) -> Values:
    import numpy as np

    seed = os.environ.get("SACREBLEU_SEED", "12345")
    generator = np.random.default_rng(None if seed.lower() == "none" else int(seed))
    means: Values = values[generator.choice(len(values), size=(samples, len(values)), replace=True)].mean(axis=1)
    return means
