"""From data options to batches: reading, measuring, splitting."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import torch

from simulmt.errors import SimulmtError, UsageError
from simulmt.training.batches import Batch, BatchSource, Recipe
from simulmt.training.corpus import Corpus, Split, read_corpus, split_by_file, split_by_share
from simulmt.training.examples import ExampleMaker, Lags
from simulmt.training.progress import Display, Track
from simulmt.training.sources import DataFile, DataReport, Keys, check_readable, read_pairs

VALID_LAG = 3
"""The k at which the validation loss is measured."""


@dataclass(frozen=True)
class DataOptions:
    """What to train on, and how it is cut.

    Attributes:
        files: in order. `keys`: of JSON lines.
        valid: a file of validation pairs, or the share of the data that validates (0 for none); None for a share that
            fits the size of the data.
        strict: stop at the first bad line.
        recipe: k, noise, joining.
        max_length: tokens of one side, with its end; longer pairs are left out.
        batch_tokens: tokens of a batch, padding included.
        seed: of all draws.
    """

    files: list[DataFile]
    keys: Keys = field(default_factory=Keys)
    valid: str | None = None
    strict: bool = False
    recipe: Recipe = field(default_factory=lambda: Recipe(Lags.parse("1-10")))
    max_length: int = 96
    batch_tokens: int = 4608
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.files:
            raise UsageError("no data", "give files of source<TAB>target lines, or --source and --target")
        if self.max_length < 8:
            raise UsageError(f"--max-length must be at least 8, not {self.max_length}")
        for name, value in (("--noise", self.recipe.noise), ("--join", self.recipe.join)):
            if not 0 <= value <= 1:
                raise UsageError(f"{name} must be between 0 and 1, not {value:g}")

    @property
    def valid_from(self) -> Path | float | None:
        """The file whose pairs validate, or the share of the data that does, or None.

        Raises:
            UsageError: a share that is not below 1, or neither a file nor a number.
        """
        if self.valid is None:
            return None
        try:
            share = float(self.valid)
        except ValueError:
            if not Path(self.valid).exists():
                raise UsageError(f"--valid {self.valid!r} is neither a file nor a share", "e.g. 0.01") from None
            return Path(self.valid)
        if not 0 <= share < 1:
            raise UsageError(f"--valid must be at least 0 and below 1, not {self.valid}")
        return share


@dataclass(frozen=True)
class Prepared:
    """Data ready to train on.

    Attributes:
        corpus, split: all pairs, and which do what.
        source: training batches. `valid`: validation batches at k = VALID_LAG.
        report: what was found in the files.
    """

    corpus: Corpus
    split: Split
    source: BatchSource
    valid: list[Batch]
    report: DataReport


def check_data(options: DataOptions) -> None:
    """Raise if a file cannot be read or --valid is wrong: told before anything takes long."""
    valid = options.valid_from
    for data in [*options.files, *([DataFile(valid)] if isinstance(valid, Path) else [])]:
        check_readable(data)


def read_data(options: DataOptions, folder: Path, track: Track) -> tuple[Corpus, DataReport]:
    """Read all files; `folder` takes the buffer on disk, `track` shows how far it is."""
    report = DataReport(options.strict)
    return read_corpus(options.files, report, folder, options.keys, track), report


def prepare(
    options: DataOptions,
    corpus: Corpus,
    report: DataReport,
    maker: ExampleMaker,
    *,
    phi: int,
    pad: int,
    workers: int,
    fill: bool,
    display: Display,
) -> Prepared:
    """Measure, split and batch a corpus; `display` tells what was found.

    Raises:
        SimulmtError: nothing is left to train on.
    """
    corpus.measure(maker.measure, options.max_length - 1, report, display.track)
    for line in report.lines():
        display.note(line)
    split = _split(options, corpus, maker)
    source = BatchSource(
        corpus=corpus,
        train=split.train,
        maker=maker,
        recipe=options.recipe,
        max_length=options.max_length,
        tokens=options.batch_tokens,
        phi=phi,
        pad=pad,
        seed=options.seed,
        workers=workers,
        fill=fill,
    )
    held_out = f", {split.held_out:,} left out whose source is among these" if split.held_out else ""
    display.note(f"{len(split.train):,} pairs train, {len(split.valid):,} validate{held_out}")
    return Prepared(corpus, split, source, validation_batches(split.valid, source), report)


def _split(options: DataOptions, corpus: Corpus, maker: ExampleMaker) -> Split:
    valid = options.valid_from
    if not isinstance(valid, Path):
        return split_by_share(corpus, valid, options.seed)
    report = DataReport(options.strict)
    pairs = [(pair.source, pair.target) for pair in read_pairs(DataFile(valid), report, options.keys)]
    pairs = [pair for pair in pairs if _fits(pair, maker, options.max_length - 1)]
    if not pairs:
        raise SimulmtError(f"{options.valid} holds no pair that can validate", "; ".join(report.lines()) or None)
    return split_by_file(corpus, pairs)


def _fits(pair: tuple[str, str], maker: ExampleMaker, limit: int) -> bool:
    lengths = maker.measure(*pair)
    return lengths is not None and max(lengths) <= limit


def validation_batches(pairs: list[tuple[str, str]], source: BatchSource) -> list[Batch]:
    """Return the pairs in batches, all laid out for k = VALID_LAG."""
    segments = (source.maker.make(*pair, VALID_LAG) for pair in pairs)
    return [source.collate(shape, rows, fill=False) for shape, rows in source.groups(segments)]


def pad_token(config: object) -> int:
    """Return the token that fills up: it is never seen by another token, so any will do."""
    pad = getattr(config, "pad_token_id", None)
    size = int(getattr(config, "vocab_size", 1))
    return pad if isinstance(pad, int) and 0 <= pad < size else 0


def tokens_per_epoch(prepared: Prepared) -> int:
    """Return the tokens of an average epoch, frames included, padding not."""
    corpus, frame = prepared.corpus, prepared.source.maker.frame
    overhead = len(frame.source_head) + len(frame.source_end) + len(frame.target_head)
    train = prepared.split.train
    weights = torch.tensor([data.weight for data in corpus.files])[torch.from_numpy(corpus.file[train]).long()]
    lengths = torch.from_numpy(corpus.lengths[train].sum(axis=1)) + overhead
    return int((weights * lengths).sum())
