"""Unit tokenizers: spaces, starts of words, line breaks."""

from __future__ import annotations

from pathlib import Path

import pytest
from families import tiny_own_model, tiny_tokenizer
from hypothesis import given
from hypothesis import strategies as st

from simulmt.errors import SimulmtError
from simulmt.text.tokenizers import Boundary, HubTokenizer, SuffixTokenizer

HUB = HubTokenizer(tiny_tokenizer("none"))
CHARACTERS = HubTokenizer(tiny_tokenizer("none"), characters=True)


@pytest.fixture(scope="module")
def suffix(tmp_path_factory: pytest.TempPathFactory) -> SuffixTokenizer:
    return SuffixTokenizer(tiny_own_model(tmp_path_factory.mktemp("own")) / "sentencepiece.model")


def joined(tokenizer: HubTokenizer, units: list[str], kind: str) -> str:
    tokens = [token for n, unit in enumerate(units) for token in tokenizer.encode(unit, n == 0, kind)]  # type: ignore[arg-type]
    return tokenizer.decode(tokens)


@pytest.mark.parametrize("tokenizer", [HUB, CHARACTERS], ids=["words", "characters"])
def test_spaces_belong_to_the_units_of_the_side_not_of_the_target(tokenizer: HubTokenizer) -> None:
    assert joined(tokenizer, ["the", "cat", "sleeps."], "word") == "the cat sleeps."
    assert joined(tokenizer, ["你", "好", "吗"], "char") == "你好吗"


@given(units=st.lists(st.text("abcÄß名,.'3", min_size=1, max_size=8), min_size=1, max_size=6))
def test_hub_units_come_back_as_they_were(units: list[str]) -> None:
    assert joined(HUB, units, "word") == " ".join(units)
    later = [HUB.encode(unit, False) for unit in units]
    assert all(HUB.starts_unit(tokens[0]) for tokens in later)


@given(unit=st.text("abcÄß名,.'3", min_size=1, max_size=8))
def test_suffix_units_end_with_their_last_token(suffix_tokens: SuffixTokenizer, unit: str) -> None:
    tokens = suffix_tokens.encode(unit, False)
    assert [suffix_tokens.ends_unit(token) for token in tokens] == [False] * (len(tokens) - 1) + [True]
    assert suffix_tokens.decode(tokens) == unit


@pytest.fixture(scope="module")
def suffix_tokens(suffix: SuffixTokenizer) -> SuffixTokenizer:
    return suffix


def test_boundaries(suffix: SuffixTokenizer) -> None:
    assert (suffix.boundary, HUB.boundary, CHARACTERS.boundary) == tuple(Boundary)


class Pieces:
    """A tokenizer that is no more than its pieces."""

    all_special_ids = (0,)
    added_tokens_decoder: dict[int, object] = {}  # noqa: RUF012

    def __init__(self, pieces: list[str]) -> None:
        self.pieces = pieces

    def __len__(self) -> int:
        return len(self.pieces)

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str]:
        return [self.pieces[number] for number in ids]

    def encode(self, text: str, add_special_tokens: bool) -> list[int]:
        return [1]


def test_tokens_that_hide_a_line_break_are_never_written() -> None:
    byte_level = HubTokenizer(Pieces(["<s>", "Ġa", ".ĊĊ", "Ċ", "!", ":Ċ"]), characters=True)
    assert byte_level.newlines == {3}
    assert byte_level.control == {0, 2, 5}


def test_letters_of_esperanto_are_no_marks_where_pieces_carry_another_mark() -> None:
    pieces = HubTokenizer(Pieces(["<s>", "▁a", "ĉeti", "Ġ", "Ċ", "\n", "<0x0A>"]), characters=True)
    assert [pieces.starts_unit(n) for n in range(1, 5)] == [True, False, False, False]
    assert pieces.newlines == {5, 6}


def test_a_tokenizer_without_word_starts_is_refused() -> None:
    with pytest.raises(SimulmtError, match="where words start"):
        HubTokenizer(Pieces(["<s>", "a"]))


def test_not_a_sentencepiece_model(tmp_path: Path) -> None:
    (tmp_path / "x.model").write_text("no")
    with pytest.raises(SimulmtError, match="SentencePiece"):
        SuffixTokenizer(tmp_path / "x.model")
