"""Is the text one utterance per line, or a paragraph wrapped into lines? Evidence gathered while it is read."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from enum import Enum

from simulmt.text.events import Word
from simulmt.text.sentences import SentenceRules

SHORT_LINE = 40  # columns; a paragraph is hardly ever wrapped this narrow
LONG_LINE = 120  # columns; nor this wide
_LIMIT = 4.0  # of the score, so that a change of the kind of text is noticed after a few lines
_SURE = 1.0
_LONG_WORD = (12, 25)  # columns that a next word may need: at least, at most


class Verdict(Enum):
    """What the end of a line means."""

    BREAK = "the segment ends"
    WAIT = "the next word tells"
    GO_ON = "the segment goes on"


class LineEvidence:
    """Judges line ends that carry no sentence-final punctuation (others have ended a segment already).

    A wrapped line ends because the next word did not fit: it is about as long as the longest line, and the next one
    goes on in lower case. An utterance ends anywhere. So each line end becomes evidence as soon as the first word of
    the next line is known; `score` sums it up, positive for utterances. After a line without final punctuation:

    - the next begins in lower case, in text that uses capitals: −2 if the line is at least half as long as the longest
      (and 20 columns), else +0.5;
    - otherwise, if the next word would have fitted: +2;
    - if not: +0.5; but −1 if its last word left it open ("of the", a comma) or in a script without capitals, unless
      the line is short by itself;
    - in any case −0.5 if a sentence ended inside the line.

    After a line with final punctuation: +0.5 if the next word would have fitted. After a blank line: nothing.

    At a score of 1 or more a line end is a break. Below that a line goes on if its last word leaves it open. At −1 or
    less all others go on too, unless even a long word would have fitted and lines of this text have not been broken off
    at will before (a heading, the end of a paragraph). In between the line itself decides: one that is short by itself
    or left room for a long word is an utterance, and so is one longer than any page is wide; else the first letter of
    the next line decides (in German a capital says nothing if the line had a comma), and in scripts without capitals
    it goes on.
    """

    def __init__(self, rules: SentenceRules) -> None:
        self._rules = rules
        self._score = 0.0
        self._width = 0  # columns of the longest line so far
        self._columns = 0  # of the line being read
        self._longest_word = 0
        self._capitals = False  # a line or sentence has begun with a capital
        self._ragged = 0  # lines that went on although there was room
        self._last: Word | None = None  # last word of the line being read
        self._ended = False  # ... and it ended a sentence
        self._ends_inside = False  # a sentence ended inside the line
        self._punctuated = False  # there was clause punctuation inside the line
        self._before: _Line | None = None  # the line before, until the next word is known

    @property
    def score(self) -> float:
        """Positive when the text looks like one utterance per line, negative when it looks wrapped."""
        return self._score

    def see(self, word: Word, *, final: bool) -> None:
        """Take in the next word; `final` when it ends a sentence."""
        columns = _columns(word.text)
        if self._last is None:
            self._weigh(word, columns)
            self._columns = columns
        else:
            self._columns += columns + word.space
        if self._last is None or self._ended:
            self._capitals = self._capitals or _initial(word.text).isupper()
        self._ends_inside = self._ends_inside or self._ended
        self._punctuated = self._punctuated or self._ends_inside or self._rules.is_clause_end(word)
        self._longest_word = max(self._longest_word, columns)
        self._last = word
        self._ended = final

    def blank(self) -> None:
        """Take in a blank line: it ends a paragraph and says nothing about the line before it."""
        self._before = None

    def line_end(self, *, open_segment: bool) -> Verdict:
        """Take in the end of a line that had words; return what it means for the segment, if one is open."""
        if self._last is None:
            return Verdict.GO_ON
        self._width = max(self._width, self._columns)
        is_open = self._rules.leaves_open(self._last)
        verdict = self._judge(self._last, is_open) if open_segment else Verdict.GO_ON
        self._before = _Line(self._columns, self._ended, self._ends_inside, self._punctuated, is_open)
        self._last = None
        self._ended = self._ends_inside = self._punctuated = False
        return verdict

    def starts_new(self, word: Word) -> bool:
        """Return whether `word`, first of its line, begins an utterance: the answer to `Verdict.WAIT`."""
        initial = _initial(word.text)
        prose = self._before is not None and self._before.punctuated
        if self._rules.capitals_inside and prose and initial.isupper():
            return False
        return not (self._capitals and initial.islower())

    def _judge(self, last: Word, is_open: bool) -> Verdict:
        room = self._columns + 1 + min(max(self._longest_word, _LONG_WORD[0]), _LONG_WORD[1]) <= self._width
        if self._score >= _SURE:
            return Verdict.BREAK
        if is_open:
            return Verdict.GO_ON
        if self._score <= -_SURE:
            return Verdict.BREAK if room and self._ragged < 2 else Verdict.GO_ON
        if room or self._columns < SHORT_LINE or self._columns > LONG_LINE:
            return Verdict.BREAK
        return Verdict.WAIT if _has_case(last.text) else Verdict.GO_ON

    def _weigh(self, word: Word, columns: int) -> None:
        """Turn the end of the line before into evidence, now that `word`, first of this line, is known."""
        before, self._before = self._before, None
        if before is None:
            return
        fits = before.columns + 1 + columns <= self._width
        if before.ended:
            change = 0.5 if fits else 0.0
        elif self._capitals and _initial(word.text).islower():
            wrapped = before.columns >= max(self._width / 2, SHORT_LINE / 2)
            self._ragged += wrapped and fits
            change = -2.0 if wrapped else 0.5
        elif fits:
            change = 2.0
        else:
            caseless = not _has_case(word.text) and before.columns >= SHORT_LINE
            change = -1.0 if before.open or caseless else 0.5
        if before.ends_inside and not before.ended:
            change -= 0.5
        self._score = max(-_LIMIT, min(_LIMIT, self._score + change))


@dataclass(frozen=True, slots=True)
class _Line:
    """A finished line: its width, whether a sentence ended at its end or inside it, whether it had commas, and
    whether its last word left it open.
    """

    columns: int
    ended: bool
    ends_inside: bool
    punctuated: bool
    open: bool


def _columns(text: str) -> int:
    """Return the width of `text` on a terminal: 2 for wide characters."""
    if text.isascii():
        return len(text)
    return sum(1 + (unicodedata.east_asian_width(character) in "WF") for character in text)


def _initial(text: str) -> str:
    """Return the first letter or digit of `text`, or else its first character."""
    return next((character for character in text if character.isalnum()), text[0])


def _has_case(text: str) -> bool:
    """Return False if `text` is of letters of a script without capitals."""
    initial = _initial(text)
    return not initial.isalpha() or initial.isupper() or initial.islower()
