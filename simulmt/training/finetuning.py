"""`simulmt finetune`: an adapter, or all weights, of any decoder-only model."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from simulmt.errors import SimulmtError
from simulmt.model.catalog import Card, find, locate
from simulmt.model.loading import SENTENCEPIECE, Options, Translator, fingerprint, load
from simulmt.training.adapters import LoraOptions, add_adapter, save_adapter
from simulmt.training.data import check_data, read_data
from simulmt.training.progress import Display
from simulmt.training.runs import RunOptions, Subject, execute
from simulmt.training.workers import make_workers

AUTO = 0.0
"""A highest learning rate that is yet to be chosen by the size of the base."""


@dataclass(frozen=True)
class FinetuneOptions:
    """What to tune.

    Attributes:
        base: as the user named it. `source`, `target`: languages, None where the base has one pair.
        lora: None trains all weights.
        loading: device and number format of the base.
        shard: spread the layers over the processes of a launcher.
        run: everything else.
    """

    base: str
    source: str | None
    target: str | None
    lora: LoraOptions | None
    loading: Options
    run: RunOptions
    shard: bool = False


def finetune(options: FinetuneOptions) -> int:
    """Run; return the exit status."""
    workers = make_workers(torch.device(options.loading.device or "cpu"), sharded=options.shard)
    workers.wait()  # until the first has made the output folder
    options.run.output.mkdir(parents=True, exist_ok=True)
    check_data(options.run.data)
    options = replace(options, loading=replace(options.loading, device=str(workers.device)))
    translator = load_base(options)
    display = Display(quiet=not workers.main)
    corpus, report = read_data(options.run.data, options.run.output, display.track)
    torch.manual_seed(options.run.data.seed)
    run = with_rate(options.run, translator.model, adapter=options.lora is not None)
    subject = tuned_subject(options, translator)
    try:
        return execute(run, subject, corpus, report, workers, display)
    finally:
        corpus.close()
        workers.close()


def with_rate(run: RunOptions, model: Any, *, adapter: bool) -> RunOptions:
    """Choose the learning rate if none was given: larger models and whole models take smaller steps."""
    schedule = run.trainer.schedule
    if schedule.peak != AUTO:
        return run
    millions = sum(weight.numel() for weight in model.parameters()) / 1e6
    rates = ((50, 2e-3, 3e-4), (500, 5e-4, 1e-4), (float("inf"), 2e-4, 2e-5))
    peak = next(rate if adapter else whole for below, rate, whole in rates if millions < below)
    return replace(run, trainer=replace(run.trainer, schedule=replace(schedule, peak=peak)))


def load_base(options: FinetuneOptions) -> Translator:
    """Load the base; all weights are trained in float32, whatever they are stored in."""
    loading = options.loading
    if options.lora is None:
        loading = replace(loading, dtype="float32")
    return load(options.base, options.source, options.target, options=loading)


def tuned_subject(options: FinetuneOptions, translator: Translator) -> Subject:
    """Make an adapter, or make all weights trainable."""
    base, mark = base_name(options.base), fingerprint(translator.model)
    card = Card(
        source=translator.source.code,
        target=translator.target.code,
        phi=translator.card.phi,
        extra={"layout": "group"},
    )
    identity: dict[str, Any] = {"base": mark, "source": card.source, "target": card.target}
    output = options.run.output
    if options.lora is None:
        card = replace(card, extra={**card.extra, "tuned_from": base})
        return Subject(
            translator,
            translator.model,
            identity | {"adapter": None},
            card,
            lambda folder, _: save_whole(translator, folder),
            f"{base}, tuned for {translator.source.name} → {translator.target.name}",
            f"simulmt translate --model {output}",
        )
    adapted = add_adapter(translator.model, options.lora, base)
    lora = options.lora
    card = replace(
        card,
        base=base,
        fingerprint=mark,
        extra={**card.extra, "lora": {"rank": lora.rank, "alpha": lora.alpha, "dropout": lora.dropout}},
    )
    return Subject(
        translator,
        adapted,
        identity | {"adapter": f"rank {lora.rank}, alpha {lora.alpha:g}, dropout {lora.dropout:g}"},
        card,
        lambda folder, weights: save_adapter(adapted, folder, weights),
        f"Adapter for {base}, {translator.source.name} → {translator.target.name}",
        f"simulmt translate --model {base} --adapter {output}",
    )


def base_name(name: str) -> str:
    """Return the name under which a base is found again: a catalog name or hub id as it is, a path in full."""
    if find(name) is not None:
        return name
    place = locate(name)
    return str(place.resolve()) if isinstance(place, Path) else name


def save_whole(translator: Translator, folder: Path) -> None:
    """Write a model folder: weights in the number format of the base, tokenizer, configuration.

    Raises:
        SimulmtError: the base's tokenizer cannot be written.
    """
    place = locate(translator.name)
    translator.model.to(stored_dtype(place) or torch.bfloat16).save_pretrained(str(folder))
    if isinstance(place, Path) and (place / SENTENCEPIECE).exists():
        (folder / SENTENCEPIECE).write_bytes((place / SENTENCEPIECE).read_bytes())
        return
    tokenizer = getattr(translator.tokenizer, "tokenizer", None)
    if tokenizer is None:
        raise SimulmtError(f"the tokenizer of {translator.name} cannot be written")
    tokenizer.save_pretrained(str(folder))


def stored_dtype(place: Path | str) -> torch.dtype | None:
    """Return the number format in which a model folder's configuration says its weights are stored."""
    if not isinstance(place, Path) or not (place / "config.json").exists():
        return None
    record = json.loads((place / "config.json").read_text(encoding="utf-8"))
    name = record.get("dtype") or record.get("torch_dtype")
    found = getattr(torch, name, None) if isinstance(name, str) else None
    return found if isinstance(found, torch.dtype) else None
