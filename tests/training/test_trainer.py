import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from families import tiny_own_model
from training_pairs import SENTENCES, write_pairs

from simulmt.errors import SimulmtError, UsageError
from simulmt.model.loading import Options, Translator, load
from simulmt.training.adapters import LoraOptions, add_adapter, linear_layers
from simulmt.training.batches import BatchSource, Recipe
from simulmt.training.checkpoint import load_checkpoint, steps
from simulmt.training.corpus import read_corpus
from simulmt.training.data import validation_batches
from simulmt.training.examples import ExampleMaker, Lags
from simulmt.training.objective import recompute_activations
from simulmt.training.optimizers import OptimizerOptions
from simulmt.training.progress import Display, TrainingLog
from simulmt.training.schedule import Limits, Schedule
from simulmt.training.sources import DataFile, DataReport
from simulmt.training.trainer import Trainer, TrainerOptions
from simulmt.training.workers import Workers

STEPS = TrainerOptions(
    Limits(steps=8), Schedule(5e-3, warmup=2, decay=0.5), log_every=2, save_seconds=1e9, valid_every=0
)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_own_model(tmp_path_factory.mktemp("base"), sentences=SENTENCES, pieces=330)


def own(base: Path) -> Translator:
    return load(str(base), options=Options(device="cpu"))


def trainer_of(
    base: Path, folder: Path, options: TrainerOptions = STEPS, *, lora: LoraOptions | None = None, valid: bool = False,
    clock: Callable[[], float] | None = None, tokens: int = 512, identity: dict[str, Any] | None = None,
) -> Trainer:  # fmt: skip
    folder.mkdir(exist_ok=True)
    translator = own(base)
    maker = ExampleMaker(translator.prompt.frame, translator.tokenizer, translator.source, translator.target)
    corpus = read_corpus([DataFile(write_pairs(folder))], DataReport(), folder)
    corpus.measure(maker.measure, 95, DataReport())
    source = BatchSource(
        corpus, np.arange(len(corpus)), maker, Recipe(Lags.parse("1-5")), 96, tokens, phi=0, pad=3, seed=0
    )
    torch.manual_seed(0)
    model = translator.model if lora is None else add_adapter(translator.model, lora, "base")
    batches = validation_batches(list(corpus.texts(range(6))), source) if valid else []
    extra = {} if clock is None else {"clock": clock}
    return Trainer(
        model, source, batches, options, Workers(torch.device("cpu")), folder / "checkpoints", identity, **extra
    )


def weights(trainer: Trainer) -> dict[str, torch.Tensor]:
    return {name: weight.detach().clone() for name, weight in trainer.trained().items()}


def assert_same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> None:
    assert a.keys() == b.keys()
    for name in a:
        assert torch.equal(a[name], b[name]), name


def run(trainer: Trainer, stop_at: int | None = None) -> bool:
    return trainer.run(None, Display(quiet=True), lambda: trainer.progress.step == stop_at)


@pytest.mark.parametrize("name", ["adamw", "muon", "lora"])
@pytest.mark.parametrize("stop_at", [1, 5])
def test_an_interrupted_run_ends_with_the_same_weights(base: Path, tmp_path: Path, name: str, stop_at: int) -> None:
    lora = LoraOptions(4, 8.0, dropout=0.2) if name == "lora" else None
    options = replace(STEPS, optimizer=OptimizerOptions("muon" if name == "muon" else "adamw"), accumulate=2)
    whole = trainer_of(base, tmp_path / "whole", options, lora=lora)
    start = weights(whole)
    assert run(whole)
    first = trainer_of(base, tmp_path / "parts", options, lora=lora)
    assert not run(first, stop_at)
    torch.manual_seed(99)
    second = trainer_of(base, tmp_path / "parts", options, lora=lora)
    second.restore(load_checkpoint(steps(second.folder)[-1]))
    assert second.progress.step == stop_at
    assert run(second)
    assert_same(weights(second), weights(whole))
    assert not torch.equal(next(iter(start.values())), next(iter(weights(whole).values())))


