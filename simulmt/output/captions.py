"""Captions in SRT and WebVTT: cues of at most two lines of 42 characters, timed by emission."""

from __future__ import annotations

from typing import TextIO

from rich.cells import cell_len, chop_cells

from simulmt.emission import Emission, SegmentEnd
from simulmt.output.base import write_now

LINE_WIDTH = 42
LINES = 2
SHORTEST = 1.0
"""Seconds a cue stays at least."""


class CaptionSink:
    """Collects units into cues; a cue is written when the next unit does not fit it, or its segment ends.

    A cue starts when its first unit was written and ends when its last one was, but lasts at least `SHORTEST` seconds unless
    the next cue starts before: cues never overlap. So a cue is written when the next one starts. Time runs from the arrival
    of the first source word. A unit wider than a line is cut.
    """

    def __init__(self, stream: TextIO, form: str) -> None:
        self._stream = stream
        self._form = form
        self._lines: list[str] = []
        self._begin = self._finish = 0.0
        self._held: tuple[float, float, str] | None = None
        self._number = 0
        if form == "vtt":
            write_now(stream, "WEBVTT\n\n")

    def emit(self, emission: Emission) -> None:
        for number, piece in enumerate(chop_cells(emission.text, LINE_WIDTH)):
            self._add(piece, emission.space and number == 0, emission.emitted)

    def _add(self, text: str, space: bool, moment: float) -> None:
        if self._lines and not self._fits(text, space):
            self._close_cue()
        if not self._lines:
            self._begin = moment
            self._lines = [text]
            self._release(before=moment)
        self._finish = moment

    def _fits(self, text: str, space: bool) -> bool:
        """Add text to the cue if it fits, on a new line if need be."""
        longer = self._lines[-1] + (" " if space else "") + text
        if cell_len(longer) <= LINE_WIDTH:
            self._lines[-1] = longer
        elif len(self._lines) < LINES:
            self._lines.append(text)
        else:
            return False
        return True

    def end(self, segment: SegmentEnd) -> None:
        if self._lines:
            self._close_cue()

    def close(self) -> None:
        if self._lines:
            self._close_cue()
        self._release(before=None)

    def _close_cue(self) -> None:
        self._release(before=self._begin)
        self._held = (self._begin, self._finish, "\n".join(self._lines))
        self._lines = []

    def _release(self, before: float | None) -> None:
        if self._held is None:
            return
        begin, finish, text = self._held
        finish = max(finish, begin + SHORTEST)
        if before is not None:
            finish = max(min(finish, before), begin)
        self._held = None
        self._number += 1
        head = f"{self._number}\n" if self._form == "srt" else ""
        write_now(self._stream, f"{head}{self._stamp(begin)} --> {self._stamp(finish)}\n{self._escape(text)}\n\n")

    def _stamp(self, seconds: float) -> str:
        total = max(0, round(seconds * 1000))
        hours, rest = divmod(total, 3_600_000)
        minutes, rest = divmod(rest, 60_000)
        whole, ms = divmod(rest, 1000)
        return f"{hours:02}:{minutes:02}:{whole:02}{',' if self._form == 'srt' else '.'}{ms:03}"

    def _escape(self, text: str) -> str:
        if self._form == "srt":
            return text
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
