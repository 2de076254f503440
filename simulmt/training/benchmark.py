"""Training throughput: this trainer's step against transformers' Trainer on the same model and pairs, in one run."""

from __future__ import annotations

import copy
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from simulmt.model.layout import IGNORED
from simulmt.model.loading import Translator
from simulmt.training.batches import BatchSource, Recipe
from simulmt.training.corpus import read_corpus
from simulmt.training.data import DataOptions, pad_token, prepare
from simulmt.training.examples import ExampleMaker, Lags
from simulmt.training.objective import store_by_row
from simulmt.training.progress import Display
from simulmt.training.schedule import Limits, Schedule
from simulmt.training.sources import DataFile, DataReport
from simulmt.training.trainer import Trainer, TrainerOptions
from simulmt.training.workers import Workers

_RATE = 1e-5


@dataclass(frozen=True, slots=True)
class BenchmarkOptions:
    """How long to measure.

    Attributes:
        steps: measured, of each trainer. `warmup`: steps before these; a compiled model compiles in them.
        batch_tokens: of our batches, padding included; the other trainer's hold as many without padding.
        max_length: tokens of a side.
        bfloat16: both compute matrix products in bfloat16. `compile`: ours is compiled.
    """

    steps: int = 20
    warmup: int = 3
    batch_tokens: int = 4608
    max_length: int = 96
    bfloat16: bool = False
    compile: bool = False


def compare(translator: Translator, data: Path, options: BenchmarkOptions) -> dict[str, float]:
    """Train copies of the model on the pairs of `data` with both trainers.

    Tokens are those of source and target, padding not counted; time is that of forward, backward, update, and of making
    the batches on the way.

    Returns:
        `tokens_per_second` of this trainer, `transformers_tokens_per_second`, and `ratio`, ours by theirs.
    """
    with tempfile.TemporaryDirectory(prefix="simulmt-") as folder:
        source = _batches(translator, data, options, Path(folder))
        ours = _measure_ours(translator, source, options, Path(folder))
        theirs = _measure_transformers(translator, source, options, Path(folder))
        source.corpus.close()
    return {"tokens_per_second": ours, "transformers_tokens_per_second": theirs, "ratio": ours / theirs}


def _batches(translator: Translator, data: Path, options: BenchmarkOptions, folder: Path) -> BatchSource:
    report = DataReport()
    settings = DataOptions(
        [DataFile(data)],
        valid="0",
        recipe=Recipe(Lags.parse("1-10")),
        max_length=options.max_length,
        batch_tokens=options.batch_tokens,
    )
    maker = ExampleMaker(translator.prompt.frame, translator.tokenizer, translator.source, translator.target)
    config = translator.model.config.get_text_config()
    return prepare(
        settings,
        read_corpus(settings.files, report, folder),
        report,
        maker,
        phi=translator.card.phi,
        pad=pad_token(config),
        workers=1,
        fill=options.compile,
        display=Display(quiet=True),
    ).source


def _measure_ours(translator: Translator, source: BatchSource, options: BenchmarkOptions, folder: Path) -> float:
    model = copy.deepcopy(translator.model).float()
    # Every shape is compiled before time is taken.
    warmup = _warmup(source, options)
    settings = TrainerOptions(
        Limits(steps=warmup),
        Schedule(_RATE, warmup=0, decay=0.0),
        bfloat16=options.bfloat16,
        compile=options.compile,
        log_every=1,
        save_seconds=1e9,
        valid_every=0,
    )
    trainer = Trainer(model, source, [], settings, Workers(torch.device(model.device)), folder / "checkpoints")
    trainer.run(None, Display(quiet=True))
    before, started = trainer.progress.tokens, time.perf_counter()
    trainer.options = _until(settings, warmup + options.steps)
    trainer.run(None, Display(quiet=True))
    return (trainer.progress.tokens - before) / (time.perf_counter() - started)


def _until(settings: TrainerOptions, steps: int) -> TrainerOptions:
    return replace(settings, limits=Limits(steps=steps))


def _warmup(source: BatchSource, options: BenchmarkOptions) -> int:
    """Return steps before the measurement: until the shapes that it will meet have been seen."""
    if not options.compile:
        return options.warmup
    widths = []
    for batch, after in source.batches():
        widths.append(batch.tokens.shape[1])
        if after.epoch > 0 or len(widths) >= 200:
            break
    return max(options.warmup, 1 + max(widths.index(width) for width in set(widths)))


def _measure_transformers(
    translator: Translator, source: BatchSource, options: BenchmarkOptions, folder: Path
) -> float:
    from transformers import Trainer as OtherTrainer
    from transformers import TrainerCallback, TrainingArguments

    examples, size = _plain_examples(source, options)
    pad = source.pad
    moments: list[float] = []
    tokens: list[int] = []

    class Clock(TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, *_: Any, **__: Any) -> None:
            moments.append(time.perf_counter())

    def pad_to_longest(rows: Sequence[dict[str, list[int]]]) -> dict[str, torch.Tensor]:
        tokens.append(sum(len(row["input_ids"]) for row in rows))
        return _pad(rows, pad)

    model = copy.deepcopy(translator.model).float()
    store_by_row(model)
    model.config.use_cache = False
    arguments = TrainingArguments(
        output_dir=str(folder / "transformers"),
        max_steps=options.warmup + options.steps,
        per_device_train_batch_size=size,
        learning_rate=_RATE,
        bf16=options.bfloat16,
        use_cpu=model.device.type == "cpu",
        optim="adamw_torch_fused",
        save_strategy="no",
        logging_strategy="no",
        report_to=[],
        disable_tqdm=True,
        remove_unused_columns=False,
        dataloader_drop_last=True,
    )
    OtherTrainer(
        model=model, args=arguments, train_dataset=examples, data_collator=pad_to_longest, callbacks=[Clock()]
    ).train()
    measured = tokens[options.warmup : options.warmup + options.steps]
    return sum(measured) / (moments[-1] - moments[options.warmup - 1])


def _plain_examples(source: BatchSource, options: BenchmarkOptions) -> tuple[list[dict[str, list[int]]], int]:
    """Return the pairs as source and target in one sequence, and how many make a batch of as many tokens as ours."""
    examples = []
    for index in source.train[: 64 * 1024]:
        segment = source.maker.make(*source.corpus.pair(int(index)), 5)
        labels = [IGNORED] * len(segment.source) + segment.target
        examples.append({"input_ids": segment.source + segment.target, "labels": labels})
    counts = []
    for batch, after in source.batches():
        counts.append(batch.token_count)
        if after.epoch > 0 or len(counts) >= options.steps:
            break
    mean = sum(len(example["input_ids"]) for example in examples) / len(examples)
    return examples, min(len(examples), max(1, round(sum(counts) / len(counts) / mean)))


def _pad(rows: Sequence[dict[str, list[int]]], pad: int) -> dict[str, torch.Tensor]:
    longest = max(len(row["input_ids"]) for row in rows)

    def filled(key: str, value: int) -> torch.Tensor:
        return torch.tensor([row[key] + [value] * (longest - len(row[key])) for row in rows])

    seen = torch.tensor([[1] * len(row["input_ids"]) + [0] * (longest - len(row["input_ids"])) for row in rows])
    return {"input_ids": filled("input_ids", pad), "labels": filled("labels", IGNORED), "attention_mask": seen}
