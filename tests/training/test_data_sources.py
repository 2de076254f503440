import gzip
import json
from pathlib import Path

import pytest

from simulmt.errors import SimulmtError, UsageError
from simulmt.training.sources import DataFile, DataReport, Keys, Problem, parse_data_file, read_pairs


def pairs_of(data: DataFile, report: DataReport | None = None, keys: Keys | None = None) -> list[tuple[int, str, str]]:
    return [(p.line, p.source, p.target) for p in read_pairs(data, report or DataReport(), keys or Keys())]


def write(path: Path, content: bytes) -> DataFile:
    path.write_bytes(content)
    return DataFile(path)


def test_tsv_in_order_with_line_numbers(tmp_path: Path) -> None:
    data = write(tmp_path / "a.tsv", b"eins\tone\nzwei  mal\ttwice\n")
    assert pairs_of(data) == [(1, "eins", "one"), (2, "zwei mal", "twice")]


@pytest.mark.parametrize("name", ["a.tsv.gz", "no-suffix"])
def test_gzip_is_known_by_its_first_bytes(tmp_path: Path, name: str) -> None:
    assert pairs_of(write(tmp_path / name, gzip.compress(b"a\tb\n"))) == [(1, "a", "b")]


def test_every_kind_of_problem_is_counted_with_its_lines(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbfa\tb\r\n\nno tab\nx\ty\tz\n \tempty\n\xff\xfe\tbad\nlast\tline"
    data, report = write(tmp_path / "a.tsv", content), DataReport()
    assert pairs_of(data, report) == [(1, "a", "b"), (7, "last", "line")]
    assert report.counts == {
        Problem.BYTE_ORDER_MARK: 1,
        Problem.CARRIAGE_RETURN: 1,
        Problem.EMPTY_LINE: 1,
        Problem.NO_TAB: 1,
        Problem.EXTRA_TABS: 1,
        Problem.EMPTY_SIDE: 1,
        Problem.NOT_UTF8: 1,
    }
    assert report.examples[Problem.EXTRA_TABS] == [f"{tmp_path / 'a.tsv'}:4"]


def test_report_names_the_first_lines_and_counts_the_rest(tmp_path: Path) -> None:
    data, report = write(tmp_path / "a.tsv", b"x\n" * 1200 + b"a\tb\n"), DataReport()
    pairs_of(data, report)
    place = tmp_path / "a.tsv"
    assert report.lines() == [f"1,200 × line without a tab skipped ({place}:1, {place}:2, {place}:3, …)"]


@pytest.mark.parametrize(
    ("content", "line"), [(b"a\tb\n\n", 2), (b"a\tb\r\n", 1), (b"a\tb\nx\ty\tz\n", 2), (b"\xef\xbb\xbfa\tb\n", 1)]
)
def test_strict_stops_at_the_first_problem(tmp_path: Path, content: bytes, line: int) -> None:
    data = write(tmp_path / "a.tsv", content)
    with pytest.raises(SimulmtError, match=rf"a\.tsv:{line}: "):
        pairs_of(data, DataReport(strict=True))


def test_json_lines(tmp_path: Path) -> None:
    lines = [json.dumps({"en": "a", "de": "b"}), "{", "[]", json.dumps({"en": "a"}), json.dumps({"en": " ", "de": "b"})]
    data, report = write(tmp_path / "a.jsonl", "\n".join(lines).encode()), DataReport()
    assert pairs_of(data, report, Keys("en", "de")) == [(1, "a", "b")]
    assert report.counts == {Problem.NOT_JSON: 2, Problem.NO_KEY: 1, Problem.EMPTY_SIDE: 1}


def test_two_parallel_files(tmp_path: Path) -> None:
    write(tmp_path / "a.en", b"one\n\ntwo\nthree\n")
    write(tmp_path / "a.de", b"eins\n\n\ndrei\n")
    report = DataReport()
    data = DataFile(tmp_path / "a.en", tmp_path / "a.de")
    assert pairs_of(data, report) == [(1, "one", "eins"), (4, "three", "drei")]
    assert report.counts == {Problem.EMPTY_LINE: 1, Problem.EMPTY_SIDE: 1}


@pytest.mark.parametrize(("sources", "targets"), [(b"a\nb\n", b"a\n"), (b"a\n", b"a\nb\n")])
def test_parallel_files_of_different_length(tmp_path: Path, sources: bytes, targets: bytes) -> None:
    write(tmp_path / "a.en", sources)
    write(tmp_path / "a.de", targets)
    with pytest.raises(SimulmtError, match="ends after 1 lines"):
        pairs_of(DataFile(tmp_path / "a.en", tmp_path / "a.de"))


def test_unreadable_files_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(SimulmtError, match="No such file"):
        pairs_of(DataFile(tmp_path / "missing.tsv"))
    damaged = write(tmp_path / "a.tsv.gz", gzip.compress(b"a\tb\n" * 1000)[:-20])
    with pytest.raises(SimulmtError, match="cannot be read"):
        pairs_of(damaged)


def test_weights(tmp_path: Path) -> None:
    assert parse_data_file("a.tsv@0.5") == DataFile(Path("a.tsv"), weight=0.5)
    assert parse_data_file("a.tsv") == DataFile(Path("a.tsv"))
    odd = tmp_path / "odd@2"
    odd.write_text("")
    assert parse_data_file(str(odd)) == DataFile(odd)
    for wrong in ("a.tsv@x", "a.tsv@0", "a.tsv@-1"):
        with pytest.raises(UsageError, match="positive number"):
            parse_data_file(wrong)
