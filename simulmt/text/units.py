"""Units: what is read, written and counted. One definition for live input, for whole strings and for scoring."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol, TypeAlias

from simulmt.errors import UsageError
from simulmt.text.cleaning import Cleaner, Counts, is_standalone
from simulmt.text.events import LineEnd, Unit, Word

MAX_LENGTH = 10_000
"""Characters of one unit; a longer one is passed on in pieces of this size, so that memory stays bounded."""

Piece: TypeAlias = Word | LineEnd

_TOKEN = re.compile(r"\S+|\r\n?|\n")  # \S and str.split() agree on what white space is
_ZWJ = "\u200d"
_LINKERS = "\u1039\u17d2"  # Myanmar and Khmer signs that stack the next letter below
_SPACING_MARKS = "\u0e33\u0eb3"  # Thai and Lao AM: letters by category, but part of the letter before


class Splitter(Protocol):
    """Cuts cleaned text that comes piece by piece into units and line ends."""

    def feed(self, text: str, arrival: float) -> list[Piece]:
        """Return the units and line ends that `text`, read at `arrival`, completes."""
        ...

    def finish(self, arrival: float) -> list[Piece]:
        """Return the unit that the end of the input, or a pause, completes, if there is one; more may be fed after it."""
        ...

    @property
    def holding(self) -> bool:
        """True while there is a unit that is not complete yet."""
        ...


class _Pieces:
    """What both splitters share: the unit not yet complete, the line, and the making of words."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self._held: list[str] = []
        self._held_length = 0
        self._space = True  # white space stood before the unit that is held or comes next
        self._cut = False  # the unit held is the rest of a longer one
        self._line_has_word = False
        self._after_return = False

    def _word(self, text: str, arrival: float) -> Word:
        if not text.isascii():
            text = unicodedata.normalize("NFC", text)
        self._counts.words += 1
        self._line_has_word = True
        word = Word(text, arrival, self._space)
        self._space = False
        return word

    def _hold(self, text: str, arrival: float, out: list[Piece]) -> None:
        """Add `text` to the unit held; pass on a piece each time it outgrows the limit."""
        self._held.append(text)
        self._held_length += len(text)
        if self._held_length <= MAX_LENGTH:
            return
        whole = "".join(self._held)
        start = 0
        while len(whole) - start > MAX_LENGTH:
            out.append(self._word(whole[start : start + MAX_LENGTH], arrival))
            start += MAX_LENGTH
        self._counts.cut_words += not self._cut
        self._cut = True
        self._held = [whole[start:]]
        self._held_length = len(whole) - start

    def _release(self, arrival: float, out: list[Piece]) -> None:
        """Pass on the unit held, now complete."""
        if self._held:
            out.append(self._word("".join(self._held), arrival))
            self._held = []
            self._held_length = 0
        self._cut = False

    @property
    def holding(self) -> bool:
        return bool(self._held)

    def _line_end(self, arrival: float) -> LineEnd:
        self._counts.lines += 1
        blank = not self._line_has_word
        self._line_has_word = False
        self._space = True
        return LineEnd(arrival, blank)

    def finish(self, arrival: float) -> list[Piece]:
        out: list[Piece] = []
        self._release(arrival, out)
        return out


class WordSplitter(_Pieces):
    r"""White-space words, exactly those of `str.split()`; a word is complete at the white space after it.

    Lines end at \n, \r\n or a lone \r. All other white space (no-break spaces and U+2028 among it) only separates
    words, as it does when corpora are read line by line and split.
    """

    def feed(self, text: str, arrival: float) -> list[Piece]:
        out: list[Piece] = []
        if not text:
            return out
        if self._held and text[0].isspace():
            self._release(arrival, out)
        self._space = self._space or text[0].isspace()
        skip_newline = self._after_return and text[0] == "\n"
        self._after_return = text[-1] == "\r"
        for match in _TOKEN.finditer(text, int(skip_newline)):
            token = match.group()
            if token[0] in "\r\n":
                out.append(self._line_end(arrival))
            elif self._held or match.end() == len(text) or len(token) > MAX_LENGTH:
                self._hold(token, arrival, out)
                if match.end() < len(text):
                    self._release(arrival, out)
                    self._space = True
            else:
                out.append(self._word(token, arrival))
                self._space = True
        return out


