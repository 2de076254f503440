"""The token side of one segment: which tokens to forward next, and which units a predicted token completes.

A Writer is a state machine without tensors. Its owner reads source units into it, asks for the next `Request`, has a decoder
run it, and hands the predicted token back:

    writer.read("Hello"); writer.end_source()
    while not writer.finished:
        units = writer.take(decoder.run(writer.request()))

New source tokens and the last target token go through one forward pass, so reading costs no pass of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum

from simulmt.model.layout import Frame
from simulmt.text.events import Unit
from simulmt.text.tokenizers import Boundary, UnitTokenizer
from simulmt.text.units import split_units

_MARKED = re.compile("[\u0e00-\u109f\u1780-\u17ff]")
"""Thai, Lao, Tibetan, Burmese and Khmer: vowel and tone marks may follow a letter."""


class Choice(IntEnum):
    """Which tokens may be predicted."""

    ANY = 0
    """Anything but control tokens; the end of target too."""
    START = 1
    """Only tokens that start a unit, or the end of target."""
    INNER = 2
    """Not the end of target: a word was begun, or nothing was written yet (a segment that has words gets a translation)."""


@dataclass(frozen=True, slots=True)
class Request:
    """One forward pass of one stream.

    Attributes:
        drop: slots to forget first: 1 if the last target token is run again with more source, else 0.
        source: new source tokens.
        source_start: how many source tokens came before them.
        target: target tokens, at least one; the last of them predicts.
        target_start: how many target tokens came before them.
        choice: what may be predicted.
    """

    source: tuple[int, ...]
    source_start: int
    target: tuple[int, ...]
    target_start: int
    drop: int = 0
    choice: Choice = Choice.ANY


@dataclass(frozen=True, slots=True)
class Limits:
    """What keeps a segment within bounds.

    Attributes:
        per_source, extra: a target has run away when it has more tokens than `per_source` × source tokens + `extra`.
        unit: tokens of one source unit that are encoded; the rest of a longer one means nothing to a model.
        source: source tokens from which on a segment should end, so that it stays within what the model was made for.
    """

    per_source: int = 3
    extra: int = 20
    unit: int = 100
    source: int = 400


class Writer:
    """Tokens of one segment.

    Attributes:
        at_boundary: True when the next request predicts the first token of a unit: the policy's moment to READ.
        wants_source: True when the end of target was predicted although source is left: READ at least one unit more.
        finished: the reason why nothing more is written: "end", "length" (target ran away); None while going on.
        target: target tokens written so far, head and end not counted.
        target_reads: source units read when each of `target`'s successors was predicted; the head's last token first.
        source_tokens: tokens of the source units read so far.
        forwarded: tokens forwarded so far, repeated ones counted again.
        truncated: source units of which only the beginning was encoded.
    """

    def __init__(
        self,
        frame: Frame,
        tokenizer: UnitTokenizer,
        stops: frozenset[int] = frozenset(),
        limits: Limits | None = None,
        source_unit: Unit = "word",
    ) -> None:
        self.frame = frame
        self.source_unit = source_unit
        self.tokenizer = tokenizer
        self.stops = stops | {frame.target_end}
        self.limits = limits or Limits()
        self.at_boundary = True
        self.wants_source = False
        self.finished: str | None = None
        self.target: list[int] = []
        self.target_reads: list[int] = []
        self.source_tokens = 0
        self.forwarded = 0
        self.truncated = 0
        self._pending: list[int] = list(frame.source_head)
        self._last: tuple[int, ...] = frame.target_head
        self._sent_source = 0
        self._sent_target = 0
        self._unit: list[int] = []
        self._shown = 0
        self._draft: int | None = None
        self._read = 0
        self._ended = False

    # Source

    def read(self, unit: str) -> None:
        """Append a source unit. It counts as read even if there is no token for any of it."""
        tokens = self.tokenizer.encode(unit, self._read == 0, self.source_unit)
        if len(tokens) > self.limits.unit:
            self.truncated += 1
            tokens = tokens[: self.limits.unit]
        self._pending += tokens
        self.source_tokens += len(tokens)
        self._read += 1
        self.wants_source = False

    @property
    def full(self) -> bool:
        """True when the segment has as much source as it should have."""
        return self.source_tokens >= self.limits.source

    def end_source(self) -> None:
        """Append the end of source."""
        self._pending += self.frame.source_end
        self._ended = True
        self.wants_source = False

    # Target

    def request(self) -> Request:
        """Return the next forward pass. The caller must run it and `take` its prediction."""
        assert self.finished is None, "the segment is finished"
        drop, choice, target = 0, Choice.ANY, self._last
        if self._draft is not None and not self._pending:
            target = (self._draft,)  # nothing new was read: the draft stands
            self._accept(self._draft)
        elif self._draft is not None or self._again:
            drop, target = 1, self._last[-1:]
            self._draft = None
        if not self.target:
            choice = Choice.INNER
        elif self.at_boundary and self.tokenizer.boundary is Boundary.PREFIX:
            choice = Choice.START
        elif self._unit and self.tokenizer.boundary is Boundary.SUFFIX:
            choice = Choice.INNER
        request = Request(
            source=tuple(self._pending),
            source_start=self._sent_source,
            target=target,
            target_start=self._sent_target - drop,
            drop=drop,
            choice=choice,
        )
        self._note(request)
        return request

    @property
    def _again(self) -> bool:
        """True if the last target token was forwarded already and must be run again to see new source."""
        return self._sent_target == len(self.frame.target_head) + len(self.target)

    def _note(self, request: Request) -> None:
        self.forwarded += len(request.source) + len(request.target)
        self._sent_source += len(request.source)
        self._sent_target += len(request.target) - request.drop
        if request.drop:
            self.target_reads.pop()
        self.target_reads.append(self._read)
        self._last = request.target
        self._pending = []

    def _accept(self, token: int) -> None:
        self.target.append(token)
        self._unit.append(token)
        self._draft = None
        self.at_boundary = False

    def take(self, token: int) -> list[str]:
        """Take the token predicted for the last request; return the target units that are now complete, often none."""
        if token in self.stops:
            return self._stop()
        if self._starts_next(token):
            self._draft = token
            self.at_boundary = True
            return self._flush() + self._check_length()
        self._accept(token)
        self._last = (token,)
        return self._complete(token) + self._check_length()

    def _stop(self) -> list[str]:
        units = self._flush()
        self.at_boundary = True
        if self._ended:
            self.finished = "end"
        else:
            self.wants_source = True
        return units

    def _starts_next(self, token: int) -> bool:
        return self.tokenizer.boundary is Boundary.PREFIX and bool(self._unit) and self.tokenizer.starts_unit(token)

    def _complete(self, token: int) -> list[str]:
        if self.tokenizer.boundary is Boundary.SUFFIX and self.tokenizer.ends_unit(token):
            self.at_boundary = True
            return self._flush()
        if self.tokenizer.boundary is Boundary.CHARACTER:
            return self._complete_characters()
        return []

    def _complete_characters(self) -> list[str]:
        """Return the characters that are complete: one that marks may follow is so only when the next one has begun."""
        text = self.tokenizer.decode(self._unit)
        if text.endswith("\ufffd"):  # the bytes of a character are not all there yet
            return []
        units = split_units(text, "char")
        held = bool(units) and _MARKED.match(units[-1]) is not None
        ready = units[self._shown : len(units) - held]
        self.at_boundary = bool(ready) or not held
        self._shown += len(ready)
        if not held:
            self._unit, self._shown = [], 0
        return ready

    def _flush(self) -> list[str]:
        text, shown = self.tokenizer.decode(self._unit), self._shown
        self._unit, self._shown = [], 0
        if self.tokenizer.boundary is Boundary.CHARACTER:
            return split_units(text.rstrip("\ufffd"), "char")[shown:]
        return text.split()

    def _check_length(self) -> list[str]:
        """End a target that has run away; return what there is of its last unit."""
        if len(self.target) <= self.limits.per_source * self.source_tokens + self.limits.extra:
            return []
        self.finished = "length"
        self._draft = None
        return self._flush()
