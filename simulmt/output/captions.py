"""Captions in SRT and WebVTT: cues of at most two lines of 42 characters, timed by emission."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TextIO

from rich.cells import cell_len, chop_cells

from simulmt.emission import Emission, SegmentEnd
from simulmt.output.base import write_now

LINE_WIDTH = 42
LINES = 2
SHORTEST = 1000
"""Milliseconds a cue stays at least."""


@dataclass
class _Cue:
    """Times in ms from the arrival of the first source word."""

    begin: int
    end: int
    lines: list[str]


class CaptionSink:
    """Collects units into cues; a cue is written when the next unit does not fit it, or its segment ends.

    A cue starts when its first unit was written and ends when its last one was, but lasts at least `SHORTEST` unless the
    next cue starts before: cues never overlap. So one that is shorter is held until the next one starts or its time is
    over. Where two would start at once, the first still lasts a millisecond. Time runs from the arrival of the first
    source word. A unit wider than a line is cut.
    """

    def __init__(self, stream: TextIO, form: str) -> None:
        self._stream = stream
        self._form = form
        self._open: _Cue | None = None
        self._held: _Cue | None = None
        self._number = 0
        self._written_to = 0  # end of the last cue written

    def emit(self, emission: Emission) -> None:
        for number, piece in enumerate(chop_cells(emission.text, LINE_WIDTH)):
            self._add(piece, emission.space and number == 0, max(0, round(emission.emitted * 1000)))

    def _add(self, text: str, space: bool, moment: int) -> None:
        if self._open is not None and not _fits(self._open.lines, text, space):
            self._hold(self._open)
        if self._open is None:
            self._release(before=moment)
            self._open = _Cue(max(moment, self._written_to), moment, [text])
        self._open.end = max(moment, self._open.begin)

    def end(self, segment: SegmentEnd) -> None:
        if self._open is not None:
            self._hold(self._open)

    def passed(self, now: float) -> None:
        """Write the cue held if it has been shown long enough."""
        if self._held is not None and now * 1000 >= self._held.begin + SHORTEST:
            self._release()

    def close(self) -> None:
        if self._open is not None:
            self._hold(self._open)
        self._release()
        if self._number == 0:
            self._begin()

    def _hold(self, cue: _Cue) -> None:
        self._release(before=cue.begin)
        self._held, self._open = cue, None
        if cue.end >= cue.begin + SHORTEST:
            self._release()

    def _release(self, before: int | None = None) -> None:
        """Write the cue held, its end no later than `before`."""
        cue, self._held = self._held, None
        if cue is None:
            return
        end = max(cue.end, cue.begin + SHORTEST)
        if before is not None:
            end = max(min(end, before), cue.begin + 1)
        self._written_to = end
        if self._number == 0:
            self._begin()
        self._number += 1
        head = f"{self._number}\n" if self._form == "srt" else ""
        text = self._escape("\n".join(cue.lines))
        write_now(self._stream, f"{head}{self._stamp(cue.begin)} --> {self._stamp(end)}\n{text}\n\n")

    def _begin(self) -> None:
        if self._form == "vtt":
            write_now(self._stream, "WEBVTT\n\n")

    def _stamp(self, total: int) -> str:
        hours, rest = divmod(total, 3_600_000)
        minutes, rest = divmod(rest, 60_000)
        whole, ms = divmod(rest, 1000)
        return f"{hours:02}:{minutes:02}:{whole:02}{',' if self._form == 'srt' else '.'}{ms:03}"

    def _escape(self, text: str) -> str:
        if self._form == "srt":
            return text
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _fits(lines: list[str], text: str, space: bool) -> bool:
    """Add text to the lines of a cue if it fits, on a new line if need be."""
    longer = lines[-1] + (" " if space else "") + text
    if cell_len(longer) <= LINE_WIDTH:
        lines[-1] = longer
    elif len(lines) < LINES:
        lines.append(text)
    else:
        return False
    return True
