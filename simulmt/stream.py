"""The loop: word → policy → decoder → emission.

A `Segment` joins one Writer to a policy; a `Stream` turns an endless run of words and breaks into one Segment after another.
Neither knows where words come from or where emissions go, so the live command, the evaluation of corpora and servers all
drive the same code.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from simulmt.emission import Emission, Output, SegmentEnd
from simulmt.instance import Instance
from simulmt.model.decoder import Decoder
from simulmt.model.loading import Translator
from simulmt.model.writer import Request
from simulmt.policy import Action, Policy, View
from simulmt.repeats import Repeats
from simulmt.text.events import Break, Reason, Word
from simulmt.text.units import join_units

Clock = Callable[[], float]


class Segment:
    """One segment: its words, its policy and its Writer.

    Words may be fed at any time; `advance` reads of them what the policy wants and no more, so what is written does not
    depend on how many words wait.

    Args:
        translator: the model.
        policy: when to read and when to write.
        index: number of the segment.
        clock: monotonic seconds.
        whole: never end before `close` was called and every word is read, however long the segment grows. Without it, a
            segment that holds all the source its model can take ends, and the words it has not read are left over.
        start: when the stream began, on the same clock.
        after: the part before this one, when one line of input takes more than one: its index and record go on here, while
            the model starts afresh.
    """

    def __init__(
        self,
        translator: Translator,
        policy: Policy,
        index: int = 0,
        clock: Clock = time.monotonic,
        whole: bool = False,
        start: float = 0.0,
        after: Segment | None = None,
    ) -> None:
        self.index = index
        self.writer = translator.writer()
        self.words: list[Word] = []
        self.earlier: list[Word] = []
        self.units: list[str] = []
        self.delays: list[int] = []
        self.emitted: list[float] = []
        self.read = 0
        self.reason: Reason | None = None
        self.stopped: str | None = None
        self._whole = whole
        self._start = start
        self._policy = policy
        self._clock = clock
        self._source_unit = translator.source.unit
        self._target_unit = translator.target.unit
        self._ended = False
        self._repeats = Repeats()
        self._parts_before = 0
        self._truncated_before = 0
        self._stopped_before: str | None = None
        if after is not None:
            self._go_on(after)
        self._units_before = len(self.units)

    def _go_on(self, after: Segment) -> None:
        """Take over the record of the part before, which is not used any more."""
        self.index = after.index
        self.earlier = after.earlier + after.words[: after.read]
        self.units, self.delays, self.emitted = after.units, after.delays, after.emitted
        self._parts_before, self._truncated_before, self._stopped_before = after.parts, after.truncated, after.cut

    def feed(self, word: Word) -> None:
        """Add a source unit, to be read when the policy says so."""
        self.words.append(word)

    def close(self, reason: Reason) -> None:
        """Say that no more units come."""
        self.reason = reason

    @property
    def done(self) -> bool:
        return self.writer.finished is not None or self.stopped is not None

    @property
    def cut(self) -> str | None:
        """Why the target was first cut off, here or in a part before: "length" or "repeat"; None if it was not."""
        return self._stopped_before or self.stopped

    @property
    def parts(self) -> int:
        """Parts with words so far, this one included."""
        return self._parts_before + (self.read > 0)

    @property
    def truncated(self) -> int:
        """Source units too long to be encoded whole."""
        return self._truncated_before + self.writer.truncated

    @property
    def waiting(self) -> int:
        """Source units that were fed but not read yet."""
        return len(self.words) - self.read

    def advance(self) -> Request | None:
        """Play the policy up to the next WRITE; return its forward pass, None if more source must come first."""
        if self.writer.at_boundary:
            self._end_if_all_read()
            while self._wants_read():
                if self.waiting == 0:
                    return None
                self.writer.read(self.words[self.read].text)
                self.read += 1
                self._end_if_all_read()
        if self._ended and self.writer.source_tokens == 0:  # words of which nothing can be encoded
            self.writer.finished = "end"
            return None
        return self.writer.request()

    def _wants_read(self) -> bool:
        if self._ended:
            return False
        view = View(self.read, len(self.units) - self._units_before, False)
        nothing = self.writer.source_tokens == 0  # no word yet, or words of which nothing can be encoded
        return nothing or self.writer.wants_source or self._policy.action(view) is Action.READ

    def _end_if_all_read(self) -> None:
        """The end of source is read together with the last unit: it is never a unit of its own.

        A segment with as many tokens as the model can take ends here too; the stream goes on with the words not read.
        """
        if self._ended:
            return
        if (self.reason is not None and self.waiting == 0) or (self.writer.full and not self._whole):
            self.writer.end_source()
            self._ended = True

    def take(self, token: int) -> list[Emission]:
        """Take the token predicted for the last request; return the units it completed."""
        now = self._clock()
        emissions = [self._emit(text, now) for text in self.writer.take(token)]
        if self.writer.finished == "length":
            self.stopped = "length"
        return emissions

    def _emit(self, text: str, now: float) -> Emission:
        self.units.append(text)
        self.delays.append(len(self.earlier) + self.read)
        self.emitted.append(now)
        if self._repeats.add(text) and not Repeats.of(word.text for word in self.words[: self.read]):
            self.stopped = "repeat"
        index = len(self.units) - 1
        space = index > 0 and self._target_unit == "word"
        arrival = self.words[self.read - 1].arrival
        return Emission(text, self.index, index, self.delays[-1], arrival - self._start, now - self._start, space)

    def instance(self, reference: str | None = None) -> Instance:
        """Return the record of what was read and written.

        A `whole` segment whose target was cut off counts the words it did not get to read as its source too.
        """
        words = self.earlier + (self.words if self._whole else self.words[: self.read])
        first = words[0].arrival if words else self._start
        return Instance(
            index=self.index,
            prediction=join_units(self.units, self._target_unit),
            delays=list(self.delays),
            elapsed=[_ms(moment - first) for moment in self.emitted],
            source_length=len(words),
            source=join_words(words),
            reference=reference,
            arrivals=[_ms(word.arrival - first) for word in words],
            offset=_ms(first - self._start),
        )


def join_words(words: Iterable[Word]) -> str:
    """Return the text of the words, with white space where it stood."""
    return "".join((" " if word.space else "") + word.text for word in words).strip()


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)


@dataclass
class Stream:
    """An endless stream on one row of a decoder.

    Push words and breaks as they come; iterate `outputs` for what can be written now. A word that the current segment has
    not read when its target is cut off opens the next segment: nothing is dropped.

    Attributes:
        lines: lines of input are lines of output. What would end a segment inside a line (its length, a target cut off)
            then only begins a new part of it.
    """

    translator: Translator
    policy: Policy
    decoder: Decoder
    clock: Clock = time.monotonic
    row: int = 0
    lines: bool = False
    segment: Segment | None = None
    start: float | None = None
    _part: Segment | None = None
    _count: int = 0
    _items: deque[Word | Break] = field(default_factory=deque)

    def push(self, item: Word | Break) -> None:
        """Add a word or the end of a segment."""
        if self.start is None and isinstance(item, Word):
            self.start = item.arrival
        self._items.append(item)

    @property
    def queued(self) -> int:
        """Words and breaks pushed that no segment has taken yet."""
        return len(self._items)

    @property
    def backlog(self) -> int:
        """Source units that came but were not read yet."""
        segment = self.segment  # the display asks from its own thread
        waiting = sum(isinstance(item, Word) for item in self._items.copy())
        return waiting + (segment.waiting if segment else 0)

    def source(self) -> tuple[list[str], int]:
        """Return the present segment's source words and how many of them have been read."""
        segment = self.segment or self._part  # the display asks from its own thread
        if segment is None:
            return [], 0
        return [word.text for word in (*segment.earlier, *segment.words)], len(segment.earlier) + segment.read

    def stop(self) -> int:
        """End the present segment with the words it has; drop what waits behind it and return how many words that was."""
        self._feed()
        dropped = sum(isinstance(item, Word) for item in self._items)
        self._items.clear()
        self._items.append(Break("end"))
        return dropped

    def outputs(self) -> Iterator[Output]:
        """Yield what can be written with the words pushed so far; more may be pushed between two yields."""
        while True:
            outputs = self.step()
            if outputs is None:
                return
            yield from outputs

    def step(self) -> list[Output] | None:
        """Make one forward pass; return what it brought, None if nothing can be done until more is pushed."""
        self._feed()
        if self.segment is None:
            return None
        request = self.segment.advance()
        outputs: list[Output] = []
        if request is not None:
            token = self.decoder.run([request], [self.row])[0]
            outputs += self.segment.take(token)
        elif not self.segment.done:
            return None
        if self.segment.done:
            outputs += self._finish(self.segment)
        return outputs

    def _feed(self) -> None:
        """Give the present segment its words, opening one at the first."""
        while self._items and (self.segment is None or self.segment.reason is None):
            item = self._items.popleft()
            if isinstance(item, Word):
                segment = self.segment or self._open(item.arrival if self.start is None else self.start)
                segment.feed(item)
                continue
            if self.segment is None and (item.reason == "empty" or self._part is not None):
                self._open(self.start or 0.0)
            if self.segment is not None:
                self.segment.close(item.reason)

    def _open(self, start: float) -> Segment:
        self.segment = Segment(self.translator, self.policy, self._count, self.clock, start=start, after=self._part)
        self._count = self.segment.index + 1
        self._part = None
        return self.segment

    def _finish(self, segment: Segment) -> list[Output]:
        rest: list[Word | Break] = list(segment.words[segment.read :])
        if rest and segment.reason is not None:
            rest.append(Break(segment.reason))
        self._items.extendleft(reversed(rest))
        reason = "length" if rest or segment.reason is None else segment.reason
        goes_on = self.lines and Break(reason).forced
        self._part = segment if goes_on else None  # first, so that the display always finds one of the two
        self.segment = None
        self.decoder.release(self.row)
        if goes_on:
            return []
        now = self.clock() - (self.start or 0.0)
        return [SegmentEnd(segment.instance(), reason, segment.cut, now, segment.truncated, segment.parts)]