@lru_cache(maxsize=65_536)
def _kind(character: str) -> str:
    """Classify a character: white `space`, `alone` (complete at once), `extend` (belongs to the one before), `base`."""
    if character.isspace():
        return "space"
    code = ord(character)
    jamo = 0x1160 <= code <= 0x11FF or 0xD7B0 <= code <= 0xD7FF
    emoji_part = 0x1F3FB <= code <= 0x1F3FF or 0xE0020 <= code <= 0xE007F
    mark = unicodedata.category(character).startswith("M")
    if mark or jamo or emoji_part or character in _SPACING_MARKS or character in "\u200c\u200d":
        return "extend"
    return "alone" if is_standalone(character) else "base"


class CharSplitter(_Pieces):
    """Characters as readers see them, for languages written without spaces.

    A unit is a base character with what belongs to it: combining marks, vowel and tone signs, variation selectors,
    emoji joined by U+200D, skin tones, flags. Ideographs, kana and punctuation take no such signs in ordinary text:
    they are passed on the moment they are read, and a mark that follows one all the same is a unit of its own. Any
    other character (a Thai consonant, a Latin letter, an emoji) may still get a sign and is complete when the next
    base character, white space or the end of the input comes.
    """

    def feed(self, text: str, arrival: float) -> list[Piece]:
        out: list[Piece] = []
        for character in text:
            kind = _kind(character)
            if kind == "space":
                self._white(character, arrival, out)
                continue
            self._after_return = False
            if kind == "alone":
                self._release(arrival, out)
                out.append(self._word(character, arrival))
                continue
            if kind == "base" and not self._linked(character):
                self._release(arrival, out)
            self._hold(character, arrival, out)
        return out

    def _white(self, character: str, arrival: float, out: list[Piece]) -> None:
        self._release(arrival, out)
        self._space = True
        if character == "\r" or (character == "\n" and not self._after_return):
            out.append(self._line_end(arrival))
        self._after_return = character == "\r"

    def _linked(self, character: str) -> bool:
        """Return whether a base character still belongs to the unit held."""
        if not self._held:
            return False
        last = self._held[-1][-1]
        flag = len(self._held) == 1 and _is_flag_half(last) and _is_flag_half(character)
        return flag or last == _ZWJ or last in _LINKERS


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def splitter(unit: Unit, counts: Counts) -> Splitter:
    """Return the splitter for `unit`; it adds to `counts`.

    Raises:
        UsageError: `unit` is neither `word` nor `char`.
    """
    if unit == "word":
        return WordSplitter(counts)
    if unit == "char":
        return CharSplitter(counts)
    raise UsageError(f"unknown unit {unit!r}", "choose word or char")


def split_units(text: str, unit: Unit) -> list[str]:
    """Return the units of `text`, the very ones a live reader makes of its bytes.

    For words in clean text in normal form C this is `text.split()`, unless one is longer than `MAX_LENGTH`.
    """
    counts = Counts()
    parts = splitter(unit, counts)
    pieces = [*parts.feed(Cleaner(counts).clean(text), 0.0), *parts.finish(0.0)]
    return [piece.text for piece in pieces if isinstance(piece, Word)]


def join_units(units: Sequence[str], unit: Unit) -> str:
    """Return `units` as text: words with one space between, characters with none."""
    return (" " if unit == "word" else "").join(units)


def count(text: str, unit: Unit) -> int:
    """Return the number of units of `text`."""
    return len(split_units(text, unit))
