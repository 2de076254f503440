"""Options that `finetune` and `train` share, and what they mean."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from simulmt.errors import SimulmtError, UsageError
from simulmt.training.results import RUN, open_output

if TYPE_CHECKING:
    from simulmt.training.data import DataOptions
    from simulmt.training.runs import RunOptions
    from simulmt.training.schedule import Limits
    from simulmt.training.trainer import TrainerOptions

F = TypeVar("F", bound=Callable[..., Any])

ALWAYS_GIVEN = ("resume", "overwrite", "dry_run")
"""Options that say what to do now; all others are properties of the run and remembered."""


def _add(function: F, options: list[Callable[[F], F]]) -> F:
    for option in reversed(options):
        function = option(function)
    return function


def data_options(function: F) -> F:
    """Add the options that say what to train on."""
    return _add(
        function,
        [
            click.option(
                "--source",
                "source_file",
                metavar="FILE",
                help="Plain file of source lines, instead of DATA; --target has their translations.",
            ),
            click.option("--target", "target_file", metavar="FILE", help="Plain file of target lines."),
            click.option(
                "--source-key", default="source", show_default=True, help="Name of the source text in JSON lines."
            ),
            click.option(
                "--target-key", default="target", show_default=True, help="Name of the target text in JSON lines."
            ),
            click.option(
                "--valid",
                metavar="FILE|SHARE",
                help="Validation pairs: a file of its own, or a share of the data, at most 1,000 pairs, from "
                "each file by its weight. Their sources never train. Default: one pair in 100; of less than 10,000, 100 "
                "or one in ten.",
            ),
            click.option(
                "--strict",
                is_flag=True,
                help="Stop at the first line that is not in order; else such lines are counted and reported.",
            ),
            click.option(
                "--max-length",
                type=click.IntRange(min=8),
                metavar="TOKENS",
                help="Leave out pairs with more tokens on a side. Default: 128 (finetune), 96 (train).",
            ),
            click.option(
                "--k",
                default="1-10",
                show_default=True,
                metavar="K",
                help="Words to read before the first is "
                "written: a number, a range or a list. Ranges and lists also train whole segments.",
            ),
            click.option(
                "--full-share",
                type=click.FloatRange(0, 1),
                help="Share of examples that are whole segments. Default: 0.2, and 0 for a single --k.",
            ),
            click.option(
                "--noise",
                type=click.FloatRange(0, 1),
                default=1 / 12,
                show_default="1/12",
                help="Share of sources in lower case without punctuation, as live captions are.",
            ),
            click.option(
                "--join",
                type=click.FloatRange(0, 1),
                default=1 / 7,
                show_default="1/7",
                help="Share of pairs joined with the next line; 0 if neighbouring lines are unrelated.",
            ),
        ],
    )


def run_options(function: F) -> F:
    """Add the options that say how to train."""
    return _add(
        function,
        [
            click.option(
                "--epochs",
                type=float,
                help="End after so many passes over the data. Default, without another limit: 3 (finetune), 5 (train).",
            ),
            click.option("--max-steps", type=int, help="End after so many updates."),
            click.option(
                "--max-minutes", type=float, help="End after so many minutes, those before a --resume counted."
            ),
            click.option("--lr", type=click.FloatRange(min=0, min_open=True), help="Highest learning rate."),
            click.option(
                "--warmup", type=click.IntRange(min=0), metavar="STEPS", help="Steps in which the rate rises."
            ),
            click.option(
                "--decay",
                type=click.FloatRange(0, 1),
                metavar="SHARE",
                help="Share of the run, at its end, in which the rate falls to 0.",
            ),
            click.option(
                "--optimizer",
                type=click.Choice(["adamw", "muon"]),
                default="adamw",
                show_default=True,
                help="muon is for the matrices inside the layers, the rest has AdamW.",
            ),
            click.option(
                "--weight-decay",
                type=click.FloatRange(min=0),
                default=0.05,
                show_default=True,
                help="Pull of the weights towards 0.",
            ),
            click.option(
                "--label-smoothing",
                type=click.FloatRange(0, 1, max_open=True),
                default=0.1,
                show_default=True,
                help="Share of each label that is spread over all tokens.",
            ),
            click.option(
                "--batch-tokens",
                type=click.IntRange(min=1),
                metavar="TOKENS",
                help="Tokens in a batch, padding included; it has at least one row, which takes the longest pair. "
                "Default: 1600 (finetune), 4608 (train).",
            ),
            click.option(
                "--accumulate",
                type=click.IntRange(min=1),
                default=1,
                show_default=True,
                metavar="BATCHES",
                help="Batches in an update.",
            ),
            click.option(
                "--precision",
                type=click.Choice(["auto", "float32", "bfloat16"]),
                default="auto",
                show_default=True,
                help="Of matrix products; auto is bfloat16 where the processor has it.",
            ),
            click.option(
                "--compile/--no-compile",
                "compiled",
                default=None,
                help="Compile the model: slow to start, then up to twice as fast. Default: in train only.",
            ),
            click.option("--gradient-checkpointing", is_flag=True, help="Use less memory and more time."),
            click.option(
                "--valid-every",
                type=click.IntRange(min=0),
                metavar="STEPS",
                help="Steps between validations. Default: twice an epoch, but at least every 100 (finetune) or 200 "
                "(train).",
            ),
            click.option(
                "--patience",
                type=click.IntRange(min=0),
                metavar="N",
                help="When the validation loss has not fallen N times in a row, go back to the best weights, let the "
                "rate fall, and end; 0 never does. Default: 5 (finetune), 0 (train).",
            ),
            click.option(
                "--save-minutes",
                type=click.FloatRange(min=0),
                default=10.0,
                show_default=True,
                help="Minutes between checkpoints.",
            ),
            click.option(
                "--log-every",
                type=click.IntRange(min=1),
                default=10,
                show_default=True,
                metavar="STEPS",
                help="Steps between lines of train.jsonl.",
            ),
            click.option(
                "--seed",
                type=click.IntRange(min=0),
                default=0,
                show_default=True,
                help="Of all that is drawn at random.",
            ),
            click.option("--device", metavar="DEVICE", help="cpu, cuda, cuda:1, mps. Default: a GPU if there is one."),
            click.option("--threads", type=click.IntRange(min=1), help="CPU threads. Default: what torch chooses."),
            click.option(
                "--resume",
                is_flag=True,
                help="Go on from the last checkpoint in --output; other options need not be repeated.",
            ),
            click.option("--overwrite", is_flag=True, help="Begin anew even if --output holds a run."),
            click.option(
                "--dry-run",
                is_flag=True,
                help="Say what would be trained, how long it would take and how much memory, and stop.",
            ),
        ],
    )


def recall(context: click.Context, options: dict[str, Any], output: Path) -> dict[str, Any]:
    """Return the options; on `--resume`, those not given now are the run's own.

    Raises:
        UsageError: there is nothing to resume.
    """
    path = output / RUN
    if not options["resume"]:
        return options
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{output} holds no run to resume", "leave out --resume to begin one") from None
    except (OSError, ValueError) as error:
        raise SimulmtError(f"{path} cannot be read: {error}") from error
    defaults = (ParameterSource.DEFAULT, None)
    recalled = {
        name: value
        for name, value in saved.items()
        if name in options and name not in ALWAYS_GIVEN and context.get_parameter_source(name) in defaults
    }
    return options | recalled


def remember(options: dict[str, Any], output: Path) -> None:
    """Write the options into the output folder."""
    kept = {name: value for name, value in options.items() if name not in ALWAYS_GIVEN}
    try:
        (output / RUN).write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise SimulmtError(f"{output / RUN} cannot be written: {error.strerror}") from error


def is_first_process() -> bool:
    """True in the process that makes the output folder; the others of a launcher find it there."""
    return int(os.environ.get("RANK", "0")) == 0


def make_data(options: dict[str, Any], max_length: int, batch_tokens: int) -> DataOptions:
    """Return the data options; `max_length` and `batch_tokens` are the command's defaults."""
    from simulmt.training.batches import Recipe
    from simulmt.training.data import DataOptions
    from simulmt.training.examples import Lags
    from simulmt.training.sources import DataFile, Keys, parse_data_file

    files = [parse_data_file(text) for text in options["data"]]
    if (options["source_file"] is None) != (options["target_file"] is None):
        raise UsageError(
            "--source and --target go together", "each names a plain file, line n of one translates line n"
        )
    if options["source_file"] is not None:
        files.append(DataFile(Path(options["source_file"]), Path(options["target_file"])))
    lags = Lags.parse(options["k"], options["full_share"])
    return DataOptions(
        files=files,
        keys=Keys(options["source_key"], options["target_key"]),
        valid=options["valid"],
        strict=options["strict"],
        recipe=Recipe(lags, options["noise"], options["join"]),
        max_length=options["max_length"] or max_length,
        batch_tokens=options["batch_tokens"] or batch_tokens,
        seed=options["seed"],
    )


