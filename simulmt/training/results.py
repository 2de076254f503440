"""What a run leaves behind: weights, `simulmt.json`, and a model card for people."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from simulmt import __version__
from simulmt.errors import SimulmtError, UsageError
from simulmt.model.catalog import CARD, Card

CHECKPOINTS = "checkpoints"
RUN = "run.json"
"""The options of the run, so that `--resume` needs none of them again."""


def open_output(folder: Path, *, resume: bool, overwrite: bool) -> None:
    """Make the output folder.

    Raises:
        UsageError: it holds something already, or nothing to resume.
        SimulmtError: it cannot be made.
    """
    try:
        if overwrite and _is_run(folder):
            shutil.rmtree(folder)
        occupied = folder.exists() and (not folder.is_dir() or any(folder.iterdir())) and not _has_begun_only(folder)
        if occupied and not (resume or overwrite):
            raise UsageError(f"{folder} is not empty", "--resume goes on with its run, --overwrite begins anew")
        if occupied and not _is_run(folder):
            raise UsageError(f"{folder} was not made by a training run", "choose another --output")
        if resume and (folder / CARD).exists():
            raise UsageError(f"{folder} is finished, there is nothing to resume", "--overwrite begins anew")
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SimulmtError(f"{folder} cannot be written: {error.strerror}", "choose another --output") from error


def _is_run(folder: Path) -> bool:
    return (folder / RUN).exists()


def _has_begun_only(folder: Path) -> bool:
    """True for a run that has saved nothing yet: its command failed early, and a corrected one may take its place."""
    return _is_run(folder) and not (folder / CARD).exists() and not (folder / CHECKPOINTS).exists()


def publish(folder: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a temporary folder, then move its files into `folder`: there are whole results or none.

    Raises:
        SimulmtError: no space or no permission.
    """
    temporary = folder / ".result.tmp"
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        write(temporary)
        for path in sorted(temporary.iterdir()):
            path.chmod(0o644)  # some writers make files that only their owner can read
            os.replace(path, folder / path.name)
        temporary.rmdir()
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        raise SimulmtError(
            f"the result cannot be written to {folder}: {error.strerror}", "make space, then --resume"
        ) from error


def versions() -> dict[str, str]:
    """Return the versions of what a result depends on."""
    import peft
    import torch
    import transformers

    return {
        "simulmt": __version__,
        "torch": str(torch.__version__),
        "transformers": str(transformers.__version__),
        "peft": str(peft.__version__),
        "python": platform.python_version(),
    }


def write_cards(folder: Path, card: Card, title: str, usage: str) -> None:
    """Write `simulmt.json` and README.md."""
    card.save(folder)
    (folder / "README.md").write_text(_readme(card, title, usage), encoding="utf-8")


def _readme(card: Card, title: str, usage: str) -> str:
    extra = card.extra
    head = ["---", "language:", f"- {card.source}", f"- {card.target}", "library_name: simulmt"]
    if card.base is not None and not Path(card.base).exists():
        head.append(f"base_model: {card.base}")
    lines = [*head, "pipeline_tag: translation", "---", "", f"# {title}", ""]
    lines += ["Simultaneous translation in group layout, made by simulmt.", "", "```sh", usage, "```", ""]
    if extra.get("bleu"):
        lines += _score_table(extra["bleu"], extra.get("validation_pairs", 0))
    lines += ["| | |", "|---|---|"]
    lines += [f"| {name} | {_cell(value)} |" for name, value in _facts(card).items()]
    return "\n".join(lines) + "\n"


def _score_table(bleu: dict[str, float], pairs: int) -> list[str]:
    names, values = " | ".join(f"k = {lag}" for lag in bleu), " | ".join(f"{score:.2f}" for score in bleu.values())
    return [f"BLEU on {pairs:,} validation pairs:", "", f"| {names} |", "|" + "---|" * len(bleu), f"| {values} |", ""]


def _facts(card: Card) -> dict[str, Any]:
    facts: dict[str, Any] = {"languages": f"{card.source} → {card.target}", "base": card.base, "φ": card.phi}
    facts |= {key.replace("_", " "): value for key, value in card.extra.items() if key not in ("bleu", "layout")}
    return {key: value for key, value in facts.items() if value is not None}


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {part}" for key, part in value.items())
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
