"""Where a model runs."""

from __future__ import annotations

import torch

from simulmt.errors import UsageError


def find_device(name: str | None) -> torch.device:
    """Return the device called `name`, by default a GPU if there is one.

    Raises:
        UsageError: no such device here.
    """
    if name is None:
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0] if str(error) else "it is not there"
        raise UsageError(f"--device {name!r} cannot be used: {reason}", "e.g. cpu, cuda, cuda:1, mps") from error
    return device
