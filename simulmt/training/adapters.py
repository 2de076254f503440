"""LoRA through peft: which layers, and how strongly."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from simulmt.errors import SimulmtError, UsageError


@dataclass(frozen=True, slots=True)
class LoraOptions:
    """LoRA (arXiv 2106.09685).

    Attributes:
        rank: r of the factors.
        alpha: updates are scaled by alpha / rank.
        dropout: share of the factors' input dropped in training.
    """

    rank: int = 32
    alpha: float = 64.0
    dropout: float = 0.0

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise UsageError(f"--rank must be at least 1, not {self.rank}")
        if not 0 <= self.dropout < 1:
            raise UsageError(f"--dropout must be at least 0 and below 1, not {self.dropout:g}")


def linear_layers(model: Any) -> list[str]:
    """Return the names of all linear layers of attention and MLP, those inside the decoder's layers.

    Raises:
        SimulmtError: the model has none.
    """
    from transformers.pytorch_utils import Conv1D

    output = model.get_output_embeddings()
    names = [
        name
        for name, module in model.named_modules()
        if isinstance(module, (nn.Linear, Conv1D))
        and module is not output
        and any(part.isdigit() for part in name.split("."))
    ]
    if not names:
        raise SimulmtError(f"{type(model).__name__} has no linear layers that an adapter could change", "use --full")
    return names


def add_adapter(model: Any, options: LoraOptions, base: str) -> Any:
    """Return the model with a fresh adapter on all linear layers; only the adapter is trainable."""
    from peft import LoraConfig, get_peft_model

    kinds = sorted({name.rsplit(".", 1)[-1] for name in linear_layers(model)})
    config = LoraConfig(
        r=options.rank,
        lora_alpha=options.alpha,
        lora_dropout=options.dropout,
        target_modules=kinds,
        task_type="CAUSAL_LM",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peft asks transformers for names that were changed
        adapted = get_peft_model(model, config)
    adapted.peft_config["default"].base_model_name_or_path = base
    return adapted


def save_adapter(adapted: Any, folder: Path, weights: dict[str, Tensor]) -> None:
    """Write adapter_config.json and adapter_model.safetensors; `weights` are those of the adapter, by name."""
    adapted.save_pretrained(str(folder), save_embedding_layers=False, state_dict=weights)
    (folder / "README.md").unlink(missing_ok=True)  # peft's empty card; ours is written later
