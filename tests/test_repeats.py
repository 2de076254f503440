"""Finding texts that go round in circles."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulmt.repeats import Repeats


@pytest.mark.parametrize(
    "text",
    [
        "no " * 8,
        "a b " * 5,
        "x y z " * 4,
        "one two three four five six seven eight " * 4,
        "start " + "und so weiter " * 4,
    ],
)
def test_found(text: str) -> None:
    assert Repeats.of(text.split())


@pytest.mark.parametrize(
    "text",
    ["no " * 7, "a b " * 4, "to be or not to be that is the question", "ha ha ha ha", "", "a b c d e f g h i " * 3],
)
def test_not_found(text: str) -> None:
    assert not Repeats.of(text.split())


@given(phrase=st.lists(st.text("abc", min_size=1), min_size=1, max_size=8), before=st.lists(st.text("xyz", min_size=1)))
def test_any_phrase_said_ten_times_is_found(phrase: list[str], before: list[str]) -> None:
    assert Repeats.of(before + phrase * 10)
