"""`simulmt bench`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simulmt.cli.options import choose_model, load_options, model_options

if TYPE_CHECKING:
    from rich.table import Table

    from simulmt.benchmark.decoding import Row


@click.command()
@model_options
@click.option("--lengths", default="30,100,300", show_default=True, metavar="N,…", help="Words of the segments.")
@click.option("--k", "ks", default="5,9", show_default=True, metavar="K,…", help="Values of k.")
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Runs of each measurement, of re-encoding one; the fastest counts.",
)
@click.option(
    "--evaluate",
    "evaluation",
    is_flag=True,
    help="Measure instead how much faster `simulmt evaluate` decodes a corpus in batches than one stream at a time.",
)
@click.option(
    "--train",
    "training",
    is_flag=True,
    help="Measure instead how much faster our trainer goes through tokens than transformers' Trainer.",
)
@click.option(
    "--sentences", type=click.IntRange(min=1), default=1000, show_default=True, help="Sentences for --evaluate."
)
@click.option("--bf16", is_flag=True, help="Both trainers of --train compute in bfloat16.")
@click.option("--compile", is_flag=True, help="Our trainer compiles its step, as `simulmt train --compile` does.")
@click.option("--steps", type=click.IntRange(min=1), default=20, show_default=True, help="Steps for --train.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="How the numbers are written to stdout.",
)
def bench(**options: Any) -> None:  # fmt: skip
    """Measure speed on this machine, each time against a named baseline in the same run.

    Decoding: `group` is what `simulmt translate` does; `re-encoding` reads the whole prompt and all written words again at
    every READ, on the same weights; `generate()` is transformers' own generation of whole segments, on the same weights.
    """
    if options["evaluation"]:
        _report(options, _evaluation(options))
    elif options["training"]:
        _report(options, _training(options))
    else:
        _decoding(options)


def _numbers(text: str, option: str) -> list[int]:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1:
        raise click.BadParameter(f"{text!r} is not a list of numbers like 5,9", param_hint=option)
    return numbers


def _translator(options: dict[str, Any]) -> Any:
    from simulmt.model.loading import load

    name = choose_model(options["model"], options["source"], options["target"])
    how = load_options(options["device"], options["dtype"], options["threads"], options["trust_remote_code"])
    return load(name, options["source"], options["target"], options["adapter"], how)


def _decoding(options: dict[str, Any]) -> None:
    lengths, ks = _numbers(options["lengths"], "--lengths"), _numbers(options["ks"], "--k")
    from rich.console import Console

    from simulmt.benchmark.decoding import compare, ratios

    translator = _translator(options)
    with Console(stderr=True).status("") as status:
        rows = list(compare(translator, lengths, ks, options["repeats"], status.update))
    found = ratios(rows)
    if options["form"] == "json":
        click.echo(json.dumps({"rows": [_record(row) for row in rows], "ratios": found}, ensure_ascii=False))
        return
    Console().print(_table(rows))
    for name, value in found.items():
        click.echo(f"{value:6.2f} ×  {name}")


def _record(row: Row) -> dict[str, Any]:
    measure = row.measure
    return {
        "method": row.method,
        "segment_words": row.length,
        "policy": row.policy,
        "words_per_second": measure.words / measure.seconds,
        "tokens_per_second": measure.tokens / measure.seconds,
        "ms_per_word_median": measure.quantile(0.5),
        "ms_per_word_p95": measure.quantile(0.95),
        "forwarded_per_word": measure.forwarded / max(1, measure.words),
    }


def _table(rows: list[Row]) -> Table:
    from rich.table import Table

    table = Table(
        box=None, pad_edge=False, caption="segment: words; forwarded: tokens through the model per written word"
    )
    heads = ("segment", "policy", "method", "words/s", "tokens/s", "ms/word", "p95", "forwarded")
    for head in heads:
        table.add_column(head, justify="left" if head in ("policy", "method") else "right")
    for row in rows:
        record = _record(row)
        times = [record["ms_per_word_median"], record["ms_per_word_p95"]]
        table.add_row(
            str(row.length), row.policy, row.method,
            f"{record['words_per_second']:.1f}", f"{record['tokens_per_second']:.1f}",
            *("–" if time is None else f"{time:.1f}" for time in times),
            f"{record['forwarded_per_word']:.2f}",
        )  # fmt: skip
    return table


def _evaluation(options: dict[str, Any]) -> dict[str, Any]:
    from simulmt.benchmark.text import stretches
    from simulmt.evaluation.benchmark import measure
    from simulmt.evaluation.corpus import Sentence
    from simulmt.policy import WaitK

    k = _numbers(options["ks"], "--k")[0]
    sentences = [Sentence(number, text) for number, text in enumerate(stretches(options["sentences"]))]
    speed = measure(_translator(options), sentences, WaitK(k))
    return {
        "policy": WaitK(k).name,
        "sentences, batched": speed.sentences,
        "sentences/s, batched": speed.batched,
        "sentences, one stream at a time": speed.single_sentences,
        "sentences/s, one stream at a time": speed.single,
        "ratio": speed.ratio,
        "sentences that differ": speed.differing,
    }


def _training(options: dict[str, Any]) -> dict[str, Any]:
    from itertools import pairwise
    from tempfile import TemporaryDirectory

    from simulmt.benchmark.text import stretches
    from simulmt.training.benchmark import BenchmarkOptions, compare

    how = BenchmarkOptions(steps=options["steps"], bfloat16=options["bf16"], compile=options["compile"])
    with TemporaryDirectory(prefix="simulmt-") as folder:
        data = Path(folder) / "pairs.tsv"
        texts = stretches(4000)  # speed does not depend on what the words mean, so the text is its own translation
        data.write_text("".join(f"{source}\t{target}\n" for source, target in pairwise(texts)), encoding="utf-8")
        numbers = compare(_translator(options), data, how)
    return {
        "tokens/s, simulmt": numbers["tokens_per_second"],
        "tokens/s, transformers' Trainer": numbers["transformers_tokens_per_second"],
        "ratio": numbers["ratio"],
    }


def _report(options: dict[str, Any], numbers: dict[str, Any]) -> None:
    if options["form"] == "json":
        click.echo(json.dumps(numbers, ensure_ascii=False))
        return
    width = max(map(len, numbers))
    for name, value in numbers.items():
        click.echo(f"{name:<{width}}  {value:.2f}" if isinstance(value, float) else f"{name:<{width}}  {value}")
