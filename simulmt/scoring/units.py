"""What is counted: words or characters, and how many a text has."""

from __future__ import annotations

import re
from typing import Literal

from simulmt.errors import UsageError

Unit = Literal["word", "char"]

_SHORT_CODES = {
    "zho": "zh",
    "cmn": "zh",
    "yue": "zh",
    "jpn": "ja",
    "kor": "ko",
    "tha": "th",
    "lao": "lo",
    "khm": "km",
    "mya": "my",
}
_WITHOUT_SPACES = frozenset({"zh", "ja", "th", "lo", "km", "my"})


def short_code(language: str) -> str:
    """Return the first part of a language tag, as ISO 639-1 where it matters here: `zh-CN` and `zho_Hans` give `zh`.

    Raises:
        UsageError: not shaped like a language tag.
    """
    if not re.fullmatch(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]+)*", language):
        raise UsageError(f"{language!r} is not a language code", "give one like de, zh or pt-BR")
    first = re.split(r"[-_]", language.lower())[0]
    return _SHORT_CODES.get(first, first)


def default_unit(language: str | None) -> Unit:
    """Return `char` for languages written without spaces between words, else `word`."""
    return "char" if language is not None and short_code(language) in _WITHOUT_SPACES else "word"


def split_units(text: str, unit: Unit) -> list[str]:
    """Return the units of `text`: its whitespace-separated words, or its characters other than white space."""
    words = text.split()
    return words if unit == "word" else [character for word in words for character in word]


def count_units(text: str, unit: Unit) -> int:
    """Return the number of units in `text`; 0 for an empty one."""
    return len(split_units(text, unit))


def simuleval_length(reference: str | None, unit: Unit) -> int:
    """Return the reference length as SimulEval counts it in its logs.

    Words are the pieces between single spaces, so an empty text counts 1 and each further space counts one more.
    Characters include the spaces between words. A missing reference is read as an empty one.
    """
    text = reference or ""
    return len(text.split(" ")) if unit == "word" else len(text.strip())
