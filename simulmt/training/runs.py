"""A run from start to end: prepare, train or go on, score, leave the result."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor

from simulmt.errors import UsageError
from simulmt.live import Interrupt
from simulmt.model.catalog import Card
from simulmt.model.decoder import attention_window
from simulmt.model.loading import Translator
from simulmt.training.checkpoint import STABLE, load_checkpoint, steps
from simulmt.training.corpus import Corpus
from simulmt.training.data import DataOptions, Prepared, pad_token, prepare, tokens_per_epoch
from simulmt.training.estimate import Estimate, estimate
from simulmt.training.examples import ExampleMaker
from simulmt.training.objective import recompute_activations
from simulmt.training.progress import Display, TrainingLog, clock
from simulmt.training.quality import SCORED, bleu_by_lag, spread
from simulmt.training.results import CHECKPOINTS, publish, versions, write_cards
from simulmt.training.rows import Shape, longest_pair
from simulmt.training.sources import DataReport
from simulmt.training.trainer import Trainer, TrainerOptions
from simulmt.training.workers import Workers

VALID_EVERY = 10
"""Fewest steps between two validations that are placed by the epoch."""


@dataclass(frozen=True)
class RunOptions:
    """What both commands have in common.

    Attributes:
        output: the folder of the result, with log and checkpoints.
        data, trainer: their options.
        valid_by_epoch: validate twice an epoch where that is more often than the trainer's `valid_every`.
        resume: go on from the last checkpoint in `output`.
        gradient_checkpointing: compute activations twice instead of keeping them.
        dry_run: say what would be trained, and train nothing.
    """

    output: Path
    data: DataOptions
    trainer: TrainerOptions
    valid_by_epoch: bool = False
    resume: bool = False
    gradient_checkpointing: bool = False
    dry_run: bool = False


@dataclass(frozen=True)
class Subject:
    """What is trained.

    Attributes:
        translator: model, tokenizer and prompt; `model` is the same model, perhaps with an adapter around it.
        identity: what makes this run this run, beside its data.
        card: of the result, scores not yet filled in.
        write: writes the weights into a folder; it is given those that were trained, by name.
        title, usage: for the model card.
        initial: a checkpoint folder to take weights and optimizer from, in a new run.
    """

    translator: Translator
    model: Any
    identity: dict[str, Any]
    card: Card
    write: Callable[[Path, dict[str, Tensor]], None]
    title: str
    usage: str
    initial: Path | None = None


def execute(
    options: RunOptions, subject: Subject, corpus: Corpus, report: DataReport, workers: Workers, display: Display
) -> int:
    """Train `subject` and leave the result in `options.output`; return the exit status, 128 + signal if interrupted."""
    transformers.utils.logging.disable_progress_bar()
    prepared = _prepare(options, subject, corpus, report, workers, display)
    model = subject.model
    if options.gradient_checkpointing:
        recompute_activations(model)
    trainer_options = replace(options.trainer, valid_every=_valid_every(options, prepared, workers))
    identity = _identity(options, subject, prepared, workers)
    folder = options.output / CHECKPOINTS
    if options.dry_run:
        _tell(estimate(model, prepared, trainer_options, workers), display)
        return 0
    torch.manual_seed(options.data.seed)
    trainer = Trainer(model, prepared.source, prepared.valid, trainer_options, workers, folder, identity)
    resumed = _restore(trainer, options, subject, display)
    log = TrainingLog(options.output, trainer.progress.step if resumed else None) if workers.main else None
    with Interrupt().installed() as interrupt, display:
        done = trainer.run(log, display, lambda: interrupt.signal is not None)
    if not done:
        display.note(f"interrupted at step {trainer.progress.step:,}; --resume goes on from there")
        return interrupt.exit_code or 130
    if workers.main or workers.sharded:  # processes that share the weights must translate together
        _leave(options, subject, trainer, prepared, log, display)
    if log is not None:
        log.close()
    workers.wait()
    return 0


def _prepare(
    options: RunOptions, subject: Subject, corpus: Corpus, report: DataReport, workers: Workers, display: Display
) -> Prepared:
    translator = subject.translator
    maker = ExampleMaker(translator.prompt.frame, translator.tokenizer, translator.source, translator.target)
    config = translator.model.config.get_text_config()
    _check_room(config, longest_pair(maker.frame, options.data.max_length), translator.card.phi)
    return prepare(
        options.data,
        corpus,
        report,
        maker,
        phi=translator.card.phi,
        pad=pad_token(config),
        workers=workers.size,
        fill=options.trainer.compile,
        display=display,
    )


def _valid_every(options: RunOptions, prepared: Prepared, workers: Workers) -> int:
    """Return the steps between validations, 0 for none."""
    every = options.trainer.valid_every if prepared.valid else 0
    if not options.valid_by_epoch or every == 0:
        return every
    step_tokens = options.data.batch_tokens * workers.size * options.trainer.accumulate
    return min(every, max(VALID_EVERY, tokens_per_epoch(prepared) // (2 * step_tokens)))


def _identity(options: RunOptions, subject: Subject, prepared: Prepared, workers: Workers) -> dict[str, Any]:
    """Return what a checkpoint must agree with to be one of this run; limits and rates may change."""
    data = options.data
    return subject.identity | {
        "data": prepared.corpus.digest,
        "weights of the data": [one.weight for one in prepared.corpus.files],
        "tokens per batch": data.batch_tokens * workers.size,
        "rows of a batch": [[s.source, s.target, prepared.source.row_count(s)] for s in prepared.source.shapes],
        "batches per step": options.trainer.accumulate,
        "longest pair": data.max_length,
        "k": str(data.recipe.lags),
        "noise and join": [data.recipe.noise, data.recipe.join],
        "validation": data.valid,
        "seed": data.seed,
    }


def _check_room(config: Any, longest: Shape, phi: int) -> None:
    """Raise UsageError if the longest pairs outgrow the model's positions or its sliding attention window."""
    window, positions = attention_window(config), getattr(config, "max_position_embeddings", None)
    side = max(longest.source, phi + longest.target)
    remedy = "lower --max-length"
    if window is not None and longest.tokens > window:
        raise UsageError(f"pairs may have {longest.tokens} tokens, the model's attention window holds {window}", remedy)
    if positions is not None and side > positions:
        raise UsageError(f"a side may have {side} tokens, the model has {positions} positions", remedy)


