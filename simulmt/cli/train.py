"""`simulmt train`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from simulmt.cli.options import load_options
from simulmt.cli.training_options import (
    data_options,
    in_output,
    make_data,
    make_limits,
    make_run,
    make_trainer,
    recall,
    run_options,
)

EPOCHS = 5.0
BATCH_TOKENS, MAX_LENGTH = 4608, 96
RATE = 1.5e-3

EPILOG = """\b
Examples:
  simulmt train everyday.tsv.gz@2 manuals.tsv.gz@0.5 --from en --to es --output en-es --max-minutes 180
  simulmt train --resume --output en-es
  simulmt train more.tsv.gz --from en --to es --init en-es --output en-es-2 --max-minutes 60
"""


@click.command(epilog=EPILOG)
@click.argument("data", nargs=-1, metavar="DATA...")
@click.option("--from", "source", metavar="LANG", help="Source language.")
@click.option("--to", "target", metavar="LANG", help="Target language.")
@click.option("--output", metavar="DIR", help="Folder for the model. Default: the languages, e.g. en-es.")
@click.option(
    "--size",
    type=click.Choice(["tiny", "small", "base"]),
    default="small",
    show_default=True,
    help="About 5, 20 or 53 million weights.",
)
@click.option(
    "--vocabulary",
    type=click.IntRange(min=300),
    metavar="PIECES",
    help="Size of the vocabulary. Default: 8,000, 16,000 or 32,000 by --size.",
)
@click.option(
    "--init",
    metavar="DIR",
    help="Go on from this model of `simulmt train`, whose shape and vocabulary are kept; "
    "from before its decay if it has a checkpoint of that.",
)
@data_options
@run_options
@click.pass_context
def train(context: click.Context, /, **options: Any) -> int:
    """Train a small model from nothing on DATA, files as in `simulmt finetune`.

    Some hundred thousand pairs and a few hours on a laptop give a model that follows simple text; a GPU does the same
    in minutes.
    """
    from simulmt.errors import UsageError

    output = Path(options["output"] or f"{options['source']}-{options['target']}")
    options = recall(context, options, output)
    if options["source"] is None or options["target"] is None:
        raise UsageError("the languages are missing", "give --from and --to, e.g. --from en --to es")
    make_data(options, MAX_LENGTH, BATCH_TOKENS)  # wrong options are told before a folder is made
    return in_output(options, output, _run)


def _run(options: dict[str, Any], output: Path) -> int:
    from simulmt.model.devices import find_device
    from simulmt.training import fresh
    from simulmt.training.objective import can_compile
    from simulmt.training.schedule import Schedule
    from simulmt.training.trainer import TrainerOptions

    loading = load_options(options["device"], "float32", options["threads"], trust_remote_code=False)
    device = find_device(loading.device)
    loading = replace(loading, device=str(device))
    defaults = TrainerOptions(
        make_limits(options, EPOCHS),
        Schedule(peak=RATE, warmup=300 if options["init"] is None else 100, decay=0.1),
        compile=can_compile(device),
        valid_every=200,
        keep_stable=True,
    )
    trainer = make_trainer(options, defaults, device)
    run = make_run(options, output, make_data(options, MAX_LENGTH, BATCH_TOKENS), trainer)
    init = Path(options["init"]) if options["init"] else None
    return fresh.train(
        fresh.TrainOptions(
            options["source"], options["target"], options["size"], options["vocabulary"], init, loading, run
        )
    )
