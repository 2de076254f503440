"""Reading test sets: pairing by line, and what is refused."""

from pathlib import Path

import pytest

from simulmt.errors import SimulmtError
from simulmt.evaluation.corpus import Sentence, blank_sources, read_pairs, read_parallel


def written(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return str(path)


def test_parallel_files_pair_line_by_line(tmp_path: Path) -> None:
    source = written(tmp_path / "en", b"\xef\xbb\xbfone two\r\n\r\nthree")
    reference = written(tmp_path / "de", b"eins zwei\n\ndrei\n")
    sentences = read_parallel(source, reference)
    assert sentences == [Sentence(0, "one two", "eins zwei"), Sentence(1, "", ""), Sentence(2, "three", "drei")]
    assert blank_sources(sentences) == 1
    assert read_parallel(source)[2] == Sentence(2, "three", None)


def test_other_counts_are_told(tmp_path: Path) -> None:
    source, reference = written(tmp_path / "en", b"a\nb\n"), written(tmp_path / "de", b"a\n")
    with pytest.raises(SimulmtError, match=r"en has 2 lines but .*de has 1"):
        read_parallel(source, reference)


def test_pairs(tmp_path: Path) -> None:
    assert read_pairs(written(tmp_path / "p.tsv", b"one\teins\ntwo\tzwei\n")) == [
        Sentence(0, "one", "eins"),
        Sentence(1, "two", "zwei"),
    ]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b"one\teins\nno tab\n", r"p.tsv:2: 1 field"),
        (b"a\tb\tc\n", r"p.tsv:1: 3 field"),
        (b"a\t\xff\n", r"p.tsv:1: not UTF-8"),
    ],
)
def test_what_is_no_file_of_pairs(tmp_path: Path, data: bytes, said: str) -> None:
    with pytest.raises(SimulmtError, match=said):
        read_pairs(written(tmp_path / "p.tsv", data))


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(SimulmtError, match="cannot be read"):
        read_parallel(str(tmp_path / "none"))
