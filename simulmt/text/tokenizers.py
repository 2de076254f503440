"""Word-wise tokenizers: units to tokens and back, and how a written token tells where a unit ends.

Three kinds of vocabulary occur:

* SUFFIX: white space is part of the token that ends a word (our own SentencePiece models, trained with
  `treat_whitespace_as_suffix`). The last token of a unit is known as such when it is written.
* PREFIX: white space is part of the token that starts a word (nearly all hub models). That a unit is over is known only
  when the first token of the next one shows up.
* CHARACTER: units are characters (zh, ja, th, …) and a token holds none, one or many of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

from simulmt.errors import SimulmtError
from simulmt.text.events import Unit


class Boundary(Enum):
    """How the end of a target unit shows in the tokens."""

    SUFFIX = "suffix"
    PREFIX = "prefix"
    CHARACTER = "character"


class UnitTokenizer(Protocol):
    """Encodes one unit at a time, so that a unit has the same tokens whatever follows it."""

    boundary: Boundary
    size: int
    """Number of tokens in the vocabulary."""

    @property
    def control(self) -> frozenset[int]:
        """Tokens that are never printed: specials and control tokens."""
        ...

    def encode(self, unit: str, first: bool, unit_kind: Unit = "word") -> list[int]:
        """Return the tokens of one unit; empty if nothing of it can be encoded.

        Args:
            unit: its text.
            first: True if it opens its group.
            unit_kind: `word` for units with a space between them, `char` for those without.
        """
        ...

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of the tokens, white space at either end removed."""
        ...

    def ends_unit(self, token: int) -> bool:
        """SUFFIX only: True if a unit ends with this token."""
        ...

    def starts_unit(self, token: int) -> bool:
        """PREFIX only: True if this token can only be the first of a unit."""
        ...


class SuffixTokenizer:
    """A SentencePiece model of our own, whose pieces carry the white space after them."""

    boundary = Boundary.SUFFIX

    def __init__(self, path: Path) -> None:
        """Load `path`.

        Raises:
            SimulmtError: the file is missing, not SentencePiece, or not of the word-suffix kind.
        """
        from sentencepiece import SentencePieceProcessor

        self.path = path
        try:
            self.model = SentencePieceProcessor(model_file=str(path))
        except (OSError, RuntimeError) as error:
            raise SimulmtError(f"{path} is not a SentencePiece model: {error}") from error
        self.size = int(self.model.get_piece_size())
        pieces = [self.model.id_to_piece(i) for i in range(self.size)]
        self._ends = [piece.endswith("▁") for piece in pieces]
        if not any(self._ends) or any(piece.startswith("▁") and len(piece) > 1 for piece in pieces):
            raise SimulmtError(
                f"{path} marks the start of words, not their end", "train it with treat_whitespace_as_suffix"
            )
        self._control = frozenset(
            i
            for i in range(self.size)
            if self.model.is_control(i) or self.model.is_unknown(i) or self.model.is_unused(i)
        )
        self._cache: dict[str, list[int]] = {}

    @property
    def control(self) -> frozenset[int]:
        return self._control

    def encode(self, unit: str, first: bool, unit_kind: Unit = "word") -> list[int]:
        tokens = self._cache.get(unit)
        if tokens is None:
            tokens = list(self.model.encode(unit))
            if len(self._cache) < 100_000:
                self._cache[unit] = tokens
        return list(tokens)

    def decode(self, tokens: Sequence[int]) -> str:
        return str(self.model.decode([token for token in tokens if token not in self._control])).strip()

    def ends_unit(self, token: int) -> bool:
        return self._ends[token]

    def starts_unit(self, token: int) -> bool:
        return False


# What white space and line breaks look like in a token: as themselves, in SentencePiece and in byte-level BPE.
_SENTENCEPIECE_SPACES, _SENTENCEPIECE_BREAKS = ("▁", " ", "\n", "\t"), ("\n", "<0x0A>")
_BYTE_LEVEL_SPACES, _BYTE_LEVEL_BREAKS = ("Ġ", "Ċ", "ĉ", "č", " ", "\n", "\t"), ("Ċ", "\n")
_ANCHOR = "x"


class HubTokenizer:
    """A tokenizer of a transformers model; `characters` for target languages whose units are characters."""

    def __init__(self, tokenizer: Any, *, characters: bool = False) -> None:
        """Wrap `tokenizer`.

        Raises:
            SimulmtError: its tokens mark neither starts of words nor anything else we could find units by.
        """
        self.tokenizer = tokenizer
        self.boundary = Boundary.CHARACTER if characters else Boundary.PREFIX
        self.size = len(tokenizer)
        self._anchor = self._raw(_ANCHOR)
        pieces = [str(piece) for piece in tokenizer.convert_ids_to_tokens(list(range(self.size)))]
        # Only one of the two alphabets is in use: in the other its marks are letters, e.g. of Esperanto and Maltese.
        sentencepiece = any(piece.startswith("▁") for piece in pieces)
        spaces = _SENTENCEPIECE_SPACES if sentencepiece else _BYTE_LEVEL_SPACES
        breaks = _SENTENCEPIECE_BREAKS if sentencepiece else _BYTE_LEVEL_BREAKS
        self._starts = [piece.startswith(spaces) for piece in pieces]
        self.newlines = frozenset(number for number, piece in enumerate(pieces) if piece.startswith(breaks))
        # A token that goes on after a line break, or ends in one, would hide it: such a token is not written.
        hidden = {
            number
            for number, piece in enumerate(pieces)
            if number not in self.newlines and any(mark in piece for mark in breaks)
        }
        self.specials = frozenset(tokenizer.all_special_ids) | {
            int(number) for number, token in tokenizer.added_tokens_decoder.items() if token.special
        }
        self._control = self.specials | hidden
        self._cache: dict[tuple[str, bool, Unit], list[int]] = {}
        if not characters:
            self._check()

    def _check(self) -> None:
        for probe in ("cat", "Haus", "2014"):
            tokens = self._encode(probe, False, "word")
            if not tokens or not self._starts[tokens[0]]:
                raise SimulmtError(
                    f"this model's tokenizer does not mark where words start (tried {probe!r})",
                    "only models whose tokens carry the space before a word can write word by word",
                )

    def _raw(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(text, add_special_tokens=False))

    @property
    def control(self) -> frozenset[int]:
        return self._control

    def _encode(self, unit: str, first: bool, unit_kind: Unit) -> list[int]:
        tokens = self._raw(unit) if first else self._encode_later(unit, " " if unit_kind == "word" else "")
        return [token for token in tokens if token not in self.specials]

    def _encode_later(self, unit: str, space: str) -> list[int]:
        """Encode behind an anchor, since tokenizers treat the beginning of a text apart."""
        tokens, anchor = self._raw(_ANCHOR + space + unit), self._anchor
        if tokens[: len(anchor)] == anchor:
            return tokens[len(anchor) :]
        return self._raw(space + unit)  # the anchor melted into the unit, as in unspaced text

    def encode(self, unit: str, first: bool, unit_kind: Unit = "word") -> list[int]:
        key = (unit, first, unit_kind)
        tokens = self._cache.get(key)
        if tokens is None:
            tokens = self._encode(unit, first, unit_kind)
            if len(self._cache) < 100_000:
                self._cache[key] = tokens
        return list(tokens)

    def decode(self, tokens: Sequence[int]) -> str:
        text = self.tokenizer.decode(list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return str(text).strip()

    def ends_unit(self, token: int) -> bool:
        return False

    def starts_unit(self, token: int) -> bool:
        return self._starts[token]
