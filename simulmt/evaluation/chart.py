"""The quality-latency curve in characters, for a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence

from simulmt.evaluation.curve import Point, Series

MARKS = "ox+*#@%&"
_TICKS = 5


def chart(curves: Sequence[Series], latency: str = "AL", width: int = 64, height: int = 16, unit: str = "words") -> str:
    """Return BLEU over `latency`: one mark per point, and a dashed level for each offline system.

    Args:
        curves: what to draw.
        latency: `AL` or `LAAL`.
        width, height: of the plot area, in characters.
        unit: what latency is counted in.
    """
    points = [point for curve in curves for point in curve.points if point.full or latency in point.latency]
    places = [point.latency[latency] for point in points if not point.full] or [0.0]
    x_low, x_high = _range(places)
    y_low, y_high = _range([point.quality for point in points] or [0.0])
    rows = [[" "] * width for _ in range(height)]

    def row_of(point: Point) -> int:
        return height - 1 - round((point.quality - y_low) / (y_high - y_low) * (height - 1))

    for point in points:
        if point.full:
            row = rows[row_of(point)]
            row[::2] = ["-"] * len(row[::2])
    for curve, mark in zip(curves, _marks(len(curves)), strict=True):
        for point in curve.points:
            if not point.full and latency in point.latency:
                column = round((point.latency[latency] - x_low) / (x_high - x_low) * (width - 1))
                rows[row_of(point)][column] = mark
    return "\n".join(_framed(rows, (x_low, x_high), (y_low, y_high), f"{latency} (source {unit})") + _key(curves))


def _range(values: Sequence[float]) -> tuple[float, float]:
    """Return whole numbers around the values, at least 1 apart."""
    low, high = math.floor(min(values)), math.ceil(max(values))
    return float(low), float(max(high, low + 1))


def _marks(count: int) -> list[str]:
    return [MARKS[number % len(MARKS)] for number in range(count)]


def _framed(rows: list[list[str]], x: tuple[float, float], y: tuple[float, float], title: str) -> list[str]:
    height, width = len(rows), len(rows[0])
    ticks = {round(i * (height - 1) / (_TICKS - 1)): y[1] - i * (y[1] - y[0]) / (_TICKS - 1) for i in range(_TICKS)}
    lines = ["BLEU"]
    for number, row in enumerate(rows):
        tick = f"{ticks[number]:6.1f} ┤" if number in ticks else "       │"
        lines.append((tick + "".join(row)).rstrip())
    lines.append("       └" + "─" * width)
    left, right = f"{x[0]:g}", f"{x[1]:g}"
    lines.append("        " + left + title.center(width - len(left) - len(right)) + right)
    return lines


def _key(curves: Sequence[Series]) -> list[str]:
    lines = []
    for curve, mark in zip(curves, _marks(len(curves)), strict=True):
        labels = " ".join(point.label for point in curve.points if not point.full)
        level = next((f"  - full {point.quality:.1f}" for point in curve.points if point.full), "")
        lines.append(f"        {mark} {curve.name}: {labels}{level}")
    return lines
