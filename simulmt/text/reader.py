"""The live reader: a thread that turns bytes into words as they come and keeps reading while the model works."""

from __future__ import annotations

import io
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import BinaryIO, TypeAlias

from simulmt.errors import SimulmtError, UsageError
from simulmt.text.cleaning import Cleaner, Counts, Decoder
from simulmt.text.events import End, Event, Pause, Unit, Word
from simulmt.text.units import Piece, splitter

__all__ = ["Counts", "LiveReader", "open_source"]

CHUNK = 65_536  # bytes asked for at once; a read returns earlier with what there is
_RETRY = 0.5  # seconds between looks at a non-blocking source that has nothing
Clock: TypeAlias = Callable[[], float]


def open_source(path: str) -> BinaryIO | int:
    """Open a file for `LiveReader`; `-` is standard input.

    Raises:
        SimulmtError: the file is missing, a folder, or may not be read.
    """
    if path == "-":
        return 0
    try:
        return open(path, "rb", buffering=0)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise SimulmtError(f"cannot read {path}: {reason}", "give a text file, or - for standard input") from error


def _read_function(source: BinaryIO | int) -> Callable[[], bytes | None]:
    """Return a function that waits for bytes and returns what there is; b"" at the end, None for "nothing yet".

    Pipes and terminals are read through their descriptor: a thread waiting inside a buffered object holds its lock and
    would trouble the interpreter when it exits.
    """
    if isinstance(source, int):
        number = source
        return lambda: os.read(number, CHUNK)
    raw = getattr(source, "raw", source)
    if isinstance(raw, io.FileIO) and (raw is source or not raw.seekable()):
        number = raw.fileno()
        return lambda: os.read(number, CHUNK)
    read1 = getattr(source, "read1", None)
    if read1 is not None:
        return lambda: read1(CHUNK)
    return lambda: source.read(CHUNK)


