"""What a run would cost: the answer of `--dry-run`."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Any

import torch

from simulmt.training.data import Prepared, tokens_per_epoch
from simulmt.training.objective import Objective, autocast, batch_loss
from simulmt.training.progress import clock
from simulmt.training.trainer import TrainerOptions
from simulmt.training.workers import Workers

STEPS = 2
"""Batches tried, after one to warm up."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Attributes:
    parameters, trained: numbers of weights.
    epoch_tokens: tokens of an epoch, padding not counted. `speed`: tokens per second, as tried, not compiled.
    seconds: of the whole run, None if it has no end that can be foreseen.
    memory: bytes: weights, gradients, optimizer, and what a batch was seen to take.
    """

    parameters: int
    trained: int
    epoch_tokens: int
    speed: float
    seconds: float | None
    memory: int

    def lines(self) -> list[str]:
        """Return the estimate as lines of text."""
        share = self.trained / self.parameters
        return [
            f"{self.parameters:,} parameters, of which {self.trained:,} ({share:.1%}) are trained",
            f"{self.epoch_tokens:,} tokens per epoch",
            f"about {self.speed:,.0f} tokens/s here, {clock(self.epoch_tokens / self.speed)} per epoch",
            f"about {clock(self.seconds)} in all",
            f"about {self.memory / 2**30:.1f} GiB of memory",
        ]


def estimate(model: Any, prepared: Prepared, options: TrainerOptions, workers: Workers) -> Estimate:
    """Try a few batches, forward and backward; no weight changes."""
    speed, step_tokens = _try(model, prepared, options, workers)
    weights = list(model.parameters())
    trained = sum(weight.numel() for weight in weights if weight.requires_grad)
    tokens = tokens_per_epoch(prepared)
    ends = []
    if options.limits.epochs is not None:
        ends.append(options.limits.epochs * tokens / speed)
    if options.limits.steps is not None:
        ends.append(options.limits.steps * step_tokens / speed)
    if options.limits.seconds is not None:
        ends.append(options.limits.seconds)
    optimizer = trained * (8 if options.optimizer.name == "adamw" else 6)
    memory = _peak_memory(workers.device) + optimizer
    total = sum(weight.numel() for weight in weights)
    return Estimate(total, trained, tokens, speed, min(ends, default=None), memory)


def _try(model: Any, prepared: Prepared, options: TrainerOptions, workers: Workers) -> tuple[float, float]:
    """Return tokens per second and tokens per step."""
    objective = Objective(model)
    batches = prepared.source.batches()
    model.train()
    tokens, started = 0, time.monotonic()
    for number in range(STEPS + 1):
        batch, _ = next(batches)
        if number == 1:
            tokens, started = 0, time.monotonic()
        own = batch.rows(slice(workers.rank, None, workers.size)).to(workers.device)
        with autocast(workers.device, options.bfloat16):
            loss = batch_loss(objective, model, own, options.smoothing)
        torch.autograd.backward(loss)
        loss.item()
        tokens += batch.token_count
    elapsed = time.monotonic() - started
    model.zero_grad(set_to_none=True)
    return tokens / max(1e-9, elapsed), tokens / STEPS * options.accumulate


def _peak_memory(device: torch.device) -> int:
    """Return the most memory that was in use so far, in bytes."""
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    try:
        import resource
    except ImportError:  # not on Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
