"""Units: what str.split() makes, for words; what a reader of the script sees, for characters."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulmt.errors import UsageError
from simulmt.text.cleaning import Cleaner, Counts
from simulmt.text.units import MAX_LENGTH, count, join_units, split_units, splitter

PLAIN = st.text(
    st.characters(exclude_categories=("Cc", "Cf", "Cs"), exclude_characters="".join(map(chr, range(0xFE00, 0xFE10))))
)


@given(PLAIN)
def test_words_are_those_of_split(text: str) -> None:
    kept = "".join(c for c in text if not 0xE0100 <= ord(c) <= 0xE01EF)
    assert split_units(kept, "word") == [unicodedata.normalize("NFC", word) for word in kept.split()]


@given(PLAIN)
def test_characters_join_to_the_text_without_white_space(text: str) -> None:
    kept = "".join(c for c in text if not 0xE0100 <= ord(c) <= 0xE01EF)
    joined = join_units(split_units(kept, "char"), "char")
    assert unicodedata.normalize("NFC", joined) == unicodedata.normalize("NFC", "".join(kept.split()))


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("你好。 世界", ["你", "好", "。", "世", "界"]),
        ("がぎ", ["が", "ぎ"]),
        ("ที่นี่", ["ที่", "นี่"]),
        ("น้ำ", ["น้ำ"]),
        ("ខ្មែរ", ["ខ្មែ", "រ"]),
        ("e\u0301a", ["é", "a"]),
        ("👨\u200d👩\u200d👧x", ["👨\u200d👩\u200d👧", "x"]),
        ("🇩🇪🇫🇷", ["🇩🇪", "🇫🇷"]),
        ("👍🏽❤\ufe0f", ["👍🏽", "❤\ufe0f"]),
        ("3\ufe0f\u20e3", ["3\ufe0f\u20e3"]),
        ("辻\U000e0100", ["辻"]),
        ("か\u3099", ["か", "\u3099"]),
        ("", []),
        (" \n\u3000", []),
    ],
)
def test_characters(text: str, units: list[str]) -> None:
    assert split_units(text, "char") == units
    assert count(text, "char") == len(units)


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("10\u00a0000 Euro", ["10", "000", "Euro"]),
        ("a\u2028b\x1cc\x85d\x0be", ["a", "b", "c", "d", "e"]),
        ("e\u0301t\u00e9", ["été"]),
        ("zero\u200bwidth soft\u00adhyphen", ["zerowidth", "softhyphen"]),
        ("\u200e(\u202babc\u202c)\u200f", ["(abc)"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        ("क्\u200dष", ["क्\u200dष"]),
        ("Auf\u200clage", ["Auflage"]),
        ("a \u200d b", ["a", "b"]),
        ("x\ufffdy", ["x\ufffdy"]),
        ("\ud800", ["\ufffd"]),
    ],
)
def test_words_cleaned(text: str, units: list[str]) -> None:
    assert split_units(text, "word") == units


def test_a_long_word_is_cut_and_joined_again() -> None:
    text = "ab" * 15_000
    assert [len(unit) for unit in split_units(f"x {text} y", "word")] == [1, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, 1]
    counts = Counts()
    parts = splitter("word", counts)
    words = [*parts.feed(f"x {text}c y", 0.0), *parts.finish(0.0)]
    assert [word.space for word in words if hasattr(word, "space")] == [True, True, False, False, False, True]
    assert "".join(word.text for word in words[1:5]) == text + "c"  # type: ignore[union-attr]
    assert counts.cut_words == 1
    assert counts.words == 6


def test_everything_removed_is_counted() -> None:
    counts = Counts()
    assert Cleaner(counts).clean("\ufeffa\0b\x07c\u200bd\udfffe\ufeff") == "abcd\ufffde"
    assert counts.odd() == {"bom": 1, "nul": 1, "control": 1, "zero_width": 2, "invalid_bytes": 1}


def test_join() -> None:
    assert join_units(["a", "b."], "word") == "a b."
    assert join_units(["你", "好"], "char") == "你好"


def test_unknown_unit() -> None:
    with pytest.raises(UsageError, match="'syllable'"):
        split_units("a", "syllable")  # type: ignore[arg-type]
