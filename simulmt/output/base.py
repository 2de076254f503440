"""The protocol of sinks, and writing to a pipe that may close."""

from __future__ import annotations

from typing import Protocol, TextIO

from simulmt.emission import Emission, SegmentEnd
from simulmt.errors import SimulmtError


class Sink(Protocol):
    """Takes what a stream gives, in order."""

    def emit(self, emission: Emission) -> None:
        """Take one target unit."""
        ...

    def end(self, segment: SegmentEnd) -> None:
        """Take the end of a segment."""
        ...

    def close(self) -> None:
        """Take the end of the stream."""
        ...


def write_now(stream: TextIO, text: str) -> None:
    """Write and flush, so that a word shows at once also behind a pipe.

    Raises:
        BrokenPipeError: the reader is gone.
        SimulmtError: it cannot be written, e.g. the disk is full.
    """
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise unwritable(stream, error) from error


def unwritable(stream: TextIO, error: OSError) -> SimulmtError:
    """Return the error that says that `stream` cannot be written."""
    name = getattr(stream, "name", "output")
    return SimulmtError(f"{name} cannot be written: {error.strerror}", "is the disk full?")
