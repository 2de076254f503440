"""The training data at hand: pairs on disk in one anonymous file, with an index in memory of a few bytes a pair.

Any pair can be read at any time, whatever the size of the data and however it was compressed, so examples come in an
order that is drawn for each epoch and can be found again after an interruption.
"""

from __future__ import annotations

import hashlib
import mmap
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from simulmt.errors import SimulmtError
from simulmt.training.progress import Track, untracked
from simulmt.training.sources import DataFile, DataReport, Keys, Problem, RawPair, read_pairs

MAX_VALID = 1000
"""Most pairs of a validation set that is drawn from the data."""
ENOUGH_VALID = 100
"""Fewer pairs tell little about which weights are better."""

Measure = Callable[[str, str], tuple[int, int] | None]
"""From source and target text to their numbers of tokens; None if a side has none."""


@dataclass
class Corpus:
    """Pairs in file order.

    Attributes:
        files: where they came from.
        file: [n] int32, for each pair its number in `files`.
        line: [n] int64, its line there (from 1).
        key: [n] uint64, hash of its source text.
        digest: SHA-256 of all pairs, in hexadecimal.
        lengths: [n, 2] int32, tokens of source and target; zeros until `measure` was called.
        usable: [n] bool, False for pairs that `measure` found too long or without known characters.
    """

    files: list[DataFile]
    file: NDArray[np.int32]
    line: NDArray[np.int64]
    key: NDArray[np.uint64]
    digest: str
    lengths: NDArray[np.int32]
    usable: NDArray[np.bool_]
    _spool: IO[bytes]
    _offsets: NDArray[np.int64]

    def __post_init__(self) -> None:
        self._bytes = mmap.mmap(self._spool.fileno(), 0, access=mmap.ACCESS_READ)

    def __len__(self) -> int:
        return len(self.line)

    def pair(self, index: int) -> tuple[str, str]:
        """Return source and target text of a pair."""
        start, end = int(self._offsets[index]), int(self._offsets[index + 1])
        source, _, target = self._bytes[start:end].decode("utf-8").partition("\t")
        return source, target

    def texts(self, indexes: Iterable[int]) -> Iterator[tuple[str, str]]:
        """Yield pairs by number."""
        return (self.pair(int(index)) for index in indexes)

    def place(self, index: int) -> str:
        """Return `file:line` of a pair."""
        return f"{self.files[self.file[index]].path}:{self.line[index]}"

    def close(self) -> None:
        """Give the disk space back."""
        self._bytes.close()
        self._spool.close()

    def measure(self, measure: Measure, limit: int, report: DataReport, track: Track = untracked) -> None:
        """Count the tokens of every pair; pairs with more than `limit` on a side are not `usable`. `track` shows it.

        Raises:
            SimulmtError: no pair is left, or a problem in strict mode.
        """
        for index in track(range(len(self)), "tokenizing", len(self)):
            lengths = measure(*self.pair(index))
            if lengths is None:
                problem = Problem.NOT_ENCODED
            elif max(lengths) > limit:
                problem = Problem.TOO_LONG
            else:
                self.lengths[index] = lengths
                self.usable[index] = True
                continue
            self.usable[index] = False
            report.note(problem, self.place(index))
        if not self.usable.any():
            raise SimulmtError(
                f"all {len(self):,} pairs are longer than {limit} tokens", "raise --max-length, or give shorter pairs"
            )


def read_corpus(
    files: Sequence[DataFile],
    report: DataReport,
    folder: Path,
    keys: Keys | None = None,
    track: Track = untracked,
) -> Corpus:
    """Read all files into a Corpus whose pairs lie in an unnamed file in `folder`, gone when the process ends.

    `track` shows how far it is.

    Raises:
        SimulmtError: unreadable or empty data, no disk space, or a problem in strict mode.
    """
    spool = tempfile.TemporaryFile(prefix=".pairs-", dir=folder)  # noqa: SIM115 - it lives as long as the Corpus
    builder = _Builder()
    try:
        for number, data in enumerate(files):
            before = builder.count
            for pair in track(read_pairs(data, report, keys or Keys()), f"reading {data.path}"):
                builder.add(number, pair, spool)
            if builder.count == before:
                raise SimulmtError(f"{data.path} holds no pair", _nothing(report))
        builder.flush(spool)
    except SimulmtError:
        spool.close()
        raise
    report.pairs += builder.count
    return builder.corpus(list(files), spool)


