"""The loss of a batch: cross-entropy of target tokens in one forward pass over both groups."""

from __future__ import annotations

import os
import shutil
import warnings
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from simulmt.model.layout import IGNORED, attention_form
from simulmt.training.batches import Batch


class Objective(nn.Module):
    """A model of transformers with the loss as its output.

    Args:
        model: takes `position_ids`, a 4-D `attention_mask` and `logits_to_keep`.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor, mask: Tensor, positions: Tensor, labels: Tensor, smoothing: float) -> Tensor:
        """Return the summed loss over all labels, a scalar in float32.

        Args:
            tokens: [B, n + m]. `mask`: [B, 1, n + m, n + m] in the form that the model's attention takes.
            positions: [B, n + m]. `labels`: [B, m]; the output layer runs on these last m tokens only.
            smoothing: of labels, 0 for none.
        """
        output = self.model(
            input_ids=tokens,
            attention_mask=mask,
            position_ids=positions,
            use_cache=False,
            logits_to_keep=labels.shape[1],
        )
        logits: Tensor = output.logits[:, -labels.shape[1] :].float()  # [B, m, V]
        return cross_entropy(
            logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED, label_smoothing=smoothing, reduction="sum"
        )


def batch_loss(objective: nn.Module, model: Any, batch: Batch, smoothing: float) -> Tensor:
    """Return the summed loss of a batch; `objective` may be wrapped or compiled, `model` is the one inside."""
    mask = attention_form(batch.mask(), model)
    loss: Tensor = objective(batch.tokens, mask, batch.positions, batch.labels, smoothing)
    return loss


def recompute_activations(model: Any) -> None:
    """Let layers compute activations again in the backward pass instead of keeping them (gradient checkpointing)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # the newer name is not in all versions
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})


def store_by_row(model: nn.Module) -> None:
    """Store every weight in row-major order, as files and fused updates want it; decoding may have other wishes."""
    for weight in model.parameters():
        weight.data = weight.data.contiguous()


def autocast(device: torch.device, bfloat16: bool) -> AbstractContextManager[Any]:
    """Return the context in which matrix products are computed in bfloat16, or one that changes nothing."""
    return torch.autocast(device.type, torch.bfloat16) if bfloat16 else nullcontext()


def can_compile(device: torch.device) -> bool:
    """True if there is what torch.compile needs: a C++ compiler for processors, triton for GPUs."""
    if device.type == "cuda":
        return find_spec("triton") is not None
    compilers = (os.environ.get("CXX", "g++"), "clang++")
    return device.type == "cpu" and any(shutil.which(name) is not None for name in compilers)


def has_fast_bfloat16(device: torch.device) -> bool:
    """True if the processor multiplies bfloat16 in hardware."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type == "cpu":
        return any(
            bool(getattr(torch.cpu, name, bool)()) for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
        )
    return False
