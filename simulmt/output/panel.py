"""The live panel on a terminal: source and target so far, and how far behind."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from simulmt.emission import Emission, SegmentEnd
from simulmt.output.statistics import Statistics

REDRAWS = 10
"""Redraws a second, at most."""

MARGIN = 2
"""Columns left free beside the panel for the ^C that a terminal shows: it must not wrap, or the panel could not be wiped."""

RATE_WINDOW = 30.0
"""Seconds over which words a minute are counted."""


class Progress(Protocol):
    """What the panel asks of the stream each time it is drawn."""

    def source(self) -> tuple[list[str], int]:
        """Return the present segment's source words and how many of them have been read."""
        ...

    @property
    def backlog(self) -> int:
        """How many source words wait to be read."""
        ...


class Waiting(Protocol):
    """What the panel asks of the reader."""

    @property
    def backlog(self) -> int:
        """How many source words wait to be taken."""
        ...


@dataclass
class Rate:
    """Events a minute over the last RATE_WINDOW seconds."""

    times: deque[float] = field(default_factory=deque)

    def add(self, moment: float) -> None:
        self.times.append(moment)
        while self.times[0] < moment - RATE_WINDOW:
            self.times.popleft()

    def per_minute(self, now: float) -> float:
        recent = [moment for moment in self.times.copy() if moment >= now - RATE_WINDOW]  # drawn by another thread
        span = max(1.0, now - recent[0]) if recent else 1.0
        return len(recent) * 60 / span


class PanelSink:
    """Draws the panel on stderr.

    When stdout is the same terminal, finished segments scroll by above the panel and `owns_text` is true: nothing else may
    then write the words. A terminal that can't be redrawn must not get this sink.
    """

    def __init__(self, console: Console, label: str, statistics: Statistics, owns_text: bool) -> None:
        self._console = console
        self._label = label
        self._statistics = statistics
        self._owns_text = owns_text
        self._progress: Progress | None = None
        self._reader: Waiting | None = None
        self._target: list[str] = []
        self._words_out = Rate()
        self._words_in = Rate()
        self._seen_in = 0
        self._note = "loading the model"
        self._live = Live(self, console=console, refresh_per_second=REDRAWS, transient=True, redirect_stdout=False)
        self._live.start()

    def attach(self, progress: Progress, reader: Waiting | None = None) -> None:
        """Start to show the stream's progress, and what waits in the reader before it."""
        self._progress, self._reader = progress, reader
        self._note = ""

    def heard(self, words: int, now: float) -> None:
        """Count source words that came."""
        for _ in range(words):
            self._words_in.add(now)

    def emit(self, emission: Emission) -> None:
        self._target.append((" " if emission.space else "") + emission.text)
        self._words_out.add(time.monotonic())

    def end(self, segment: SegmentEnd) -> None:
        self._target = []
        if self._owns_text:
            self._console.print(Text(segment.instance.prediction))

    def close(self) -> None:
        unfinished, self._target = self._target, []
        if self._owns_text and unfinished:
            self._console.print(Text("".join(unfinished)))
        self._live.stop()

    def __rich__(self) -> RenderableType:
        rows = Table.grid(padding=(0, 1))
        rows.add_column(style="bold", no_wrap=True)
        rows.add_column(overflow="fold")
        rows.add_row("source", self._source_text())
        rows.add_row("target", self._tail(Text("".join(self._target), style="green")))
        width = max(1, self._console.width - MARGIN)
        return Panel(
            Group(rows, self._numbers()), title=self._label, title_align="left", border_style="dim", width=width
        )

    def _source_text(self) -> Text:
        if self._progress is None:
            return Text(self._note, style="dim italic")
        words, read = self._progress.source()
        covered = max(0, min(read, len(self._target)))
        text = Text(" ".join(words[:covered]))
        waiting = " ".join(words[covered:])
        if waiting:
            text.append((" " if covered else "") + waiting, style="yellow underline")
        return self._tail(text)

    def _tail(self, text: Text) -> Text:
        """Keep what fits three lines, from the end."""
        room = max(8, self._console.width - MARGIN - 14) * 3
        if text.cell_len > room:
            text = Text("…") + text[-room // 2 :] if text.cell_len > len(text) else Text("…") + text[-room + 1 :]
        return text

    def _numbers(self) -> Text:
        statistics, now = self._statistics, time.monotonic()
        read = self._progress.source()[1] if self._progress else 0
        parts = [
            f"behind {max(0, read - len(self._target))}",
            f"AL {_number(statistics.lagging('AL'), 1)}",
            f"LAAL {_number(statistics.lagging('LAAL'), 1)}",
            f"ms/word {_number(statistics.compute.at(0.5))} (p95 {_number(statistics.compute.at(0.95))})",
            f"words/min in {self._words_in.per_minute(now):.0f} out {self._words_out.per_minute(now):.0f}",
            f"backlog {sum(part.backlog for part in (self._progress, self._reader) if part)}",
        ]
        return Text(" · ".join(parts), style="dim")


def _number(value: float | None, digits: int = 0) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
