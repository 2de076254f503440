"""The quality-latency curve: points read from folders, drawn with matplotlib or in the terminal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulmt.errors import SimulmtError, UsageError
from simulmt.evaluation.folder import LOG, RUN, SCORES, read_run
from simulmt.instance import read_log
from simulmt.scoring.scorer import score_instances

LATENCIES = ("AL", "LAAL")


@dataclass(frozen=True, slots=True)
class Point:
    """One setting of a system.

    Attributes:
        label: its folder's name.
        latency: by metric, in source units (ms for speech); metrics without a value are left out.
        quality: BLEU, 0-100.
    """

    label: str
    latency: dict[str, float]
    quality: float

    @property
    def full(self) -> bool:
        """True for the offline system, which is drawn as a level and not as a point of the curve."""
        return self.label == "full"


@dataclass(frozen=True, slots=True)
class Series:
    """The points of one system, by rising latency."""

    name: str
    points: tuple[Point, ...]


def read_series(folder: Path) -> Series:
    """Return the curve of a folder: of the settings' folders in it, or of one such folder.

    A folder that holds only an instance log (of SimulEval, say) is scored.

    Raises:
        UsageError: there is nothing to draw in it.
        SimulmtError: a file cannot be read.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder", "give the --output of a `simulmt evaluate`")
    candidates = [folder, *sorted(path for path in folder.iterdir() if path.is_dir())]
    found = [path for path in candidates if (path / SCORES).exists() or (path / LOG).exists()]
    series = _series(folder.resolve().name, [_point(path.name, _scores(path)) for path in found])
    if not series.points:
        raise UsageError(f"{folder} has no settings with BLEU and latency", "evaluate with --reference first")
    return series


def distinct(curves: Sequence[Series], folders: Sequence[Path]) -> list[Series]:
    """Return the curves with names that differ: those that are alike take the path given."""
    names = [curve.name for curve in curves]
    return [
        Series(str(folder) if names.count(curve.name) > 1 else curve.name, curve.points)
        for curve, folder in zip(curves, folders, strict=True)
    ]


def _series(name: str, points: Sequence[Point | None]) -> Series:
    known = [point for point in points if point is not None]
    return Series(name, tuple(sorted(known, key=lambda point: (point.full, min(point.latency.values())))))


def _point(label: str, scores: dict[str, Any]) -> Point | None:
    quality = scores.get("BLEU")
    latency = {name: float(scores[name]) for name in LATENCIES if scores.get(name) is not None}
    return Point(label, latency, float(quality)) if quality is not None and latency else None


def _scores(folder: Path) -> dict[str, Any]:
    path = folder / SCORES
    if not path.exists():
        return score_instances(list(read_log(folder / LOG)), system=folder.name).to_dict()
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SimulmtError(f"{path} cannot be read: {error}") from error
    if not isinstance(record, dict):
        raise SimulmtError(f"{path} is not a JSON object")
    return record


def unit_of(folders: Sequence[Path]) -> str:
    """Return what latency is counted in: the source unit that the configurations name, else words."""
    for folder in folders:
        for path in (folder, *sorted(folder.iterdir())):
            if (path / RUN).exists():
                return {"char": "characters"}.get(str(read_run(path).get("source_unit")), "words")
    return "words"


def draw(curves: Sequence[Series], stem: Path, unit: str = "words") -> list[Path]:
    """Draw BLEU over AL and over LAAL side by side; write `stem`.svg and `stem`.png and return their paths.

    Raises:
        ImportError: matplotlib is not installed.
        SimulmtError: a file cannot be written.
    """
    import matplotlib
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    panels = figure.subplots(1, len(LATENCIES), sharey=True)
    for panel, latency in zip(panels, LATENCIES, strict=True):
        for number, curve in enumerate(curves):
            _draw_curve(panel, curve, latency, f"C{number}")
        panel.set_xlabel(f"{latency} (source {unit})")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("BLEU")
    panels[0].legend(fontsize="small")
    paths = [stem.with_suffix(".svg"), stem.with_suffix(".png")]
    try:
        # The same results give the same file: no date, no random ids.
        with matplotlib.rc_context({"svg.hashsalt": "simulmt", "svg.fonttype": "none"}):
            figure.savefig(paths[0], metadata={"Date": None})
        figure.savefig(paths[1], dpi=150)
    except OSError as error:
        raise SimulmtError(f"{error.filename or stem} cannot be written: {error.strerror}") from error
    return paths


def _draw_curve(panel: Any, curve: Series, latency: str, colour: str) -> None:
    points = [point for point in curve.points if latency in point.latency and not point.full]
    x, y = [point.latency[latency] for point in points], [point.quality for point in points]
    panel.plot(x, y, marker="o", markersize=4, color=colour, label=curve.name)
    for point in points:
        at = (point.latency[latency], point.quality)
        panel.annotate(point.label, at, textcoords="offset points", xytext=(4, -9), fontsize="x-small", color=colour)
    for point in curve.points:
        if point.full:
            panel.axhline(point.quality, linestyle="--", linewidth=1, color=colour, label=f"{curve.name} (full)")