def test_accumulated_batches_are_one_large_batch(base: Path, tmp_path: Path) -> None:
    """32 pairs in one batch, or in several that together are an epoch."""
    one = trainer_of(base, tmp_path / "one", replace(STEPS, limits=Limits(steps=2)), tokens=8192)
    small = trainer_of(base, tmp_path / "many", tokens=640)
    count = next(n for n, (_, after) in enumerate(small.source.batches(), 1) if after.epoch == 1)
    assert count > 1
    many = trainer_of(base, tmp_path / "many", replace(STEPS, limits=Limits(steps=2), accumulate=count), tokens=640)
    run(one), run(many)
    assert one.progress.tokens == many.progress.tokens
    for name, weight in weights(one).items():
        torch.testing.assert_close(weight, weights(many)[name], atol=2e-4, rtol=1e-3)


def test_loss_is_on_target_tokens_only(base: Path, tmp_path: Path) -> None:
    """Source tokens get no label; what they are matters, that they are predicted does not."""
    trainer = trainer_of(base, tmp_path, valid=True)
    batch = trainer.valid[0]
    width = batch.source_units.shape[1]
    assert batch.labels.shape[1] == batch.tokens.shape[1] - width
    assert batch.label_count == int((batch.reads > 0).sum())


def test_the_decay_ends_with_the_minutes(base: Path, tmp_path: Path) -> None:
    """A clock on which each look takes a second: the rate is down to its last steps when time is over."""
    now = iter(range(10_000))
    options = replace(STEPS, limits=Limits(seconds=100), schedule=Schedule(1.0, warmup=0, decay=0.5), log_every=10**6)
    trainer = trainer_of(base, tmp_path, options, clock=lambda: float(next(now)))
    rates = []
    step = trainer._step
    trainer._step = lambda batches: (step(batches), rates.append(trainer._optimizers[0].param_groups[0]["lr"]))[0]  # type: ignore[method-assign, assignment]
    run(trainer)
    assert rates[0] == 1.0
    assert rates[-1] == pytest.approx(0.0, abs=0.05)
    assert all(rate > 0 for rate in rates)
    assert trainer.progress.seconds >= 100


def test_epochs_end_the_run(base: Path, tmp_path: Path) -> None:
    trainer = trainer_of(base, tmp_path, replace(STEPS, limits=Limits(epochs=2)))
    run(trainer)
    assert trainer.progress.position.epochs == 2.0


def test_early_stopping_keeps_the_best_weights(base: Path, tmp_path: Path) -> None:
    """A rate so high that the loss only rises."""
    schedule = Schedule(3.0, warmup=0, decay=0.0)
    options = replace(STEPS, limits=Limits(steps=100), schedule=schedule, valid_every=1, patience=3, log_every=1000)
    trainer = trainer_of(base, tmp_path, options, valid=True)
    run(trainer)
    assert trainer.progress.step < 100
    assert trainer.progress.bad >= 3
    assert trainer.validation_loss() == pytest.approx(trainer.progress.best_loss)


def test_a_loss_that_is_not_a_number(base: Path, tmp_path: Path) -> None:
    trainer = trainer_of(base, tmp_path, replace(STEPS, log_every=1))
    with torch.no_grad():
        trainer.model.lm_head.weight[0, 0] = float("nan")
    with pytest.raises(SimulmtError, match=r"not a number at step 1; try a smaller --lr"):
        run(trainer)


def test_a_checkpoint_of_another_run(base: Path, tmp_path: Path) -> None:
    first = trainer_of(base, tmp_path, identity={"seed": 1})
    run(first, 1)
    second = trainer_of(base, tmp_path, identity={"seed": 2})
    with pytest.raises(SimulmtError, match="the run to resume had seed 1, not 2"):
        second.restore(load_checkpoint(steps(second.folder)[-1]))


def test_checkpoints_every_so_often(base: Path, tmp_path: Path) -> None:
    trainer = trainer_of(base, tmp_path, replace(STEPS, save_seconds=0.0))
    run(trainer)
    assert [place.name for place in steps(trainer.folder)] == ["step-00000007", "step-00000008"]


def test_the_checkpoint_before_the_decay(base: Path, tmp_path: Path) -> None:
    trainer = trainer_of(base, tmp_path, replace(STEPS, keep_stable=True))
    run(trainer)
    stable = load_checkpoint(trainer.folder / "stable")
    assert stable.state["step"] == 4
    onwards = trainer_of(base, tmp_path / "onwards")
    onwards.restore(stable, optimizer_only=True)
    assert onwards.progress.step == 0
    assert torch.equal(weights(onwards)["model.norm.weight"], stable.tensors["weights"]["model.norm.weight"])
    assert onwards.checkpoint().tensors["optimizer"].keys() == stable.tensors["optimizer"].keys()