class LiveReader:
    """Reads units from a byte source in a daemon thread, from the moment it is made.

    A word is complete at white space or at the end of the input. Words wait in a queue of `capacity` events; when it is
    full the thread stops reading until there is room, so the writer of a pipe is slowed and nothing is dropped.

    Args:
        source: a binary file object or a file descriptor. It is not closed here. Of a buffered pipe, bytes that earlier
            reads of the object left in its buffer are not seen.
        unit: `word` or `char` (see `simulmt.text.units`).
        idle: seconds without a new word after which one `Pause` is sent; None for never. It is computed from arrival
            times, so a slow consumer sees the same pauses as a fast one. A word at which nothing was added for so long is
            complete, without white space after it too (not in a replay at a `pace`).
        pace: words per minute. Word i is released i·60/pace seconds after the first one, later only if it had not been
            read by then; its arrival is that moment.
        clock: monotonic seconds.
        capacity: events that may wait.

    Raises:
        UsageError: `idle`, `pace` or `capacity` is not positive, or `unit` is unknown.
    """

    def __init__(
        self,
        source: BinaryIO | int,
        *,
        unit: Unit = "word",
        idle: float | None = None,
        pace: float | None = None,
        clock: Clock = time.monotonic,
        capacity: int = 10_000,
    ) -> None:
        for name, value in (("idle", idle), ("pace", pace), ("capacity", capacity)):
            if value is not None and not value > 0:
                raise UsageError(f"{name} must be greater than 0, not {value}")
        self.counts = Counts()
        self._read = _read_function(source)
        self._source = source
        self._splitter = splitter(unit, self.counts)
        self._cleaner = Cleaner(self.counts)
        self._decoder = Decoder()
        self._clock = clock
        self._idle = idle
        self._capacity = capacity
        self._pacer = _Pacer(60.0 / pace, clock) if pace is not None else None
        self._queue: deque[Event] = deque()
        self._words_waiting = 0
        self._changed = threading.Condition()
        self._stopped = threading.Event()
        # Arrival of the last bytes of a word that is not complete, while the thread waits for more and a pause may end it.
        self._held: float | None = None
        self._end: End | None = None
        self._error: Exception | None = None
        self._last_word: float | None = None  # arrival of the last word handed out, until its pause was sent
        self._thread = threading.Thread(target=self._run, name="simulmt-reader", daemon=True)
        self._thread.start()

    # -- the consumer's side ------------------------------------------------------------------------------------------

    @property
    def backlog(self) -> int:
        """Words that wait to be taken."""
        return self._words_waiting

    @property
    def unfinished(self) -> int:
        """1 while a word has begun of which more may come, else 0; `backlog` does not count it."""
        return int(self._splitter.holding)

    def get(self, timeout: float | None = None) -> Event | None:
        """Return the next event; None if `timeout` seconds passed without one. After the end it is `End` each time.

        Raises:
            SimulmtError: the source cannot be read (after everything read before has been returned).
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while True:
                event = self._next()
                if event is not None:
                    return event
                if self._error is not None:
                    raise self._error
                wait = self._patience(deadline)
                if wait is not None and wait <= 0:
                    return None
                self._changed.wait(wait)

    def drain(self, limit: int | None = None) -> list[Event]:
        """Return the events that wait, at most `limit`, without blocking (an error waits for `get`)."""
        events: list[Event] = []
        with self._changed:
            while not (events and isinstance(events[-1], End)) and (limit is None or len(events) < limit):
                event = self._next()
                if event is None:
                    break
                events.append(event)
        return events

    def close(self) -> None:
        """Stop reading. What waits can still be taken; then comes `End`. The source stays open."""
        self._stopped.set()
        with self._changed:
            self._changed.notify_all()

    def __enter__(self) -> LiveReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _next(self) -> Event | None:
        """Take the next event, a due pause included; None when there is none now. Called with the lock held."""
        if not self._queue and self._held is not None and self._clock() >= self._held + self._wait:
            self._complete()
        pause = self._due_pause()
        if pause is not None:
            return pause
        if self._queue:
            event = self._queue.popleft()
            if isinstance(event, Word):
                self._words_waiting -= 1
                self._last_word = event.arrival
            if len(self._queue) == self._capacity // 2 or not self._queue:
                self._changed.notify_all()
            return event
        if self._end is None and self._stopped.is_set():
            self._end = End(self._clock())
        return self._end

    @property
    def _wait(self) -> float:
        return self._idle or 0.0

    def _complete(self) -> None:
        """Pass on the word held, which silence has completed. Called with the lock held."""
        assert self._held is not None
        pieces = self._splitter.finish(self._held)
        self._held = None
        self._queue.extend(pieces)
        self._words_waiting += len(pieces)

    def _due_pause(self) -> Pause | None:
        if self._idle is None or self._last_word is None:
            return None
        due = self._last_word + self._idle
        following = self._queue[0] if self._queue else self._end
        came = following.arrival if following is not None else self._clock()
        if came < due or self._error is not None:
            return None
        self._last_word = None
        return Pause(due)

    def _patience(self, deadline: float | None) -> float | None:
        """Return how many seconds to wait for news: until `deadline` or the next pause; None for ever."""
        waits = [] if deadline is None else [deadline - time.monotonic()]
        if not self._queue:
            since = [
                moment for moment in (self._last_word, self._held) if moment is not None and self._idle is not None
            ]
            # never 0 from here: a clock a hair before the due time must not read as "timed out"
            waits += [max(moment + self._wait - self._clock(), 0.001) for moment in since]
        return min(waits) if waits else None

    # -- the thread's side --------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._stopped.is_set():
                data = self._read_some()
                arrival = self._clock()
                self._resume(arrival)
                self.counts.bytes_read += len(data)
                text = self._cleaner.clean(self._decoder.decode(data, final=not data))
                self._put(self._splitter.feed(text, arrival))
                if data:
                    self._hold(arrival)
                else:
                    self._put(self._splitter.finish(arrival))
                    self._finish(End(self._clock()))
                    return
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            self._finish(SimulmtError(f"cannot read the input ({self._name()}): {reason}"))
        except Exception as error:  # whatever it is, it must reach the consumer, who would wait for ever
            self._finish(error)

    def _resume(self, arrival: float) -> None:
        """Take back the splitter, now that bytes came; a word held for too long before them was complete."""
        with self._changed:
            if self._held is not None and arrival >= self._held + self._wait:
                self._complete()
                self._changed.notify_all()
            self._held = None

    def _hold(self, arrival: float) -> None:
        """Note since when a word is held, so that a pause can complete it."""
        if self._idle is None or self._pacer is not None or not self._splitter.holding:
            return
        with self._changed:
            self._held = arrival
            self._changed.notify_all()

    def _read_some(self) -> bytes:
        """Read what there is, waiting for at least one byte; b"" at the end."""
        while not self._stopped.is_set():
            try:
                data = self._read()
            except BlockingIOError:
                data = None
            if data is not None:
                return data
            self._await_source()
        return b""

    def _await_source(self) -> None:
        try:
            select.select([self._source], [], [], _RETRY)
        except (OSError, ValueError, TypeError):  # not something that can be selected on: look again a little later
            self._stopped.wait(0.02)

    def _put(self, pieces: Iterable[Piece]) -> None:
        if self._pacer is None:
            self._put_all(list(pieces))
            return
        for piece in pieces:
            paced = self._pacer.release(piece, self._stopped)
            if self._stopped.is_set():
                return
            self._put_all([paced])

    def _put_all(self, pieces: list[Piece]) -> None:
        start = 0
        while start < len(pieces):
            with self._changed:
                while len(self._queue) >= self._capacity and not self._stopped.is_set():
                    self._changed.wait()
                if self._stopped.is_set():
                    return
                part = pieces[start : start + self._capacity - len(self._queue)]
                self._queue.extend(part)
                self._words_waiting += sum(isinstance(piece, Word) for piece in part)
                self._changed.notify_all()
            start += len(part)

    def _finish(self, how: End | Exception) -> None:
        with self._changed:
            if isinstance(how, Exception):
                self._error = how
            elif self._end is None:
                self._end = how
            self._changed.notify_all()

    def _name(self) -> str:
        if isinstance(self._source, int):
            return "standard input" if self._source == 0 else f"descriptor {self._source}"
        return str(getattr(self._source, "name", "input"))


class _Pacer:
    """Releases words one by one at a fixed interval; due times add up exactly, whatever the sleeps do."""

    def __init__(self, interval: float, clock: Clock) -> None:
        self._interval = interval
        self._clock = clock
        self._due: float | None = None

    def release(self, piece: Piece, stopped: threading.Event) -> Piece:
        """Wait until `piece` is due (a line end: with the word before) and return it with that arrival time."""
        if not isinstance(piece, Word):
            arrival = piece.arrival if self._due is None else max(self._due, piece.arrival)
            return type(piece)(arrival, piece.blank)
        due = piece.arrival if self._due is None else max(self._due + self._interval, piece.arrival)
        self._due = due
        while (left := due - self._clock()) > 0 and not stopped.is_set():
            stopped.wait(left)
        return Word(piece.text, due, piece.space)
