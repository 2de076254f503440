"""The processes that train together: one, or many under `accelerate launch` or `torchrun` (DDP, FSDP)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

Optimizers = list[torch.optim.Optimizer]


class Workers:
    """A single process. Subclasses do the same with many.

    Attributes:
        rank: number of this process. `size`: of all.
        device: where this process computes. `sharded`: each process holds a part of each layer's weights only.
    """

    rank = 0
    size = 1
    sharded = False

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def shard(self, model: nn.Module) -> None:
        """Spread the weights of the model's layers over the processes, if they were told to."""

    @property
    def main(self) -> bool:
        """True in the process that writes files and talks to the user."""
        return self.rank == 0

    def wrap(self, objective: nn.Module, optimizers: Optimizers) -> tuple[nn.Module, Optimizers]:
        """Return both made ready for training together."""
        return objective, optimizers

    def no_sync(self, objective: nn.Module) -> AbstractContextManager[Any]:
        """Return the context for a backward pass whose gradients are added to, not exchanged yet."""
        return nullcontext()

    def sum(self, value: Tensor) -> Tensor:
        """Return the sum over all processes."""
        return value

    def agree(self, values: Sequence[float]) -> list[float]:
        """Return the main process's values in all of them."""
        return list(values)

    def any(self, flag: bool) -> bool:
        """Return True if it is in any process."""
        return flag

    def clip(self, objective: nn.Module, largest: float) -> None:
        """Scale the gradient down to a norm of at most `largest`."""
        nn.utils.clip_grad_norm_([weight for weight in objective.parameters() if weight.requires_grad], largest)

    def wait(self) -> None:
        """Wait until all processes are here."""

    def close(self) -> None:
        """Leave the group of processes."""


class ManyWorkers(Workers):
    """Processes under a launcher, through accelerate.

    Args:
        sharded: spread the layers over the processes (FSDP2) instead of keeping a copy in each (DDP); for adapters,
            since the embeddings, which are not trained then, stay whole everywhere.
    """

    def __init__(self, device: torch.device, *, sharded: bool = False) -> None:
        from accelerate import Accelerator

        self.accelerator = Accelerator(cpu=device.type == "cpu")
        super().__init__(self.accelerator.device)
        self.rank = self.accelerator.process_index
        self.size = self.accelerator.num_processes
        self.sharded = sharded

    def shard(self, model: nn.Module) -> None:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        if not self.sharded:
            return
        mesh = init_device_mesh(self.device.type, (self.size,))
        for name, layers in model.named_modules():
            if isinstance(layers, nn.ModuleList) and name.endswith("layers"):
                for layer in layers:
                    fully_shard(layer, mesh=mesh, reshard_after_forward=True)

    def wrap(self, objective: nn.Module, optimizers: Optimizers) -> tuple[nn.Module, Optimizers]:
        if self.sharded:
            return objective, optimizers
        prepared = self.accelerator.prepare(objective, *optimizers)
        return prepared[0], list(prepared[1:])

    def no_sync(self, objective: nn.Module) -> AbstractContextManager[Any]:
        if self.sharded:
            return nullcontext()
        return self.accelerator.no_sync(objective)  # type: ignore[no-any-return]

    def sum(self, value: Tensor) -> Tensor:
        return self.accelerator.reduce(value.detach().clone(), "sum")  # type: ignore[no-any-return]

    def agree(self, values: Sequence[float]) -> list[float]:
        shared = torch.tensor(values, dtype=torch.float64 if self.device.type != "mps" else torch.float32)
        shared = shared.to(self.device)
        torch.distributed.broadcast(shared, 0)
        return shared.tolist()

    def any(self, flag: bool) -> bool:
        return bool(self.sum(torch.tensor(float(flag), device=self.device)) > 0)

    def clip(self, objective: nn.Module, largest: float) -> None:
        if self.sharded:
            super().clip(objective, largest)
        else:
            self.accelerator.clip_grad_norm_(objective.parameters(), largest)

    def wait(self) -> None:
        self.accelerator.wait_for_everyone()

    def close(self) -> None:
        self.accelerator.end_training()
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()


def launched() -> bool:
    """True under a launcher that started several processes, or asks for sharding."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1 or os.environ.get("ACCELERATE_USE_FSDP") == "true"


def make_workers(device: torch.device, *, sharded: bool = False) -> Workers:
    """Return the processes that train together on devices like `device`."""
    return ManyWorkers(device, sharded=sharded) if launched() else Workers(device)


def whole(tensor: Tensor) -> Tensor:
    """Return a tensor of which each process holds a part, put together; all processes must call it."""
    from torch.distributed.tensor import DTensor

    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def fill(tensor: Tensor, values: Tensor) -> None:
    """Copy values into a tensor, of which this process may hold a part only."""
    from torch.distributed.tensor import DTensor, distribute_tensor

    with torch.no_grad():
        if isinstance(tensor, DTensor):
            values = distribute_tensor(values.to(tensor.device), tensor.device_mesh, tensor.placements)
        tensor.copy_(values)
