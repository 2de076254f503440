"""The user's own models: checked, copied into the user data folder, removed, described. Needs no torch."""

from __future__ import annotations

import json
import math
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulmt.errors import SimulmtError, UsageError
from simulmt.model.catalog import Card, Entry, entries, find, user_folder

_PICKLES = {".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"}
_NAME = re.compile(r"\w[\w.-]*")


@dataclass(frozen=True, slots=True)
class Addition:
    """A model that was added.

    Attributes:
        entry: the model.
        left_out: files and folders of the original that were not copied: pickles, hidden files, subfolders.
    """

    entry: Entry
    left_out: list[str]


def add(folder: Path, name: str | None = None, overwrite: bool = False) -> Addition:
    """Copy a model folder into the user's models; it is there whole or not at all.

    Args:
        folder: with config.json and *.safetensors.
        name: under which it is found; None takes the folder's.
        overwrite: replace a user's model of that name.

    Raises:
        UsageError: the name has other characters than letters, digits, `_`, `-` and `.`, or is taken.
        SimulmtError: not a model folder, weights as pickles only, or it can't be copied.
    """
    name = folder.resolve().name if name is None else name
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot be a model's name", "use letters, digits, '_', '-' and '.', no '.' in front")
    check(folder)
    target = user_folder() / name
    if target.exists() and not overwrite:
        raise UsageError(f"there is a model {name!r} already ({target})", "choose another --name, or --overwrite")
    try:
        return Addition(Entry(name, target, False), _copy(folder, target))
    except OSError as error:
        raise SimulmtError(f"{folder} cannot be copied to {target}: {error.strerror or error}") from error


def remove(name: str) -> Path:
    """Remove a user's model; return the folder it was in.

    Raises:
        UsageError: a model that came with the package.
        SimulmtError: no such model, or it can't be removed.
    """
    entry = known(name)
    if entry.shipped:
        raise UsageError(f"model {name!r} came with simulmt and cannot be removed")
    try:
        grave = Path(tempfile.mkdtemp(prefix=".remove-", dir=entry.path.parent))
        entry.path.rename(grave / name)  # gone from the list at once, whatever happens while files are deleted
        shutil.rmtree(grave)
    except OSError as error:
        raise SimulmtError(f"{entry.path} cannot be removed: {error.strerror}") from error
    return entry.path


def known(name: str) -> Entry:
    """Return the model called `name`.

    Raises:
        SimulmtError: there is none; names those there are.
    """
    entry = find(name)
    if entry is None:
        raise SimulmtError(f"no model {name!r}", f"choose one of: {', '.join(entry.name for entry in entries())}")
    return entry


def check(folder: Path) -> None:
    """Raise SimulmtError unless `folder` is a model that can be loaded, as far as can be seen without loading it."""
    if not folder.is_dir():
        raise SimulmtError(f"{folder} is not a folder", "give the folder of a model")
    if not (folder / "config.json").exists():
        adapter = (folder / "adapter_config.json").exists()
        hint = "it is an adapter: give it to --adapter as it is" if adapter else "it is not a model folder"
        raise SimulmtError(f"{folder} has no config.json", hint)
    _read_json(folder / "config.json")
    Card.load(folder)
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        pickles = sorted(path.name for path in folder.iterdir() if path.suffix in _PICKLES)
        what = (
            f"holds its weights as {pickles[0]}, a pickle, which can run code when loaded"
            if pickles
            else "has no weights"
        )
        raise SimulmtError(f"{folder} {what}", "convert it to safetensors with transformers' save_pretrained")
    for path in weights:
        tensors(path)


def describe(entry: Entry) -> dict[str, Any]:
    """Return what can be told of a model: its place, size, architecture, and its card.

    Raises:
        SimulmtError: a file of it is broken.
    """
    config = _read_json(entry.path / "config.json")
    card = entry.card
    parts = [tensors(path) for path in sorted(entry.path.glob("*.safetensors"))]
    formats = sorted({tensor["dtype"] for part in parts for tensor in part.values()})
    return {
        "name": entry.name,
        "path": str(entry.path),
        "kind": "shipped" if entry.shipped else "user",
        "languages": card.pair,
        "architecture": (config.get("architectures") or [config.get("model_type", "unknown")])[0],
        "parameters": sum(math.prod(tensor["shape"]) for part in parts for tensor in part.values()),
        "format": ", ".join(formats),
        "bytes": sum(path.stat().st_size for path in entry.path.iterdir() if path.is_file()),
        "phi": card.phi,
        **card.extra,
    }


def tensors(path: Path) -> dict[str, dict[str, Any]]:
    """Return the header of a safetensors file: for each tensor its `dtype` and `shape`.

    Raises:
        SimulmtError: it is not a whole safetensors file.
    """
    try:
        with path.open("rb") as data:
            size = int.from_bytes(data.read(8), "little")
            if size > path.stat().st_size - 8:
                raise ValueError("it is cut")
            header = json.loads(data.read(size))
        header.pop("__metadata__", None)
        end = max((tensor["data_offsets"][1] for tensor in header.values()), default=0)
        if path.stat().st_size != 8 + size + end:
            raise ValueError("it is cut")
    except OSError as error:
        raise SimulmtError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SimulmtError(f"{path} is not a safetensors file: {error}") from error
    return header  # type: ignore[no-any-return]


def _copy(folder: Path, target: Path) -> list[str]:
    """Copy into a hidden folder beside the target, then rename it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".add-", dir=target.parent) as place:
        copy = Path(place) / "new"
        copy.mkdir()
        left_out = []
        for path in sorted(folder.iterdir()):
            if path.is_file() and path.suffix not in _PICKLES and not path.name.startswith("."):
                shutil.copyfile(path, copy / path.name)
            else:
                left_out.append(path.name)
        if target.exists():
            target.rename(Path(place) / "old")
        copy.rename(target)
    return left_out


def _read_json(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SimulmtError(f"{path} is not JSON: {error}") from error
    if not isinstance(record, dict):
        raise SimulmtError(f"{path} is not a JSON object")
    return record
