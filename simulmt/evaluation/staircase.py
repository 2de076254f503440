"""The READ/WRITE staircase of one sentence: how far ahead of each target unit the source was read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from simulmt.errors import SimulmtError
from simulmt.instance import Instance, read_log
from simulmt.text.events import Unit
from simulmt.text.units import split_units


def actions(delays: Sequence[float], source_length: float) -> str:
    """Return the actions as letters, e.g. `RRRWRWW`; source read after the last write is READ at the end."""
    letters, read = [], 0
    for delay in delays:
        letters.append("R" * (int(delay) - read) + "W")
        read = max(read, int(delay))
    return "".join(letters) + "R" * (int(source_length) - read)


def staircase(instance: Instance, source: Sequence[str], target: Sequence[str]) -> str:
    """Return the staircase in characters: a row for each target unit, a column for each source unit read.

    A row shows what had been read when its unit was written; `█` is what was read for it anew.

    Args:
        instance: the record, with delays in source units.
        source, target: its units.
    """
    length = int(instance.source_length)
    width = max([len(unit) for unit in target] + [6])
    head = [f"{number:>5}  {unit}" for number, unit in enumerate(source, 1)]
    rows, read = [], 0
    for unit, delay in zip(target, instance.delays, strict=False):
        new = int(delay)
        rows.append(f"{new:>5}  {unit:<{width}}  " + "░" * read + "█" * (new - read) + "·" * (length - new))
        read = max(read, new)
    return "\n".join(
        [
            f"sentence {instance.index}: {length} source units, {len(target)} target units",
            f"actions  {actions(instance.delays, length)}",
            "",
            " READ  source",
            *head,
            "",
            f"delay  {'target':<{width}}  read",
            *rows,
        ]
    )


def draw_staircase(instance: Instance, source: Sequence[str], target: Sequence[str], path: Path) -> None:
    """Draw the staircase with matplotlib: source units across, target units down.

    Raises:
        ImportError: matplotlib is not installed.
        SimulmtError: the file cannot be written, or matplotlib does not know its suffix.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2 + 0.45 * len(source), 1.5 + 0.3 * len(target)), layout="constrained")
    axes: Any = figure.subplots()
    x, y = [0.0], [-0.5]
    for row, delay in enumerate(instance.delays):
        x += [float(delay), float(delay)]
        y += [row - 0.5, row + 0.5]
    axes.plot(x, y, color="C0")
    axes.set_xticks([number + 0.5 for number in range(len(source))], source, rotation=60, ha="right")
    axes.set_yticks(range(len(target)), target)
    axes.set_xlim(0, max(len(source), 1))
    axes.set_ylim(len(target) - 0.5, -0.5)
    axes.grid(alpha=0.3)
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:
        raise SimulmtError(f"{path} cannot be written: {error}") from error


def find(log: Path, index: int | None) -> Instance:
    """Return the instance of a log with this index, the first one if None.

    Raises:
        SimulmtError: there is none; names those there are.
    """
    instances = {instance.index: instance for instance in read_log(log)}
    if not instances:
        raise SimulmtError(f"{log} holds no instances")
    if index is None:
        return next(iter(instances.values()))
    if index not in instances:
        known = f"it has {len(instances)}, from {min(instances)} to {max(instances)}"
        raise SimulmtError(f"{log} has no sentence {index}", known)
    return instances[index]


def units_of(instance: Instance, unit: str | None = None) -> tuple[list[str], list[str]]:
    """Return the source and target units of an instance.

    Args:
        instance: the record.
        unit: of the target, `word` or `char`; None takes the one of which there are as many as delays.

    Raises:
        SimulmtError: the log is of speech, or neither unit fits.
    """
    if instance.source is None:
        raise SimulmtError(
            f"sentence {instance.index} has no source text", "a staircase needs the log of text translation"
        )
    kinds: tuple[Unit, ...] = ("word", "char")
    source = _first_of_length(instance.source, int(instance.source_length), kinds)
    wanted = kinds if unit is None else (kinds[unit == "char"],)
    return source, _first_of_length(instance.prediction, len(instance.delays), wanted)


def _first_of_length(text: str, length: int, kinds: Sequence[Unit]) -> list[str]:
    counts = []
    for kind in kinds:
        units = split_units(text, kind)
        if len(units) == length:
            return units
        counts.append(f"{len(units)} as {kind}")
    raise SimulmtError(f"the log counts {length} units in {text[:40]!r}, which has {', '.join(counts)}")
