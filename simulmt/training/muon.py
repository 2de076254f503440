"""Muon in float32, for processors that multiply bfloat16 only by emulation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


class Float32Muon(torch.optim.Muon):
    """`torch.optim.Muon` whose orthogonalization is computed in float32.

    PyTorch's own works in bfloat16 whatever the processor; where that is emulated, one step of a small model takes minutes.
    State, options and the meaning of the learning rate are those of the parent (with `adjust_lr_fn="match_rms_adamw"`).
    """

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all weights once."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None:
                    self._update(weight, weight.grad, group)
        return loss

    def _update(self, weight: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        state: dict[str, Any] = self.state[weight]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(gradient)
        momentum: Tensor = state["momentum_buffer"]
        momentum.lerp_(gradient, 1 - group["momentum"])
        update = gradient.lerp(momentum, group["momentum"]) if group["nesterov"] else momentum
        update = orthogonalized(update.float(), group["ns_coefficients"], group["ns_steps"], group["eps"])
        # Eq. 4 of arXiv 2502.16982: the update gets the root mean square that AdamW's usually has.
        rate = group["lr"] * 0.2 * max(weight.shape) ** 0.5
        weight.mul_(1 - group["lr"] * group["weight_decay"])
        weight.add_(update.to(weight.dtype), alpha=-rate)


def orthogonalized(matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float = 1e-7) -> Tensor:
    """Return a matrix of the same singular vectors whose singular values are near 1 (Newton-Schulz, arXiv 2502.16982).

    Args:
        matrix: [rows, columns].
        coefficients: of the odd polynomial of degree 5 that is applied to the singular values.
        steps: how often it is applied.
        eps: the least norm that is divided by.
    """
    first, third, fifth = coefficients
    tall = matrix.shape[0] > matrix.shape[1]
    # The product with the transpose is smallest when rows are the shorter side.
    result = matrix.T if tall else matrix
    result = result / result.norm().clamp(min=eps)
    for _ in range(steps):
        gram = result @ result.T
        result = torch.addmm(result, torch.addmm(gram, gram, gram, beta=third, alpha=fifth), result, beta=first)
    return result.T if tall else result