def _restore(trainer: Trainer, options: RunOptions, subject: Subject, display: Display) -> bool:
    """Load the last checkpoint if there is one to go on from; True if the run was resumed."""
    saved = steps(trainer.folder) if options.resume else []
    if saved:
        trainer.restore(load_checkpoint(saved[-1]))
        display.note(f"resumed at step {trainer.progress.step:,}, after {clock(trainer.progress.seconds)}")
        return True
    if options.resume:
        display.note("there is no checkpoint yet: beginning anew")
    if subject.initial is not None:
        trainer.restore(load_checkpoint(subject.initial), optimizer_only=True)
        display.note(f"weights and optimizer are those of {subject.initial}")
    return False


def _tell(found: Estimate, display: Display) -> None:
    for line in found.lines():
        display.note(line)


def _leave(
    options: RunOptions,
    subject: Subject,
    trainer: Trainer,
    prepared: Prepared,
    log: TrainingLog | None,
    display: Display,
) -> None:
    """Score the final weights and write the result."""
    trainer.model.eval()
    progress = trainer.progress
    pairs = spread(prepared.split.valid, SCORED)
    bleu: dict[str, float] = {}
    if pairs:
        display.note(f"translating {len(pairs)} validation pairs")
        bleu = bleu_by_lag(subject.translator, pairs)
        display.note("BLEU " + ", ".join(f"{score:.1f} at k = {lag}" for lag, score in bleu.items()))
    extra: dict[str, Any] = {
        "k": str(options.data.recipe.lags),
        "units": {"source": subject.translator.source.unit, "target": subject.translator.target.unit},
        "bleu": bleu or None,
        "validation_pairs": len(pairs),
        "validation_loss": progress.valid_loss,
        "training_pairs": len(prepared.split.train),
        "data_sha256": prepared.corpus.digest,
        "seed": options.data.seed,
        "steps": progress.step,
        "tokens": progress.tokens,
        "minutes": round(progress.seconds / 60, 1),
        "versions": versions(),
    }
    kept = {key: value for key, value in extra.items() if value is not None}
    card = replace(subject.card, extra=subject.card.extra | kept)

    weights = trainer.gathered()

    def write(folder: Path) -> None:
        subject.write(folder, weights)
        write_cards(folder, card, subject.title, subject.usage)

    if not trainer.workers.main:
        return
    publish(options.output, write)
    if log is not None:
        log.write(event="done", **kept)
    _clear_checkpoints(trainer.folder)
    display.note(f"done in {clock(progress.seconds)}: {options.output}")
    display.note(subject.usage)


def _clear_checkpoints(folder: Path) -> None:
    """Remove what only an unfinished run needs; the one before the decay stays, where it was wanted."""
    if (folder / STABLE).exists():
        for place in steps(folder):
            shutil.rmtree(place, ignore_errors=True)
    else:
        shutil.rmtree(folder, ignore_errors=True)
