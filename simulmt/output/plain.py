"""Plain text: one line a segment, word by word."""

from __future__ import annotations

from typing import TextIO

from simulmt.emission import Emission, SegmentEnd
from simulmt.output.base import write_now


class PlainSink:
    """Writes each unit as it comes and a line break at the end of its segment."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def emit(self, emission: Emission) -> None:
        write_now(self._stream, (" " if emission.space else "") + emission.text)

    def end(self, segment: SegmentEnd) -> None:
        write_now(self._stream, "\n")

    def close(self) -> None:
        pass
