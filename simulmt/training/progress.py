"""What a run tells while it goes on: a JSON-lines log, TensorBoard, and a line or a bar on stderr."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from simulmt.errors import SimulmtError

LOG = "train.jsonl"
PATIENCE = 1.0
"""Seconds after which a bar shows that something is being counted; a terminal has it anew as often."""
LINE_EVERY = 10.0
"""Seconds between lines that say so elsewhere."""
_LOOK = 256  # items between two looks at the clock

Item = TypeVar("Item")


class Track(Protocol):
    """Passes items through and shows how far it is: `Display.track`, or `untracked`."""

    def __call__(self, items: Iterable[Item], what: str, total: int | None = None) -> Iterable[Item]: ...


def untracked(items: Iterable[Item], what: str, total: int | None = None) -> Iterable[Item]:
    """Show nothing."""
    return items


class TrainingLog:
    """One JSON object a line; on resuming, what was logged after the checkpoint is dropped.

    Args:
        folder: where `train.jsonl` goes.
        step: of the checkpoint to go on from, None for a new run.
    """

    def __init__(self, folder: Path, step: int | None = None) -> None:
        path = folder / LOG
        kept = "" if step is None or not path.exists() else _until(path.read_text(encoding="utf-8"), step)
        path.write_text(kept, encoding="utf-8")
        self._file = path.open("a", encoding="utf-8")
        self._board: Any = None
        if find_spec("tensorboard") is not None:
            from torch.utils.tensorboard import SummaryWriter

            self._board = SummaryWriter(str(folder / "tensorboard"), purge_step=step)

    def write(self, **record: Any) -> None:
        """Log a record; numbers beside a `step` go to TensorBoard as well."""
        try:
            self._file.write(json.dumps(record, ensure_ascii=False) + "\n")
            self._file.flush()
        except OSError as error:
            raise SimulmtError(
                f"{self._file.name} cannot be written: {error.strerror}", "checkpoints are whole; go on with --resume"
            ) from error
        if self._board is not None and "step" in record:
            for key, value in record.items():
                if key != "step" and isinstance(value, (int, float)):
                    self._board.add_scalar(key, value, record["step"])

    def close(self) -> None:
        self._file.close()
        if self._board is not None:
            self._board.close()


def _until(text: str, step: int) -> str:
    lines = []
    for line in text.splitlines():
        try:
            record = json.loads(line)
        except ValueError:  # the line that was being written when the run was killed
            continue
        if record.get("step", 0) <= step:
            lines.append(line + "\n")
    return "".join(lines)


class Display:
    """Progress on stderr: a bar on a terminal, now and then a line elsewhere, nothing when `quiet`."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._valid: float | None = None
        self._bar: Progress | None = None
        if not quiet and sys.stderr.isatty():
            columns = (BarColumn(20), TaskProgressColumn(), TextColumn("{task.description}"))
            self._bar = Progress(*columns, console=Console(stderr=True), transient=False)
            self._task = self._bar.add_task("starting", total=1.0)

    def __enter__(self) -> Display:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def track(self, items: Iterable[Item], what: str, total: int | None = None) -> Iterable[Item]:
        """Pass `items` through; when they take long, show how many of `total` (None: unknown) have come, rate and ETA."""
        return items if self._quiet else self._tracked(items, what, total)

    def _tracked(self, items: Iterable[Item], what: str, total: int | None) -> Iterator[Item]:
        terminal = sys.stderr.isatty()
        start = shown = time.monotonic()
        columns = (TextColumn("{task.description}"), BarColumn(20))
        bar = Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False)
        task = bar.add_task(what, total=total)
        try:
            for count, item in enumerate(items):
                if count % _LOOK == 0 and (now := time.monotonic()) - shown >= (PATIENCE if terminal else LINE_EVERY):
                    shown = now
                    text = counted(what, count, total, now - start)
                    if terminal:
                        bar.start()
                        bar.update(task, completed=count, description=text, refresh=True)
                    else:
                        self.note(text)
                yield item
        finally:
            if bar.live.is_started:  # else stopping writes an empty line
                bar.stop()

    def step(self, step: int, progress: float, loss: float, speed: float, seconds: float) -> None:
        """Show how far the run is. `speed` in tokens/s, `seconds` since it began."""
        eta = seconds * (1 - progress) / progress if progress > 0 else None
        valid = "" if self._valid is None else f"  validation {self._valid:.3f}"
        text = f"step {step:,}  loss {loss:.3f}{valid}  {speed:,.0f} tokens/s  ETA {clock(eta)}"
        if self._bar is not None:
            self._bar.update(self._task, completed=min(progress, 1.0), description=text)
        else:
            self.note(f"{min(progress, 1.0):4.0%}  {text}")

    def validated(self, loss: float) -> None:
        """Show the validation loss from now on."""
        self._valid = loss

    def note(self, text: str) -> None:
        """Print a line."""
        if self._quiet:
            return
        if self._bar is not None:
            self._bar.console.print(text, highlight=False, markup=False)
        else:
            print(text, file=sys.stderr, flush=True)


def counted(what: str, count: int, total: int | None, seconds: float) -> str:
    """Return e.g. `tokenizing: 1,200 of 5,000 pairs, 400 a second, ETA 0:10`."""
    rate = count / seconds if seconds > 0 else 0.0
    if total is None:
        return f"{what}: {count:,} pairs, {rate:,.0f} a second"
    eta = (total - count) / rate if rate > 0 else None
    return f"{what}: {count:,} of {total:,} pairs, {rate:,.0f} a second, ETA {clock(eta)}"


def clock(seconds: float | None) -> str:
    """Return a duration as people write it, e.g. `1:05:09`; `?` if it is not known."""
    if seconds is None:
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
