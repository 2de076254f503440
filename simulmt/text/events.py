"""What live input is made of: words, line ends, pauses, the end; and the breaks between segments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Unit: TypeAlias = Literal["word", "char"]
Reason: TypeAlias = Literal["sentence", "line", "blank", "clause", "conjunction", "length", "idle", "end", "empty"]

_FORCED = frozenset({"clause", "conjunction", "length"})


@dataclass(frozen=True, slots=True)
class Word:
    """One source unit: a white-space word, or one character of a language written without spaces.

    Attributes:
        text: the unit, cleaned and in Unicode normal form C.
        arrival: seconds on a monotonic clock at which the bytes that completed it were read.
        space: white space, or the beginning of the input, stood before it. False for a character that directly follows
            another one and for the later pieces of a word that was too long to keep whole.
    """

    text: str
    arrival: float
    space: bool = True


@dataclass(frozen=True, slots=True)
class LineEnd:
    """A line break was read; `blank` when the line had no word."""

    arrival: float
    blank: bool


@dataclass(frozen=True, slots=True)
class Pause:
    """No new word came for the idle time; sent once per pause."""

    arrival: float


@dataclass(frozen=True, slots=True)
class End:
    """The end of the input."""

    arrival: float


@dataclass(frozen=True, slots=True)
class Break:
    """A segment ends here, for this reason; `empty` is a segment of its own, without words: a blank line kept as one."""

    reason: Reason

    @property
    def forced(self) -> bool:
        """True when the segment ended only because it had grown too long."""
        return self.reason in _FORCED


Event: TypeAlias = Word | LineEnd | Pause | End
