"""The instance log of `--log`: one JSON line a segment, readable by SimulEval and OmniSTEval."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from simulmt.emission import Emission, SegmentEnd
from simulmt.errors import SimulmtError
from simulmt.instance import read_log, repair
from simulmt.output.base import unwritable, write_now


class LogSink:
    """Appends an Instance at each segment end and flushes it; goes on with the numbers of what the log holds already."""

    def __init__(self, path: Path) -> None:
        """Open `path` for appending.

        Raises:
            SimulmtError: it cannot be written, or holds something else.
        """
        self._first = 0
        try:
            if path.is_file():  # not a pipe or device, which has nothing to go on from
                self._first = max((instance.index for instance in read_log(path)), default=-1) + 1
                repair(path)  # a run that was killed may have cut its last line
            self._stream = path.open("a", encoding="utf-8")
        except OSError as error:
            raise SimulmtError(f"log {path} cannot be written: {error.strerror}") from error

    def emit(self, emission: Emission) -> None:
        pass

    def end(self, segment: SegmentEnd) -> None:
        numbered = replace(segment.instance, index=self._first + segment.instance.index)
        write_now(self._stream, numbered.to_json() + "\n")

    def close(self) -> None:
        try:
            self._stream.close()
        except OSError as error:
            raise unwritable(self._stream, error) from error
