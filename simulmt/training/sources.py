"""Readers of parallel text: TSV, JSON lines or two plain files, each plain or gzipped, one line at a time."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import IO, cast

from simulmt.errors import SimulmtError, UsageError

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
SHOWN = 3
"""Line numbers that a report names for each kind of problem."""


class Problem(Enum):
    """What can be wrong with a line; all but the first two mean that its pair is skipped."""

    BYTE_ORDER_MARK = "byte order mark removed"
    CARRIAGE_RETURN = "Windows line end removed"
    EMPTY_LINE = "empty line skipped"
    NO_TAB = "line without a tab skipped"
    EXTRA_TABS = "line with more than one tab skipped"
    EMPTY_SIDE = "pair with an empty side skipped"
    NOT_UTF8 = "line that is not UTF-8 skipped"
    NOT_JSON = "line that is not a JSON object skipped"
    NO_KEY = "object without both texts skipped"
    NOT_ENCODED = "pair of which a side has no known characters skipped"
    TOO_LONG = "over-long pair skipped"


class BadLine(Exception):
    """A line that holds no pair."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.value)
        self.problem = problem


@dataclass(slots=True)
class DataReport:
    """What was found in the data, nothing is lost silently.

    Attributes:
        strict: stop at the first problem of any kind.
        pairs: pairs taken.
        counts: lines by kind of problem.
        examples: the first places (`file:line`) of each kind.
    """

    strict: bool = False
    pairs: int = 0
    counts: dict[Problem, int] = field(default_factory=dict)
    examples: dict[Problem, list[str]] = field(default_factory=dict)

    def note(self, problem: Problem, place: str) -> None:
        """Count a problem.

        Raises:
            SimulmtError: in strict mode.
        """
        if self.strict:
            raise SimulmtError(f"{place}: {problem.value.rsplit(' ', 1)[0]}", "correct it, or leave out --strict")
        self.counts[problem] = self.counts.get(problem, 0) + 1
        examples = self.examples.setdefault(problem, [])
        if len(examples) < SHOWN:
            examples.append(place)

    def lines(self) -> list[str]:
        """Return the report as lines of text, one a kind, in the order of `Problem`."""
        found = []
        for problem in Problem:
            count = self.counts.get(problem, 0)
            if count:
                places = ", ".join(self.examples[problem]) + (", …" if count > len(self.examples[problem]) else "")
                found.append(f"{count:,} × {problem.value} ({places})")
        return found


