"""Bytes to clean text: UTF-8 across reads, invalid bytes marked, characters that carry no text removed and counted."""

from __future__ import annotations

import codecs
import re
import unicodedata
from dataclasses import dataclass, fields

_INVALID = "simulmt-invalid"
_MARK = "\udfff"  # no valid UTF-8 decodes to a surrogate, so this can stand for "invalid bytes were here"
REPLACEMENT = "\ufffd"
_JOINERS = "\u200c\u200d"

# White space (str.isspace, e.g. \x1c-\x1f and \x85) is not in here: it separates words and must stay.
_CONTROL = "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"
_INVISIBLE = "\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_SUSPECT = re.compile(f"[{_CONTROL}{_INVISIBLE}{_SELECTORS}{_JOINERS}\ud800-\udfff]+")
_SELECTOR = re.compile(f"[{_SELECTORS}]")

# Ideographs, kana and their punctuation: written alone, complete as soon as they are read.
_STANDALONE = (
    (0x2E80, 0x2FFF),
    (0x3001, 0x3029),
    (0x3030, 0x3098),
    (0x309B, 0x312F),
    (0x31A0, 0x9FFF),
    (0xA000, 0xA4CF),
    (0xF900, 0xFAFF),
    (0xFE10, 0xFE1F),
    (0xFE30, 0xFE6F),
    (0xFF01, 0xFF9D),
    (0x20000, 0x3FFFD),
)


def _mark_invalid(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return _MARK, error.end


codecs.register_error(_INVALID, _mark_invalid)


@dataclass(slots=True)
class Counts:
    """What was read, and everything odd that was replaced, removed or cut on the way.

    Attributes:
        bytes_read: bytes taken from the source.
        words: units made of them.
        lines: line breaks.
        invalid_bytes: byte sequences that are not UTF-8, each replaced by U+FFFD.
        nul: NUL characters removed.
        control: other control characters removed.
        zero_width: invisible characters removed (zero-width spaces, direction marks, soft hyphens and the like).
        bom: 1 if a byte order mark stood at the start.
        cut_words: words longer than the limit, passed on in pieces.
    """

    bytes_read: int = 0
    words: int = 0
    lines: int = 0
    invalid_bytes: int = 0
    nul: int = 0
    control: int = 0
    zero_width: int = 0
    bom: int = 0
    cut_words: int = 0

    def odd(self) -> dict[str, int]:
        """Return what was odd about the input, as name → number, without zeros."""
        usual = {"bytes_read", "words", "lines"}
        found = {field.name: int(getattr(self, field.name)) for field in fields(self) if field.name not in usual}
        return {name: number for name, number in found.items() if number}


def is_standalone(character: str) -> bool:
    """Return whether `character` is complete by itself, so that it need not wait for combining marks after it."""
    code = ord(character)
    if code < 0x2E80:
        return character not in "#*" and unicodedata.category(character).startswith("P")
    return any(first <= code <= last for first, last in _STANDALONE)


def _joins(character: str) -> bool:
    """Return whether a joiner after `character` carries meaning: after Arabic, Indic and like letters, and emoji."""
    code = ord(character) if character else 0
    general = code < 0x590 or 0x1E00 <= code <= 0x206F or code == 0xFFFD
    return not general and not character.isspace() and not is_standalone(character)


def _carries(character: str) -> bool:
    """Return whether a variation selector after `character` has something to select."""
    return bool(character) and not character.isspace() and character != REPLACEMENT and not is_standalone(character)


class Cleaner:
    """Removes, piece by piece, what is no text; the result does not depend on how the text was cut into pieces.

    Removed and counted: control characters, zero-width and direction characters, soft hyphens, a byte order mark.
    Zero-width joiners stay where they carry meaning (Persian, Indic scripts, emoji), variation selectors where there
    is something to select. White space in the sense of `str.isspace` stays. Surrogates, which stand for invalid bytes,
    become U+FFFD.
    """

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self._last = ""  # last character kept so far
        self._started = False

    def clean(self, text: str) -> str:
        """Return `text`, the next piece of the input, cleaned."""
        if not text:
            return text
        if not self._started:
            self._started = True
            if text[0] == "\ufeff":
                self._counts.bom += 1
                text = text[1:]
        cleaned = _SUSPECT.sub(self._replace, text)
        self._last = cleaned[-1:] or self._last
        return cleaned

    def _replace(self, match: re.Match[str]) -> str:
        last = match.string[match.start() - 1] if match.start() else self._last
        kept: list[str] = []
        for character in match.group():
            new = self._keep(character, last)
            if new:
                kept.append(new)
                last = new
        return "".join(kept)

    def _keep(self, character: str, last: str) -> str:
        counts = self._counts
        if "\ud800" <= character <= "\udfff":
            counts.invalid_bytes += 1
            return REPLACEMENT
        if character in _JOINERS and _joins(last):
            return character
        if _SELECTOR.match(character) and _carries(last):
            return character
        if character == "\0":
            counts.nul += 1
        elif unicodedata.category(character) == "Cc":
            counts.control += 1
        else:
            counts.zero_width += 1
        return ""


class Decoder:
    """UTF-8 bytes, cut anywhere, to text in which each invalid byte sequence is one surrogate (see `Cleaner`)."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors=_INVALID)

    def decode(self, data: bytes, *, final: bool = False) -> str:
        """Return the text completed by `data`; `final` when no more comes."""
        return self._decoder.decode(data, final)
