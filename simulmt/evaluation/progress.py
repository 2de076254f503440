"""How far an evaluation is, on stderr: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, TextIO

INTERVAL = 10.0
"""Seconds between two lines where there is no terminal."""


class Progress(Protocol):
    """Told of each setting's start, each sentence, and the end."""

    def start(self, label: str, total: int, done: int) -> None:
        """Begin a setting of `total` sentences of which `done` are done already."""
        ...

    def advance(self) -> None:
        """Count one sentence."""
        ...

    def finish(self) -> None:
        """End the setting."""
        ...

    def __enter__(self) -> Progress: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Silent:
    """Shows nothing."""

    def start(self, label: str, total: int, done: int) -> None:
        pass

    def advance(self) -> None:
        pass

    def finish(self) -> None:
        pass

    def __enter__(self) -> Silent:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


class Lines(Silent):
    """Plain lines: one at the end of a setting and one each INTERVAL seconds before."""

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream or sys.stderr
        self._clock = clock
        self._label = ""
        self._total = self._before = self._done = 0
        self._began = self._shown = 0.0

    def start(self, label: str, total: int, done: int) -> None:
        self._label, self._total, self._before, self._done = label, total, done, done
        self._began = self._shown = self._clock()
        if done:
            self._print(f"{done} of {total} sentences were done before")

    def advance(self) -> None:
        self._done += 1
        if self._clock() - self._shown >= INTERVAL:
            self._shown = self._clock()
            left = (self._total - self._done) / self.rate
            self._print(f"{self._done} of {self._total} sentences, {self.rate:.1f} a second, {duration(left)} left")

    def finish(self) -> None:
        if self._done > self._before:
            seconds = self._clock() - self._began
            self._print(f"{self._done} sentences, {self.rate:.1f} a second, {duration(seconds)}")

    @property
    def rate(self) -> float:
        """Sentences a second of this run."""
        return (self._done - self._before) / max(self._clock() - self._began, 1e-9)

    def _print(self, text: str) -> None:
        print(f"{self._label}: {text}", file=self._stream, flush=True)


class Bar:
    """A rich progress bar for each setting."""

    def __init__(self) -> None:
        from rich import progress
        from rich.console import Console

        self._bar = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TextColumn("{task.fields[rate]}"),
            progress.TimeElapsedColumn(),
            progress.TextColumn("ETA"),
            progress.TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self._began = time.monotonic()
        self._new = 0

    def start(self, label: str, total: int, done: int) -> None:
        self._task = self._bar.add_task(label, total=total, completed=done, rate="")
        self._began, self._new = time.monotonic(), 0

    def advance(self) -> None:
        self._new += 1
        rate = self._new / max(time.monotonic() - self._began, 1e-9)
        self._bar.update(self._task, advance=1, rate=f"{rate:.1f} sentences/s")

    def finish(self) -> None:
        self._bar.stop_task(self._task)

    def __enter__(self) -> Bar:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()


def progress_for(stream: TextIO | None = None) -> Progress:
    """Return a Bar if `stream` (stderr) is a terminal, else Lines."""
    stream = stream or sys.stderr
    return Bar() if stream.isatty() else Lines(stream)


def duration(seconds: float) -> str:
    """Return e.g. `42 s`, `3 min 05 s`, `2 h 10 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"