@dataclass(frozen=True, slots=True)
class RawPair:
    """A pair and where it stands."""

    place: Path
    line: int
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file of pairs, or two parallel ones.

    Attributes:
        path: TSV, or JSON lines if its name says so; with `target_path` the file of sources.
        target_path: the file of targets.
        weight: how often its pairs are seen in an epoch; 0.3 keeps three pairs in ten, drawn anew for each epoch.
    """

    path: Path
    target_path: Path | None = None
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Keys:
    """The names of both texts in JSON lines."""

    source: str = "source"
    target: str = "target"


def parse_data_file(text: str) -> DataFile:
    """Read `PATH` or `PATH@WEIGHT`.

    Raises:
        UsageError: a weight that is not a positive number.
    """
    path, at, weight = text.rpartition("@")
    if not at or Path(text).exists():
        return DataFile(Path(text))
    if not re.fullmatch(r"\d+(\.\d+)?|\.\d+", weight) or float(weight) == 0:
        raise UsageError(f"{text!r}: the weight after @ is {weight!r}", "give a positive number, e.g. data.tsv@0.5")
    return DataFile(Path(path), weight=float(weight))


def read_pairs(data: DataFile, report: DataReport, keys: Keys = Keys()) -> Iterator[RawPair]:
    """Yield the pairs of `data` in file order; problems go to `report`.

    Raises:
        SimulmtError: a file cannot be read, two parallel files differ in length, or a problem in strict mode.
    """
    if data.target_path is not None:
        yield from _read_parallel(data.path, data.target_path, report)
        return
    is_json = any(suffix in (".jsonl", ".json", ".ndjson") for suffix in data.path.suffixes)
    parse: Callable[[str], tuple[str, str]] = (lambda line: _parse_json(line, keys)) if is_json else _parse_tsv
    for number, raw in enumerate(_raw_lines(data.path), 1):
        place = f"{data.path}:{number}"
        try:
            source, target = parse(_text(raw, number, place, report))
            if not source.strip() or not target.strip():
                raise BadLine(Problem.EMPTY_SIDE)
        except BadLine as error:
            report.note(error.problem, place)
        else:
            yield RawPair(data.path, number, " ".join(source.split()), " ".join(target.split()))


def check_readable(data: DataFile) -> None:
    """Raise SimulmtError if a file is not there or cannot be read: told before anything takes long."""
    for path in (data.path, data.target_path):
        if path is not None:
            next(_raw_lines(path), None)


def _read_parallel(source_path: Path, target_path: Path, report: DataReport) -> Iterator[RawPair]:
    sources, targets = _raw_lines(source_path), _raw_lines(target_path)
    number = 0
    for number, raw in enumerate(sources, 1):
        other = next(targets, None)
        if other is None:
            raise SimulmtError(f"{target_path} ends after {number - 1} lines, {source_path} goes on", _PARALLEL)
        place = f"{source_path}:{number}"
        try:
            texts = [_text(raw, number, place, report), _text(other, number, f"{target_path}:{number}", report)]
            if not any(text.strip() for text in texts):
                raise BadLine(Problem.EMPTY_LINE)
            if not all(text.strip() for text in texts):
                raise BadLine(Problem.EMPTY_SIDE)
        except BadLine as error:
            report.note(error.problem, place)
        else:
            yield RawPair(source_path, number, *(" ".join(text.split()) for text in texts))
    if next(targets, None) is not None:
        raise SimulmtError(f"{source_path} ends after {number} lines, {target_path} goes on", _PARALLEL)


_PARALLEL = "line n of one must translate line n of the other"


def _raw_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a plain or gzipped file without their line feeds."""
    try:
        with _open(path) as stream:
            for line in stream:
                yield line.removesuffix(b"\n")
    except (OSError, EOFError, zlib.error) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or f"{error}"
        raise SimulmtError(f"{path} cannot be read: {reason}") from error


def _open(path: Path) -> IO[bytes]:
    """Open a file, gzipped or not: its first bytes tell, not its name."""
    stream = path.open("rb")
    if not stream.peek(2).startswith(b"\x1f\x8b"):
        return stream
    return cast("IO[bytes]", gzip.open(stream))


def _text(raw: bytes, number: int, place: str, report: DataReport) -> str:
    """Decode a line; a byte order mark and a carriage return are removed and counted."""
    if number == 1 and raw.startswith(BYTE_ORDER_MARK):
        raw = raw[len(BYTE_ORDER_MARK) :]
        report.note(Problem.BYTE_ORDER_MARK, place)
    if raw.endswith(b"\r"):
        raw = raw[:-1]
        report.note(Problem.CARRIAGE_RETURN, place)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadLine(Problem.NOT_UTF8) from error


def _parse_tsv(line: str) -> tuple[str, str]:
    if not line.strip():
        raise BadLine(Problem.EMPTY_LINE)
    parts = line.split("\t")
    if len(parts) == 1:
        raise BadLine(Problem.NO_TAB)
    if len(parts) > 2:
        raise BadLine(Problem.EXTRA_TABS)
    return parts[0], parts[1]


def _parse_json(line: str, keys: Keys) -> tuple[str, str]:
    if not line.strip():
        raise BadLine(Problem.EMPTY_LINE)
    try:
        record = json.loads(line)
    except ValueError as error:
        raise BadLine(Problem.NOT_JSON) from error
    if not isinstance(record, dict):
        raise BadLine(Problem.NOT_JSON)
    source, target = record.get(keys.source), record.get(keys.target)
    if not isinstance(source, str) or not isinstance(target, str):
        raise BadLine(Problem.NO_KEY)
    return source, target
