"""The live loop: reader → segmenter → stream → sinks, with backlog, signals and a clean end."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Protocol

from simulmt.emission import Emission, Output
from simulmt.errors import SimulmtError
from simulmt.output.base import Sink
from simulmt.text.events import Break, End, Event, Word
from simulmt.text.reader import LiveReader
from simulmt.text.segmenter import Segmenter


class Loop(Protocol):
    """The part of `stream.Stream` that the live loop uses (so that this module starts without torch)."""

    def push(self, item: Word | Break) -> None: ...

    def step(self) -> list[Output] | None: ...

    @property
    def queued(self) -> int: ...


class Hearing(Protocol):
    """A sink that also wants to know of words as they come."""

    def heard(self, words: int, now: float) -> None: ...


@dataclass
class Interrupt:
    """Ctrl-C or SIGTERM: the first asks for a clean end, the second ends at once.

    Attributes:
        signal: the number of the first signal received, None so far.
    """

    signal: int | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            raise KeyboardInterrupt
        self.signal = number

    @contextmanager
    def installed(self) -> Iterator[Interrupt]:
        """Receive the signals while the block runs."""
        before = {number: signal.signal(number, self) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @property
    def exit_code(self) -> int:
        """128 + the signal, as shells have it; 0 without one."""
        return 0 if self.signal is None else 128 + self.signal


POLL = 0.1
"""Seconds between two looks at the interrupt while no input comes."""

AHEAD = 1000
"""Words and breaks taken from the reader before they are needed; beyond that they wait there, and then in the pipe."""


@dataclass
class LiveLoop:
    """Runs a stream on live input until it ends or is interrupted.

    Words are taken from the reader as soon as they are there, also between two forward passes, so that what is shown as
    backlog is what waits. On an interrupt no more is read and the open segment is ended with the words it has.
    """

    reader: LiveReader
    segmenter: Segmenter
    stream: Loop
    sinks: Sequence[Sink]
    listeners: Sequence[Hearing] = ()
    interrupt: Interrupt = field(default_factory=Interrupt)
    first: float | None = None
    last: float | None = None
    _ended: bool = False
    _failure: SimulmtError | None = None

    def run(self) -> None:
        """Run to the end; sinks are not closed."""
        while True:
            self._take(self.reader.drain() if not self._ended and self.stream.queued < AHEAD else [])
            outputs = self.stream.step()
            if outputs is not None:
                self._give(outputs)
            elif self._ended:
                break
            else:
                self._await()
        if self._failure is not None:
            raise self._failure

    def _await(self) -> None:
        """Wait a moment for input. When it cannot be read any more, what was read is translated before that is told."""
        try:
            event = self.reader.get(POLL)
        except SimulmtError as error:
            self._failure = error
            self._end()
        else:
            self._take([event] if event is not None else [])

    def _take(self, events: Sequence[Event]) -> None:
        if self.interrupt.signal is not None and not self._ended:
            self._end()
            return
        words = 0
        for event in events:
            if isinstance(event, Word):
                words += 1
                self.first = event.arrival if self.first is None else self.first
                self.last = event.arrival
            for item in self.segmenter.push(event):
                self.stream.push(item)
            self._ended = self._ended or isinstance(event, End)
        if words and self.last is not None:
            for listener in self.listeners:
                listener.heard(words, self.last)

    def _end(self) -> None:
        for item in self.segmenter.push(End(self.last or 0.0)):
            self.stream.push(item)
        self._ended = True

    def _give(self, outputs: Sequence[Output]) -> None:
        for output in outputs:
            for sink in self.sinks:
                if isinstance(output, Emission):
                    sink.emit(output)
                else:
                    sink.end(output)
