"""The live loop: reader → segmenter → stream → sinks, with backlog, signals and a clean end."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Protocol, runtime_checkable

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

    def stop(self) -> int: ...

    @property
    def queued(self) -> int: ...


class Hearing(Protocol):
    """A sink that also wants to know of words as they come."""

    def heard(self, words: int, now: float) -> None: ...


@runtime_checkable
class Watcher(Protocol):
    """A sink that wants to know how late it is also while nothing comes."""

    def passed(self, now: float) -> None:
        """Take note that it is `now`, in seconds from the arrival of the first word."""
        ...


@dataclass
class Interrupt:
    """Ctrl-C or SIGTERM: the first asks for a clean end, the second ends at once.

    Attributes:
        signal: the number of the first signal received, None so far.
        at_once: True while there is nothing to end cleanly: then the first signal ends at once too.
    """

    signal: int | None = None
    at_once: bool = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.at_once or self.signal is not None:
            self.signal = self.signal or number
            raise SystemExit(self.exit_code)
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

AHEAD = 200
"""Words and breaks taken from the reader before they are needed; beyond that they wait there, and then in the pipe."""


@dataclass
class LiveLoop:
    """Runs a stream on live input until it ends or is interrupted.

    Words are taken from the reader as soon as they are there, also between two forward passes, so that what is shown as
    backlog is what waits. On an interrupt the open segment is ended with the words it has, and what waits behind it is
    counted and left.

    Attributes:
        ready: when the model was there, in seconds on the reader's clock. Words that came before count as coming then: the
            time of loading is told apart, it is not a delay of the translation.
        first, last: arrival of the first and the last word taken, in seconds on the reader's clock.
        dropped: words that were read but not translated because of an interrupt.
    """

    reader: LiveReader
    segmenter: Segmenter
    stream: Loop
    sinks: Sequence[Sink]
    listeners: Sequence[Hearing] = ()
    interrupt: Interrupt = field(default_factory=Interrupt)
    ready: float = 0.0
    watchers: Sequence[Watcher] = ()
    first: float | None = None
    last: float | None = None
    dropped: int = 0
    _ended: bool = False
    _stopped: bool = False
    _failure: SimulmtError | None = None

    def run(self) -> None:
        """Run to the end; sinks are not closed.

        Raises:
            SimulmtError: the input cannot be read any more; what was read before has been translated.
        """
        while True:
            if self.interrupt.signal is not None and not self._stopped:
                self._stop()
            if not self._ended and self.stream.queued < AHEAD:
                self._take(self.reader.drain(AHEAD))
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
        """Wait a moment for input."""
        try:
            event = self.reader.get(POLL)
        except SimulmtError as error:
            self._failure = error
            self._push(End(self.last or 0.0))
        else:
            self._take([event] if event is not None else [])
        if self.first is not None:
            for watcher in self.watchers:
                watcher.passed(time.monotonic() - self.first)

    def _take(self, events: Sequence[Event]) -> None:
        events = [replace(event, arrival=max(event.arrival, self.ready)) for event in events]
        words = [event for event in events if isinstance(event, Word)]
        if words:
            self.first = words[0].arrival if self.first is None else self.first
            self.last = words[-1].arrival
            for listener in self.listeners:
                listener.heard(len(words), self.last)
        for event in events:
            self._push(event)

    def _push(self, event: Event) -> None:
        for item in self.segmenter.push(event):
            self.stream.push(item)
        self._ended = self._ended or isinstance(event, End)

    def _stop(self) -> None:
        waiting = 0 if self._ended else self.reader.backlog + self.reader.unfinished
        self.dropped = self.stream.stop() + waiting
        self._ended = self._stopped = True

    def _give(self, outputs: Sequence[Output]) -> None:
        for output in outputs:
            for sink in self.sinks:
                if isinstance(output, Emission):
                    sink.emit(output)
                else:
                    sink.end(output)
