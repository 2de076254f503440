from pathlib import Path

import numpy as np
import pytest

from simulmt.errors import SimulmtError
from simulmt.training.corpus import Corpus, read_corpus, split_by_file, split_by_share
from simulmt.training.quality import spread
from simulmt.training.sources import DataFile, DataReport, Problem


def corpus_of(folder: Path, pairs: list[tuple[str, str]], report: DataReport | None = None) -> Corpus:
    path = folder / "pairs.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    return read_corpus([DataFile(path)], report or DataReport(), folder)


def by_words(source: str, target: str) -> tuple[int, int]:
    return len(source.split()), len(target.split())


def test_any_pair_can_be_read(tmp_path: Path) -> None:
    pairs = [(f"source {n} ä", f"target {n} 猫") for n in range(3000)]
    report = DataReport()
    corpus = corpus_of(tmp_path, pairs, report)
    assert len(corpus) == report.pairs == 3000
    assert [corpus.pair(n) for n in (2999, 0, 1500)] == [pairs[2999], pairs[0], pairs[1500]]
    assert [path.name for path in tmp_path.iterdir()] == ["pairs.tsv"]  # the buffer has no name


def test_digest_is_of_the_pairs_not_of_the_files(tmp_path: Path) -> None:
    one = corpus_of(tmp_path, [("a", "b")])
    (tmp_path / "x.tsv").write_bytes(b"\na\tb\r\n")
    assert read_corpus([DataFile(tmp_path / "x.tsv")], DataReport(), tmp_path).digest == one.digest
    assert corpus_of(tmp_path, [("a", "c")]).digest != one.digest


@pytest.mark.parametrize(("content", "match"), [("", "is empty"), ("x\ny\n", "found only: 2 × line without a tab")])
def test_a_file_without_pairs(tmp_path: Path, content: str, match: str) -> None:
    (tmp_path / "a.tsv").write_text(content)
    with pytest.raises(SimulmtError, match=match):
        read_corpus([DataFile(tmp_path / "a.tsv")], DataReport(), tmp_path)


def test_too_long_pairs_are_reported_with_their_place(tmp_path: Path) -> None:
    report = DataReport()
    corpus = corpus_of(tmp_path, [("a b", "c"), ("a b c", "d"), ("a", "b c d")], report)
    corpus.measure(by_words, 2, report)
    assert corpus.usable.tolist() == [True, False, False]
    assert report.examples[Problem.TOO_LONG] == [f"{tmp_path / 'pairs.tsv'}:{line}" for line in (2, 3)]
    with pytest.raises(SimulmtError, match="all 3 pairs are longer than 0 tokens"):
        corpus.measure(by_words, 0, DataReport())


def test_validation_sources_never_train(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, [(f"s{n % 150}", f"t{n}") for n in range(300)])
    split = split_by_share(corpus, 0.1, seed=3)
    assert len(split.valid) == 30
    valid_sources = {source for source, _ in split.valid}
    assert valid_sources.isdisjoint(source for source, _ in corpus.texts(split.train))
    assert len(split.train) + len(split.valid) + split.held_out == 300
    assert split.held_out > 0
    assert split.valid == split_by_share(corpus, 0.1, seed=3).valid
    assert split.valid != split_by_share(corpus, 0.1, seed=4).valid


def test_a_share_of_few_pairs_is_rounded_down(tmp_path: Path) -> None:
    split = split_by_share(corpus_of(tmp_path, [(f"s{n}", "t") for n in range(32)]), 0.01, seed=0)
    assert split.valid == []
    assert np.array_equal(split.train, np.arange(32))


@pytest.mark.parametrize(("total", "valid"), [(8, 0), (32, 3), (2_000, 100), (30_000, 300)])
def test_a_share_that_fits_the_data(tmp_path: Path, total: int, valid: int) -> None:
    split = split_by_share(corpus_of(tmp_path, [(f"s{n}", "t") for n in range(total)]), None, seed=0)
    assert len(split.valid) == valid


def test_files_validate_by_their_weight(tmp_path: Path) -> None:
    files = []
    for name, weight in (("manuals", 0.1), ("talks", 2.0)):
        path = tmp_path / f"{name}.tsv"
        path.write_text("".join(f"{name} {n}\tt\n" for n in range(1000)), encoding="utf-8")
        files.append(DataFile(path, weight=weight))
    corpus = read_corpus(files, DataReport(), tmp_path)
    split = split_by_share(corpus, 0.1, seed=0)
    manuals = sum(source.startswith("manuals") for source, _ in split.valid)
    assert len(split.valid) == 200
    assert 2 <= manuals <= 20


def test_validation_file(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, [("a", "b"), ("c", "d"), ("a", "e")])
    split = split_by_file(corpus, [("a", "x")])
    assert split.train.tolist() == [1]
    assert split.held_out == 2
    with pytest.raises(SimulmtError, match="every pair's source"):
        split_by_file(corpus, [("a", "x"), ("c", "x")])


@pytest.mark.parametrize(("total", "count", "kept"), [(0, 5, []), (3, 5, [0, 1, 2]), (10, 5, [0, 2, 4, 6, 8])])
def test_pairs_that_are_scored_come_from_the_whole_set(total: int, count: int, kept: list[int]) -> None:
    pairs = [(f"s{n}", "t") for n in range(total)]
    assert spread(pairs, count) == [pairs[n] for n in kept]
