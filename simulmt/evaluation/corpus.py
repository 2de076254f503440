"""Test sets: source sentences with their references, from parallel text files or one file of pairs."""

from __future__ import annotations

from dataclasses import dataclass

from simulmt.errors import SimulmtError
from simulmt.scoring.reading import read_bytes, text_lines

_MARK = b"\xef\xbb\xbf"  # byte order mark of UTF-8


@dataclass(frozen=True, slots=True)
class Sentence:
    """One source sentence of a corpus, with its number (from 0) and, where there is one, its reference."""

    index: int
    source: str
    reference: str | None = None


def read_parallel(source: str, reference: str | None = None) -> list[Sentence]:
    """Read a source file and its reference file, one sentence a line each; blank lines keep their place.

    Raises:
        SimulmtError: a file cannot be read, is empty, or has another number of lines than the other.
    """
    sources = _lines(source)
    if reference is None:
        return [Sentence(index, text) for index, text in enumerate(sources)]
    references = _lines(reference)
    if len(sources) != len(references):
        raise SimulmtError(
            f"{source} has {len(sources)} lines but {reference} has {len(references)}",
            "each line of one must be the translation of the same line of the other",
        )
    return [Sentence(index, *pair) for index, pair in enumerate(zip(sources, references, strict=True))]


def read_pairs(path: str) -> list[Sentence]:
    """Read a file of `source<TAB>target` lines.

    Raises:
        SimulmtError: the file cannot be read or is empty, or a line is not a pair; names it.
    """
    sentences = []
    for number, line in enumerate(_lines(path), 1):
        fields = line.split("\t")
        if len(fields) != 2:
            raise SimulmtError(f"{path}:{number}: {len(fields)} field(s), expected source<TAB>target")
        sentences.append(Sentence(number - 1, *fields))
    return sentences


def blank_sources(sentences: list[Sentence]) -> int:
    """Return how many sentences have nothing to translate."""
    return sum(not sentence.source.strip() for sentence in sentences)


def _lines(path: str) -> list[str]:
    lines = text_lines(read_bytes(path).removeprefix(_MARK), path)
    if not lines:
        raise SimulmtError(f"{path} is empty", "expected one sentence a line")
    return lines
