"""Checkpoints: everything a run needs to go on, written so that a crash at any moment leaves the one before whole.

A checkpoint is a folder `step-N` with `weights.safetensors` (what is trained), `optimizer.safetensors`,
`random.safetensors` (states of the generators), perhaps `best.safetensors`, and `state.json`. It is written under
another name, flushed to the disk, and renamed.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from simulmt.errors import SimulmtError

KEPT = 2
"""Checkpoints kept."""
STABLE = "stable"
"""Name of the checkpoint taken when the decay begins: the one to go on from with more data."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What is saved.

    Attributes:
        state: numbers and texts: step, place in the data, elapsed time, the options of the run.
        tensors: file stem → name → tensor.
    """

    state: dict[str, Any]
    tensors: Mapping[str, Mapping[str, Tensor]]


class DiskFull(SimulmtError):
    """Nothing more can be written; what was written before is whole."""


def save_checkpoint(folder: Path, checkpoint: Checkpoint, name: str | None = None) -> Path:
    """Write a checkpoint into `folder` and remove all but the last KEPT; return where it is.

    Raises:
        DiskFull: no space. Whatever was there before is untouched.
    """
    name = name or f"step-{checkpoint.state['step']:08d}"
    temporary = folder / f".{name}.tmp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        _write(temporary, checkpoint)
        place = folder / name
        if place.exists():
            shutil.rmtree(place)
        os.replace(temporary, place)
        _flush(folder)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(temporary, ignore_errors=True)
        raise _disk_error(error, folder) from error
    for old in steps(folder)[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    return place


def _write(folder: Path, checkpoint: Checkpoint) -> None:
    for stem, tensors in checkpoint.tensors.items():
        path = folder / f"{stem}.safetensors"
        save_file({key: value.detach().cpu().contiguous() for key, value in tensors.items()}, path)
        _flush(path)
    path = folder / "state.json"
    path.write_text(json.dumps(checkpoint.state, indent=1), encoding="utf-8")
    _flush(path)
    _flush(folder)


def _flush(path: Path) -> None:
    """Make sure that a file's content, or a folder's list of files, is on the disk."""
    if path.is_dir() and os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _disk_error(error: Exception, folder: Path) -> SimulmtError:
    number = getattr(error, "errno", None)
    full = number in (errno.ENOSPC, errno.EDQUOT) or "No space left" in str(error) or "os error 28" in str(error)
    kept = steps(folder) if folder.is_dir() else []
    hint = f"{kept[-1]} is whole, go on from it with --resume" if kept else "no checkpoint was written yet"
    if full:
        return DiskFull(f"no space left on the disk of {folder}", f"make space; {hint}")
    return SimulmtError(f"checkpoint cannot be written to {folder}: {error}", hint)


def steps(folder: Path) -> list[Path]:
    """Return the checkpoints in `folder`, oldest first."""
    return sorted(folder.glob("step-*")) if folder.is_dir() else []


def load_checkpoint(place: Path) -> Checkpoint:
    """Read a checkpoint.

    Raises:
        SimulmtError: a file is missing or damaged.
    """
    try:
        state = json.loads((place / "state.json").read_text(encoding="utf-8"))
        tensors = {path.stem: load_file(path) for path in sorted(place.glob("*.safetensors"))}
    except (OSError, ValueError, SafetensorError) as error:
        raise SimulmtError(
            f"checkpoint {place} cannot be read: {error}", "remove it to go on from the one before"
        ) from error
    return Checkpoint(state, tensors)