def _nothing(report: DataReport) -> str:
    found = report.lines()
    return f"found only: {'; '.join(found)}" if found else "the file is empty; expected lines of source<TAB>target"


class _Builder:
    """Collects the index while pairs are written."""

    def __init__(self) -> None:
        self.count = 0
        self._offsets = _Growing(np.int64)
        self._files = _Growing(np.int32)
        self._lines = _Growing(np.int64)
        self._keys = _Growing(np.uint64)
        self._digest = hashlib.sha256()
        self._written = 0
        self._buffer = bytearray()

    def add(self, file: int, pair: RawPair, spool: IO[bytes]) -> None:
        data = f"{pair.source}\t{pair.target}".encode()
        self._offsets.append(self._written)
        self._files.append(file)
        self._lines.append(pair.line)
        self._keys.append(source_key(pair.source))
        self._digest.update(data + b"\n")
        self._written += len(data)
        self._buffer += data
        self.count += 1
        if len(self._buffer) > 1 << 20:
            self.flush(spool)

    def flush(self, spool: IO[bytes]) -> None:
        try:
            spool.write(self._buffer)
            spool.flush()
        except OSError as error:
            raise SimulmtError(
                f"the data cannot be buffered on disk: {error.strerror}", "make space, or choose another --output"
            ) from error
        self._buffer.clear()

    def corpus(self, files: list[DataFile], spool: IO[bytes]) -> Corpus:
        self._offsets.append(self._written)
        return Corpus(
            files=files,
            file=self._files.array(),
            line=self._lines.array(),
            key=self._keys.array(),
            digest=self._digest.hexdigest(),
            lengths=np.zeros((self.count, 2), np.int32),
            usable=np.ones(self.count, np.bool_),
            _spool=spool,
            _offsets=self._offsets.array(),
        )


class _Growing:
    """A numpy array that grows at its end: a list of Python numbers would take ten times the memory."""

    def __init__(self, dtype: type[np.generic]) -> None:
        self._data: NDArray[Any] = np.zeros(1024, dtype)
        self._used = 0

    def append(self, value: int) -> None:
        if self._used == len(self._data):
            self._data = np.concatenate([self._data, np.zeros_like(self._data)])
        self._data[self._used] = value
        self._used += 1

    def array(self) -> NDArray[Any]:
        return self._data[: self._used].copy()


def source_key(source: str) -> int:
    """Return a 64-bit hash of a source text, by which pairs with the same source are found."""
    return int.from_bytes(hashlib.blake2b(source.encode(), digest_size=8).digest(), "little")


@dataclass(frozen=True, slots=True)
class Split:
    """Which pairs train and which validate.

    Attributes:
        train: numbers of pairs in the corpus, in file order.
        valid: the pairs of the validation set.
        held_out: pairs that do not train since their source is in the validation set.
    """

    train: NDArray[np.int64]
    valid: list[tuple[str, str]]
    held_out: int


def split_by_share(corpus: Corpus, share: float | None, seed: int) -> Split:
    """Draw `share` of the usable pairs (at most MAX_VALID, rounded down) to validate; none of their sources trains.

    None is one in a hundred, of little data ENOUGH_VALID, of very little one in ten. A pair's chance is its file's
    weight: what validates is the mixture that is trained on.
    """
    usable = np.flatnonzero(corpus.usable)
    total = len(usable)
    wanted = max(total // 100, min(ENOUGH_VALID, total // 10)) if share is None else int(total * share)
    count = min(MAX_VALID, wanted)
    weights = np.array([data.weight for data in corpus.files])[corpus.file[usable]]
    draw = np.random.default_rng([seed, 0x5A11D])
    chosen = np.sort(draw.choice(usable, count, replace=False, p=weights / weights.sum()))
    return _split(corpus, corpus.key[chosen], list(corpus.texts(chosen)), len(chosen))


def split_by_file(corpus: Corpus, valid: list[tuple[str, str]]) -> Split:
    """Validate on `valid`; none of its sources trains."""
    keys = np.array([source_key(source) for source, _ in valid], np.uint64)
    return _split(corpus, keys, valid, 0)


def _split(corpus: Corpus, keys: NDArray[np.uint64], valid: list[tuple[str, str]], drawn: int) -> Split:
    train = np.flatnonzero(corpus.usable & ~np.isin(corpus.key, keys)).astype(np.int64)
    if len(train) == 0:
        raise SimulmtError("every pair's source is in the validation set", "give more data, or --valid 0")
    return Split(train, valid, int(corpus.usable.sum()) - len(train) - drawn)
