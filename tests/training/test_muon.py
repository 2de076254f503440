"""Muon in float32 against PyTorch's own."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from simulmt.training import optimizers
from simulmt.training.muon import Float32Muon, orthogonalized
from simulmt.training.optimizers import OptimizerOptions, make_optimizers

SHAPES = ((12, 12), (8, 24), (24, 8))


@pytest.mark.parametrize("shape", SHAPES)
def test_singular_values_come_near_one(shape: tuple[int, int]) -> None:
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    result = orthogonalized(matrix, (3.4445, -4.775, 2.0315), 5)
    values = torch.linalg.svdvals(result)
    assert result.shape == shape
    assert values.min() > 0.3
    assert values.max() < 1.3


def test_steps_are_those_of_pytorch_but_for_rounding() -> None:
    generator = torch.Generator().manual_seed(2)
    start = [torch.randn(shape, generator=generator) for shape in SHAPES]
    gradients = [[torch.randn(shape, generator=generator) for shape in SHAPES] for _ in range(4)]

    def run(kind: type[torch.optim.Muon]) -> list[torch.Tensor]:
        weights = [torch.nn.Parameter(matrix.clone()) for matrix in start]
        optimizer = kind(weights, lr=0.01, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
        for step in gradients:
            for weight, gradient in zip(weights, step, strict=True):
                weight.grad = gradient.clone()
            optimizer.step()
        return [weight.detach() for weight in weights]

    for ours, theirs, matrix in zip(run(Float32Muon), run(torch.optim.Muon), start, strict=True):
        assert (ours - theirs).norm() < 0.02 * (theirs - matrix).norm()


@pytest.mark.parametrize(("fast", "kind"), [(True, torch.optim.Muon), (False, Float32Muon)])
def test_kind_follows_the_processor(monkeypatch: pytest.MonkeyPatch, fast: bool, kind: type[Any]) -> None:
    monkeypatch.setattr(optimizers, "has_fast_bfloat16", lambda device: fast)
    model = torch.nn.ModuleDict({"layers": torch.nn.ModuleList([torch.nn.Linear(4, 4)])})
    holder = torch.nn.ModuleDict({"model": model})
    assert type(make_optimizers(holder, OptimizerOptions("muon"))[0]) is kind
