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

    def encode(self, unit: str, first: bool) -> list[int]:
        """Return the tokens of one unit; `first` if it opens its group. Empty if nothing of it can be encoded."""
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

    def encode(self, unit: str, first: bool) -> list[int]:
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


# What white space looks like at the start of a token: itself, SentencePiece's mark, and its byte-level BPE forms.
_SPACE_MARKS = (" ", "▁", "Ġ", "Ċ", "ĉ", "\n", "\t")
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
        pieces = tokenizer.convert_ids_to_tokens(list(range(self.size)))
        self._starts = [str(piece).startswith(_SPACE_MARKS) for piece in pieces]
        self._cache: dict[tuple[str, bool], list[int]] = {}
        self._control: frozenset[int] = frozenset(tokenizer.all_special_ids) | {
            int(number) for number, token in tokenizer.added_tokens_decoder.items() if token.special
        }
        self.newlines = frozenset(
            number for number, piece in enumerate(pieces) if str(piece).startswith(("\n", "Ċ", "<0x0A>"))
        )
        if not characters:
            self._check()

    def _check(self) -> None:
        for probe in ("cat", "Haus", "2014"):
            tokens = self.encode_new(probe, first=False)
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

    def encode_new(self, unit: str, first: bool) -> list[int]:
        """Encode without the cache. A later word is encoded behind an anchor, since tokenizers treat the first apart."""
        tokens = self._raw(unit) if first else self._encode_later(unit)
        return [token for token in tokens if token not in self._control]

    def _encode_later(self, unit: str) -> list[int]:
        space = "" if self.boundary is Boundary.CHARACTER else " "
        tokens, anchor = self._raw(_ANCHOR + space + unit), self._anchor
        if tokens[: len(anchor)] == anchor:
            return tokens[len(anchor) :]
        return self._raw(space + unit)  # the anchor melted into the unit, as in unspaced text

    def encode(self, unit: str, first: bool) -> list[int]:
        key = (unit, first)
        tokens = self._cache.get(key)
        if tokens is None:
            tokens = self.encode_new(unit, first)
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
