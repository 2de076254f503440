"""`simulmt finetune`."""

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
from simulmt.errors import UsageError

EPOCHS = 3.0
BATCH_TOKENS, MAX_LENGTH = 1600, 128

EPILOG = """\b
Examples:
  simulmt finetune captions.tsv --output captions
  simulmt translate --model en-de --adapter captions talk.txt
  simulmt finetune pairs.jsonl --base Qwen/Qwen2.5-0.5B-Instruct --from en --to fr --max-minutes 60 --output en-fr
  accelerate launch --num_processes 4 -m simulmt finetune pairs.tsv.gz --base ./model --output adapter
  simulmt finetune --resume --output captions
"""


@click.command(epilog=EPILOG)
@click.argument("data", nargs=-1, metavar="DATA...")
@click.option(
    "--base",
    default="en-de",
    show_default=True,
    metavar="MODEL",
    help="Model to tune: a name, a folder or a Hugging Face id.",
)
@click.option("--output", default="adapter", show_default=True, metavar="DIR", help="Folder for the result.")
@click.option("--from", "source", metavar="LANG", help="Source language, where the base has no pair of its own.")
@click.option("--to", "target", metavar="LANG", help="Target language, likewise.")
@click.option("--full", is_flag=True, help="Train all weights, not an adapter.")
@click.option("--rank", type=int, default=32, show_default=True, help="Rank of the adapter (LoRA's r).")
@click.option(
    "--alpha", type=float, help="Strength of the adapter, which is scaled by alpha / rank. Default: twice the rank."
)
@click.option("--dropout", type=float, default=0.0, show_default=True, help="Of the adapter's input.")
@click.option(
    "--dtype",
    type=click.Choice(["auto", "float32", "bfloat16", "float16"]),
    default="auto",
    show_default=True,
    help="Number format of the base's weights, where an adapter is trained.",
)
@click.option(
    "--shard", is_flag=True, help="Under a launcher: spread the base over the processes instead of copying it (FSDP)."
)
@click.option("--trust-remote-code", is_flag=True, help="Run Python code that comes with a hub model.")
@data_options
@run_options
@click.pass_context
def finetune(context: click.Context, /, **options: Any) -> int:
    """Tune a model on DATA: an adapter for every k, or with --full all weights.

    DATA are files of source<TAB>target lines, gzipped or not, or JSON lines (.jsonl). FILE@0.5 uses half of a file's
    pairs in each epoch, FILE@2 uses them twice.
    """
    output = Path(options["output"])
    options = recall(context, options, output)
    make_data(options, MAX_LENGTH, BATCH_TOKENS)  # wrong options are told before a folder is made
    return in_output(options, output, _run)


def _run(options: dict[str, Any], output: Path) -> int:
    from simulmt.model.devices import find_device
    from simulmt.training import finetuning
    from simulmt.training.adapters import LoraOptions
    from simulmt.training.schedule import Schedule
    from simulmt.training.trainer import TrainerOptions

    loading = load_options(options["device"], options["dtype"], options["threads"], options["trust_remote_code"])
    device = find_device(loading.device)
    loading = replace(loading, device=str(device))
    if options["shard"] and options["full"]:
        raise UsageError("--shard is for adapters, not for --full", "leave out one of them")
    rank = options["rank"]
    lora = None if options["full"] else LoraOptions(rank, options["alpha"] or 2.0 * rank, options["dropout"])
    defaults = TrainerOptions(
        make_limits(options, EPOCHS), Schedule(peak=finetuning.AUTO, warmup=20, decay=0.3), valid_every=100, patience=5
    )
    trainer = make_trainer(options, defaults, device)
    data = make_data(options, MAX_LENGTH, BATCH_TOKENS)
    run = make_run(options, output, data, trainer)
    return finetuning.finetune(
        finetuning.FinetuneOptions(
            options["base"], options["source"], options["target"], lora, loading, run, options["shard"]
        )
    )