def make_limits(options: dict[str, Any], epochs: float) -> Limits:
    """Return when the run ends: as the options say, else after `epochs`."""
    from simulmt.training.schedule import Limits

    minutes = options["max_minutes"]
    given = any(options[name] is not None for name in ("epochs", "max_steps", "max_minutes"))
    return Limits(
        options["epochs"] if given else epochs, options["max_steps"], None if minutes is None else 60 * minutes
    )


def make_trainer(options: dict[str, Any], defaults: TrainerOptions, device: Any) -> TrainerOptions:
    """Return the trainer options; what was not given is as in `defaults`."""
    from dataclasses import replace

    from simulmt.training.objective import has_fast_bfloat16
    from simulmt.training.optimizers import OptimizerOptions

    def choose(name: str, default: Any) -> Any:
        return default if options[name] is None else options[name]

    schedule = replace(
        defaults.schedule,
        peak=choose("lr", defaults.schedule.peak),
        warmup=choose("warmup", defaults.schedule.warmup),
        decay=choose("decay", defaults.schedule.decay),
    )
    precision = options["precision"]
    return replace(
        defaults,
        schedule=schedule,
        optimizer=OptimizerOptions(options["optimizer"], options["weight_decay"]),
        smoothing=options["label_smoothing"],
        accumulate=options["accumulate"],
        bfloat16=precision == "bfloat16" or (precision == "auto" and has_fast_bfloat16(device)),
        compile=choose("compiled", defaults.compile),
        valid_every=choose("valid_every", defaults.valid_every),
        patience=choose("patience", defaults.patience),
        save_seconds=60 * options["save_minutes"],
        log_every=options["log_every"],
    )


def make_run(options: dict[str, Any], output: Path, data: DataOptions, trainer: TrainerOptions) -> RunOptions:
    """Return the options of a run."""
    from simulmt.training.runs import RunOptions

    return RunOptions(
        output=output,
        data=data,
        trainer=trainer,
        valid_by_epoch=options["valid_every"] is None,
        resume=options["resume"],
        gradient_checkpointing=options["gradient_checkpointing"],
        dry_run=options["dry_run"],
    )


def in_output(options: dict[str, Any], output: Path, run: Callable[[dict[str, Any], Path], int]) -> int:
    """Run in the output folder, opened and with the options remembered; a dry run in a folder that is thrown away."""
    if options["dry_run"]:
        with tempfile.TemporaryDirectory(prefix="simulmt-") as folder:
            return run(options, Path(folder))
    if is_first_process():
        open_output(output, resume=options["resume"], overwrite=options["overwrite"])
        remember(options, output)
    return run(options, output)
