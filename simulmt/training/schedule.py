"""When a run ends, and its learning rate on the way: warm-up, stable, decay (WSD, arXiv 2404.06395)."""

from __future__ import annotations

from dataclasses import dataclass

from simulmt.errors import UsageError


@dataclass(frozen=True, slots=True)
class Limits:
    """The run ends at whichever comes first.

    Attributes:
        epochs, steps, seconds: None where it does not matter; seconds count all sessions of a resumed run.
    """

    epochs: float | None = None
    steps: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        given = {"--epochs": self.epochs, "--max-steps": self.steps, "--max-minutes": self.seconds}
        for option, value in given.items():
            if value is not None and value <= 0:
                raise UsageError(f"{option} must be above 0, not {value:g}")
        if all(value is None for value in given.values()):
            raise UsageError("the run has no end", "give --epochs, --max-steps or --max-minutes")

    def progress(self, epochs: float, steps: int, seconds: float) -> float:
        """Return the share of the run that is over, from 0; at 1 it ends."""
        pairs = ((epochs, self.epochs), (steps, self.steps), (seconds, self.seconds))
        return max(done / limit for done, limit in pairs if limit is not None)


@dataclass(frozen=True, slots=True)
class Schedule:
    """The learning rate.

    Attributes:
        peak: in the stable phase.
        warmup: steps of linear rise from nearly 0.
        decay: share of the run, at its end, in which the rate falls linearly to 0.
    """

    peak: float
    warmup: int = 100
    decay: float = 0.1

    def __post_init__(self) -> None:
        if not 0 <= self.decay <= 1:
            raise UsageError(f"--decay must be between 0 and 1, not {self.decay:g}")

    def rate(self, step: int, progress: float) -> float:
        """Return the rate of step number `step` (from 0) when `progress` of the run is over."""
        rise = min(1.0, (step + 1) / self.warmup) if self.warmup > 0 else 1.0
        left = max(0.0, 1.0 - progress)
        fall = min(1.0, left / self.decay) if self.decay > 0 else 1.0
        return self.peak * min(rise, fall)

    def decaying(self, progress: float) -> bool:
        """True from the beginning of the decay."""
        return self.decay > 0 and progress >= 1.0 - self.decay