def test_muon_needs_matrices(base: Path, tmp_path: Path) -> None:
    options = replace(STEPS, optimizer=OptimizerOptions("muon"))
    with pytest.raises(UsageError, match="--optimizer muon"):
        trainer_of(base, tmp_path, options, lora=LoraOptions(4))


def test_adapters_are_on_attention_and_mlp(base: Path) -> None:
    kinds = {name.rsplit(".", 1)[-1] for name in linear_layers(own(base).model)}
    assert kinds == {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}


def test_gradient_checkpointing_changes_no_weight(base: Path, tmp_path: Path) -> None:
    plain = trainer_of(base, tmp_path / "plain", lora=LoraOptions(4))
    run(plain)
    saving = trainer_of(base, tmp_path / "saving", lora=LoraOptions(4))
    recompute_activations(saving.model)
    run(saving)
    for name, weight in weights(plain).items():
        torch.testing.assert_close(weight, weights(saving)[name], atol=1e-6, rtol=1e-5)


def test_when_the_loss_stops_falling_the_rate_falls_from_the_best_weights(base: Path, tmp_path: Path) -> None:
    """Made-up losses, best at step 3: after two worse ones its weights are taken back, and the run ends early."""
    losses = iter([9.0, 8.0, 7.0, 6.0, 7.0, 7.0, 5.0, 4.0, 3.0, 3.0])
    options = replace(
        STEPS,
        limits=Limits(steps=100),
        schedule=Schedule(1e-3, warmup=0, decay=0.5),
        valid_every=1,
        patience=2,
        keep_stable=True,
    )
    trainer = trainer_of(base, tmp_path, options, valid=True)
    trainer.validation_loss = lambda: next(losses)  # type: ignore[method-assign]
    at, rates = {}, []
    step = trainer._step

    def watched(batches: Any) -> None:
        step(batches)
        at[trainer.progress.step] = weights(trainer)
        rates.append(trainer._optimizers[0].param_groups[0]["lr"])

    trainer._step = watched  # type: ignore[method-assign]
    assert run(trainer)
    assert (trainer.progress.decay_from, trainer.progress.decay_steps, trainer.progress.step) == (5, 3, 8)
    assert rates == pytest.approx([1e-3] * 6 + [2e-3 / 3, 1e-3 / 3])
    stable = load_checkpoint(trainer.folder / "stable")
    for name, weight in at[3].items():
        assert torch.equal(stable.tensors["weights"][name], weight)
    assert_same(weights(trainer), at[8])


def test_a_decay_that_began_early_is_resumed(base: Path, tmp_path: Path) -> None:
    options = replace(
        STEPS, limits=Limits(steps=100), schedule=Schedule(1e-3, warmup=0, decay=0.5), valid_every=1, patience=2
    )

    def made(folder: str) -> Trainer:
        trainer = trainer_of(base, tmp_path / folder, options, valid=True)
        trainer.validation_loss = lambda: float(abs(trainer.progress.step - 3))  # type: ignore[method-assign]
        return trainer

    whole, first, second = made("whole"), made("parts"), made("parts")
    assert run(whole)
    assert not run(first, 6)
    second.restore(load_checkpoint(steps(second.folder)[-1]))
    assert run(second)
    assert second.progress.step == whole.progress.step == 7
    assert_same(weights(second), weights(whole))


def test_the_loss_before_the_first_step_is_logged(base: Path, tmp_path: Path) -> None:
    options = replace(STEPS, valid_every=4, patience=3)
    trainer = trainer_of(base, tmp_path, options, valid=True)
    before = trainer.validation_loss()
    log = TrainingLog(tmp_path)
    trainer.run(log, Display(quiet=True))
    log.close()
    records = [json.loads(line) for line in (tmp_path / "train.jsonl").read_text().splitlines()]
    losses = {record["step"]: record["valid_loss"] for record in records if "valid_loss" in record}
    assert list(losses) == [0, 4, 8]
    assert losses[0] == pytest.approx(before, abs=1e-5)
