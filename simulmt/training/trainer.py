"""The training loop: batches in, weights out, interruptible at any step."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from simulmt.errors import SimulmtError
from simulmt.training.batches import Batch, BatchSource, Position
from simulmt.training.checkpoint import STABLE, Checkpoint, save_checkpoint
from simulmt.training.objective import Objective, autocast, batch_loss, store_by_row
from simulmt.training.optimizers import (
    OptimizerOptions,
    load_optimizer_tensors,
    make_optimizers,
    optimizer_tensors,
    set_rate,
)
from simulmt.training.progress import Display, TrainingLog
from simulmt.training.schedule import Limits, Schedule
from simulmt.training.workers import Workers, fill, whole

TRAINED = "weights"
BEST = "best"


@dataclass(frozen=True, slots=True)
class TrainerOptions:
    """How a run goes.

    Attributes:
        limits, schedule, optimizer: when it ends, learning rate, update.
        smoothing: of labels in training; validation loss is without.
        accumulate: batches per step.
        bfloat16: compute matrix products in bfloat16.
        compile: compile the model, one version for each shape.
        valid_every: steps between two validations, 0 for none but at the end.
        patience: validations in a row without a better loss after which the decay begins, or the run ends if it has
            begun; 0 for never. The best weights are kept, and the decay begins from them.
        save_seconds: between two checkpoints.
        log_every: steps between two log records.
        keep_stable: keep a checkpoint of the moment when the decay began.
    """

    limits: Limits
    schedule: Schedule
    optimizer: OptimizerOptions = field(default_factory=OptimizerOptions)
    smoothing: float = 0.1
    accumulate: int = 1
    bfloat16: bool = False
    compile: bool = False
    valid_every: int = 200
    patience: int = 0
    save_seconds: float = 600.0
    log_every: int = 10
    keep_stable: bool = False


@dataclass(slots=True)
class Progress:
    """Where a run is; all of it goes into checkpoints.

    Attributes:
        step: updates made. `position`: in the data.
        seconds: run so far, over all sessions.
        tokens: trained on, padding not counted.
        best_loss: lowest validation loss, with the step it was measured at.
        bad: validations since then.
        decay_from: step at which the decay began, None before it.
        decay_steps: its length if it began early, because the loss had stopped falling.
    """

    step: int = 0
    position: Position = field(default_factory=Position)
    seconds: float = 0.0
    tokens: int = 0
    best_loss: float | None = None
    best_step: int = 0
    bad: int = 0
    valid_loss: float | None = None
    decay_from: int | None = None
    decay_steps: int | None = None

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Progress:
        return cls(**{**state, "position": Position(**state["position"])})


class Trainer:
    """Trains `model`'s trainable weights on `source`.

    Args:
        model: of transformers, or one with adapters of peft around it; on the workers' device.
        source: batches. `valid`: validation batches, may be empty.
        options: how. `workers`: who.
        folder: for checkpoints. `identity`: what a checkpoint must agree with to go on from it.
    """

    def __init__(
        self,
        model: Any,
        source: BatchSource,
        valid: list[Batch],
        options: TrainerOptions,
        workers: Workers,
        folder: Path,
        identity: dict[str, Any] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.model, self.source, self.valid, self.options = model, source, valid, options
        self.workers, self.folder, self.identity = workers, folder, identity or {}
        self.progress = Progress()
        self.best: dict[str, Tensor] = {}
        self._clock = clock
        store_by_row(model)
        workers.shard(model)
        self._optimizers = make_optimizers(model, options.optimizer)
        self._objective, self._wrapped = workers.wrap(Objective(model), self._optimizers)
        self._train_objective: nn.Module = self._objective
        if options.compile:
            self._train_objective = torch.compile(self._objective, dynamic=False)  # type: ignore[assignment]
        self._loss = torch.zeros((), device=workers.device)
        self._window = _Window()

    # State

    def trained(self) -> dict[str, Tensor]:
        """Return the trainable weights by name."""
        return {name: weight for name, weight in self.model.named_parameters() if weight.requires_grad}

    def gathered(self) -> dict[str, Tensor]:
        """Return the trainable weights by name, put together from all processes, which all must call this."""
        return {name: whole(weight.detach()) for name, weight in self.trained().items()}

    def restore(self, checkpoint: Checkpoint, *, optimizer_only: bool = False) -> None:
        """Go on from a checkpoint; `optimizer_only` takes weights and optimizer into a new run.

        Raises:
            SimulmtError: the checkpoint is of another run: other data, model or options.
        """
        if not optimizer_only:
            _check_identity(checkpoint.state["identity"], self.identity)
        weights = self.trained()
        saved = checkpoint.tensors[TRAINED]
        if saved.keys() != weights.keys():
            raise SimulmtError("the checkpoint holds other weights than those to train", "give the options of its run")
        for name, weight in weights.items():
            fill(weight, saved[name])
        load_optimizer_tensors(self.model, self._optimizers, dict(checkpoint.tensors["optimizer"]))
        if optimizer_only:
            return
        self.progress = Progress.from_state(checkpoint.state["progress"])
        self.best = dict(checkpoint.tensors.get(BEST, {}))
        _set_random_state(dict(checkpoint.tensors["random"]))

    def checkpoint(self) -> Checkpoint:
        """Return the state of this moment; as `gathered`, for all processes."""
        tensors: dict[str, dict[str, Tensor]] = {
            TRAINED: self.gathered(),
            "optimizer": optimizer_tensors(self.model, self._optimizers),
            "random": _random_state(),
        }
        if self.best:
            tensors[BEST] = self.best
        state = {"step": self.progress.step, "progress": asdict(self.progress), "identity": self.identity}
        return Checkpoint(state, tensors)

    def save(self, name: str | None = None) -> Path | None:
        """Write a checkpoint; only the main process does."""
        checkpoint = self.checkpoint() if self.workers.main or self.workers.sharded else None
        place = save_checkpoint(self.folder, checkpoint, name) if checkpoint and self.workers.main else None
        self.workers.wait()
        return place

    # Loop

    def run(self, log: TrainingLog | None, display: Display, interrupted: Callable[[], bool] = lambda: False) -> bool:
        """Train to the end; return False if `interrupted` said to stop before, a checkpoint is written then."""
        started = self._clock() - self.progress.seconds
        saved = self.progress.seconds
        self._window = _Window(self.progress.seconds)
        batches = self.source.batches(self.progress.position)
        self.model.train()
        if self.progress.step == 0 and self.options.patience and self.options.valid_every and self.valid:
            self._validate(log, display)
        while True:
            (seconds,) = self.workers.agree([self._clock() - started])
            self.progress.seconds = seconds
            if self.progress.decay_from is None and self._decay_due():
                self._begin_decay(display)
            if self._share_done() >= 1.0 or self._stalled():
                break
            if self.workers.any(interrupted()):
                self.save()
                return False
            if seconds - saved >= self.options.save_seconds:
                self.save()
                saved = seconds
            self._step(batches)
            if self.progress.step % self.options.log_every == 0:
                self._report(log, display, self._clock() - started)
            if self._validation_due():
                self._validate(log, display)
        if self._stalled():
            display.note(f"no better validation loss in {self.options.patience} validations: stopped early")
        self.progress.seconds = self.workers.agree([self._clock() - started])[0]
        self.save()  # what follows may be interrupted too
        self._finish(log, display)
        return True

    def _stalled(self) -> bool:
        """True if the validation loss has not fallen for as long as `patience`, be it only in the decay."""
        return 0 < self.options.patience <= self.progress.bad

    def _share_done(self) -> float:
        """Return the share of the run that is over; a decay that began early takes the rest of it."""
        progress = self.progress
        share = self.options.limits.progress(progress.position.epochs, progress.step, progress.seconds)
        if progress.decay_from is None or progress.decay_steps is None:
            return share
        left = 1.0 - (progress.step - progress.decay_from) / progress.decay_steps
        return max(share, 1.0 - self.options.schedule.decay * left)

    def _decay_due(self) -> bool:
        """True if the decay's time has come, or the loss has stopped falling after it once fell."""
        done, schedule = self._share_done(), self.options.schedule
        if schedule.decay == 0 or done >= 1.0:
            return False
        return schedule.decaying(done) or (self._stalled() and self.progress.best_step > 0)

    def _begin_decay(self, display: Display) -> None:
        """Begin the decay, from the best weights; if early, it is as long as if the run had been meant to end there."""
        progress, schedule = self.progress, self.options.schedule
        if not schedule.decaying(self._share_done()):
            share = schedule.decay / max(1.0 - schedule.decay, 0.5)
            progress.decay_steps = max(1, round(progress.best_step * share))
        progress.decay_from = progress.step
        if self.best and progress.best_step != progress.step:
            self._take_best()
            display.note(f"the rate falls from here on, from the weights of step {progress.best_step:,}")
        progress.bad = 0
        if self.options.keep_stable:
            self.save(STABLE)

    def _take_best(self) -> None:
        for name, weight in self.trained().items():
            fill(weight, self.best[name])

    def _step(self, batches: Iterator[tuple[Batch, Position]]) -> None:
        """Make one update."""
        set_rate(self._optimizers, self.options.schedule.rate(self.progress.step, self._share_done()))
        drawn = [next(batches) for _ in range(self.options.accumulate)]
        labels = max(1, sum(batch.label_count for batch, _ in drawn))
        for number, (batch, _) in enumerate(drawn):
            own = batch.rows(slice(self.workers.rank, None, self.workers.size)).to(self.workers.device)
            last = number == len(drawn) - 1
            with nullcontext() if last else self.workers.no_sync(self._objective):
                with autocast(self.workers.device, self.options.bfloat16):
                    loss = batch_loss(self._train_objective, self.model, own, self.options.smoothing)
                # Gradients are averaged over the workers: multiplied by their number, they add up to the whole batch's.
                torch.autograd.backward(loss * (self.workers.size / labels))
            self._loss += loss.detach()
        self.workers.clip(self._objective, self.options.optimizer.clip)
        for optimizer in self._wrapped:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        self._advance(drawn, labels)

    def _advance(self, drawn: list[tuple[Batch, Position]], labels: int) -> None:
        progress = self.progress
        progress.step += 1
        progress.position = drawn[-1][1]
        tokens = sum(batch.token_count for batch, _ in drawn)
        progress.tokens += tokens
        self._window.tokens += tokens
        self._window.labels += labels

    def _report(self, log: TrainingLog | None, display: Display, seconds: float) -> None:
        loss = float(self.workers.sum(self._loss)) / max(1, self._window.labels)
        if loss != loss:
            raise SimulmtError(f"the loss is not a number at step {self.progress.step}", "try a smaller --lr")
        speed = self._window.tokens / max(1e-9, seconds - self._window.since)
        rate = self._optimizers[0].param_groups[0]["lr"]
        progress = self.progress
        if log is not None:
            log.write(
                step=progress.step,
                loss=round(loss, 6),
                lr=rate,
                epoch=round(progress.position.epochs, 4),
                tokens=progress.tokens,
                tokens_per_second=round(speed, 1),
                seconds=round(seconds, 2),
            )
        display.step(progress.step, self._share_done(), loss, speed, seconds)
        self._loss.zero_()
        self._window = _Window(seconds)

    # Validation

    def _validation_due(self) -> bool:
        every = self.options.valid_every
        return bool(self.valid) and every > 0 and self.progress.step % every == 0

    def validation_loss(self) -> float:
        """Return the mean loss of a validation label, without smoothing."""
        self.model.eval()
        total = torch.zeros((), device=self.workers.device)
        with torch.no_grad(), autocast(self.workers.device, self.options.bfloat16):
            for batch in self.valid:
                own = batch.rows(slice(self.workers.rank, None, self.workers.size)).to(self.workers.device)
                total += batch_loss(self._objective, self.model, own, 0.0)
        self.model.train()
        return float(self.workers.sum(total)) / max(1, sum(batch.label_count for batch in self.valid))

    def _validate(self, log: TrainingLog | None, display: Display) -> None:
        """Measure the validation loss, and keep the weights if it is the lowest so far."""
        progress = self.progress
        progress.valid_loss = loss = self.validation_loss()
        if log is not None:
            log.write(step=progress.step, valid_loss=round(loss, 6))
        display.validated(loss)
        if progress.best_loss is None or loss < progress.best_loss:
            progress.best_loss, progress.best_step, progress.bad = loss, progress.step, 0
            if self.options.patience:
                self.best = {name: weight.cpu().clone() for name, weight in self.gathered().items()}
        else:
            progress.bad += 1

    def _finish(self, log: TrainingLog | None, display: Display) -> None:
        """Validate the final weights, and take back the best ones if those were better."""
        if not self.valid:
            return
        if self.progress.step % max(1, self.options.valid_every) or not self.options.valid_every:
            self._validate(log, display)
        if self.best and self.progress.best_step != self.progress.step:
            self._take_best()
            self.progress.valid_loss = self.progress.best_loss
            display.note(f"weights of step {self.progress.best_step:,} were the best and are kept")


@dataclass(slots=True)
class _Window:
    """What was done since the last log record."""

    since: float = 0.0
    tokens: int = 0
    labels: int = 0


def _check_identity(saved: dict[str, Any], own: dict[str, Any]) -> None:
    for key in saved.keys() | own.keys():
        if saved.get(key) != own.get(key):
            raise SimulmtError(
                f"the run to resume had {key} {saved.get(key)!r}, not {own.get(key)!r}",
                "give the same options, or begin a new run with another --output",
            )


def _random_state() -> dict[str, Tensor]:
    states = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        states |= {f"cuda{number}": state for number, state in enumerate(torch.cuda.get_rng_state_all())}
    return states


def _set_random_state(states: dict[str, Tensor]) -> None:
    torch.set_rng_state(states["cpu"])
    if torch.cuda.is_available():
        for number in range(torch.cuda.device_count()):
            if f"cuda{number}" in states:
                torch.cuda.set_rng_state(states[f"cuda{number}"], number)
