"""The instance log of `--log`: one JSON line a segment, readable by SimulEval and OmniSTEval."""

from __future__ import annotations

from pathlib import Path

from simulmt.emission import Emission, SegmentEnd
from simulmt.errors import SimulmtError
from simulmt.output.base import write_now


class LogSink:
    """Appends an Instance at each segment end and flushes it."""

    def __init__(self, path: Path) -> None:
        """Open `path` for appending.

        Raises:
            SimulmtError: it cannot be written.
        """
        try:
            self._stream = path.open("a", encoding="utf-8")
        except OSError as error:
            raise SimulmtError(f"log {path} cannot be written: {error.strerror}") from error

    def emit(self, emission: Emission) -> None:
        pass

    def end(self, segment: SegmentEnd) -> None:
        write_now(self._stream, segment.instance.to_json() + "\n")

    def close(self) -> None:
        self._stream.close()
