"""Optimizers, and their state as named tensors (so that it is stored without pickle)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from simulmt.errors import UsageError
from simulmt.training.muon import Float32Muon
from simulmt.training.objective import has_fast_bfloat16
from simulmt.training.workers import fill, whole

Name = Literal["adamw", "muon"]


@dataclass(frozen=True, slots=True)
class OptimizerOptions:
    """How weights are updated.

    Attributes:
        name: `adamw`; or `muon` for the hidden matrices (arXiv 2502.16982) and AdamW for the rest.
        weight_decay: per step, times the learning rate.
        betas: decay of AdamW's averages.
        clip: largest norm of the gradient.
    """

    name: Name = "adamw"
    weight_decay: float = 0.05
    betas: tuple[float, float] = (0.9, 0.98)
    clip: float = 1.0


def make_optimizers(model: nn.Module, options: OptimizerOptions) -> list[torch.optim.Optimizer]:
    """Return the optimizers of all trainable weights of `model`, one or two; learning rates are set at each step.

    Raises:
        UsageError: Muon was asked for and there are no hidden matrices to train.
    """
    trainable = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    matrices = {} if options.name == "adamw" else _hidden_matrices(trainable)
    rest = [weight for name, weight in trainable.items() if name not in matrices]
    optimizers: list[torch.optim.Optimizer] = []
    if options.name == "muon":
        if not matrices:
            raise UsageError(
                "there are no hidden matrices for --optimizer muon", "use it with --full or `simulmt train`"
            )
        hidden = list(matrices.values())
        kind = torch.optim.Muon if has_fast_bfloat16(hidden[0].device) else Float32Muon
        optimizers.append(kind(hidden, lr=0.0, weight_decay=options.weight_decay, adjust_lr_fn="match_rms_adamw"))
    if rest:
        fused = rest[0].device.type in ("cpu", "cuda")
        optimizers.append(
            torch.optim.AdamW(rest, lr=0.0, betas=options.betas, weight_decay=options.weight_decay, fused=fused)
        )
    return optimizers


def _hidden_matrices(trainable: dict[str, nn.Parameter]) -> dict[str, nn.Parameter]:
    """The weight matrices inside the layers; adapters' thin factors are not meant to be orthogonal."""
    outside = ("embed", "lm_head", "lora_")
    return {
        name: weight
        for name, weight in trainable.items()
        if weight.ndim == 2 and ".layers." in name and not any(part in name for part in outside)
    }


def set_rate(optimizers: Iterable[torch.optim.Optimizer], rate: float) -> None:
    """Set the learning rate of the next step."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = rate


SEPARATOR = "|"


def optimizer_tensors(model: nn.Module, optimizers: Iterable[torch.optim.Optimizer]) -> dict[str, Tensor]:
    """Return the state as tensors named `WEIGHT|KEY`."""
    names: dict[Any, str] = {weight: name for name, weight in model.named_parameters()}
    return {
        f"{names[weight]}{SEPARATOR}{key}": whole(value)
        for optimizer in optimizers
        for weight, state in optimizer.state.items()
        for key, value in state.items()
        if isinstance(value, Tensor)
    }


def load_optimizer_tensors(
    model: nn.Module, optimizers: Iterable[torch.optim.Optimizer], tensors: dict[str, Tensor]
) -> None:
    """Set the state from what `optimizer_tensors` returned.

    Raises:
        ValueError: a tensor of another shape, or of a weight that is not trained.
    """
    weights = dict(model.named_parameters())
    owners = {weight: opt for opt in optimizers for group in opt.param_groups for weight in group["params"]}
    for name, tensor in tensors.items():
        weight_name, _, key = name.rpartition(SEPARATOR)
        weight = weights.get(weight_name)
        if weight is None or weight not in owners or tensor.numel() not in (1, weight.numel()):
            raise ValueError(f"{weight_name} is not among the weights that are trained")
        state: dict[str, Any] = owners[weight].state[weight]
        # Averages must lie in memory as their weight does: fused updates run over both in the same order.
        if tensor.shape == weight.shape:
            state[key] = torch.empty_like(weight)
            fill(state[key], tensor)
        else:
            state[key] = tensor.to(weight.device)
