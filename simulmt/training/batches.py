"""Batches: a fixed set of shapes, about the same number of tokens in each, in an order fixed by seed and epoch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from simulmt.model.layout import (
    IGNORED,
    Frame,
    GroupedSegment,
    segment_mask,
    source_positions,
    target_positions,
)
from simulmt.training.corpus import Corpus
from simulmt.training.examples import FULL, ExampleMaker, Lags, join_texts

LENGTHS = (12, 20, 32, 52, 96, 160, 256, 384, 512, 768, 1024)
"""Tokens of a group, its units and one token more: few shapes, so that a compiled model needs few compilations."""

_UNREADABLE = 1 << 30
"""Source unit of padding: more than any target token has read."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Widths of the padded source group and target group, in tokens."""

    source: int
    target: int

    @property
    def tokens(self) -> int:
        return self.source + self.target


def shapes(frame: Frame, max_length: int) -> list[Shape]:
    """Return the shapes for groups of up to `max_length` tokens around which `frame` stands, in ascending order."""
    lengths = [length for length in LENGTHS if length < max_length] + [max_length]
    source = len(frame.source_head) + len(frame.source_end) - 1
    target = len(frame.target_head) - 1
    return [Shape(length + source, length + target) for length in lengths]


@dataclass(frozen=True, slots=True)
class Batch:
    """B examples in a shape of n source and m target tokens.

    Attributes:
        tokens: [B, n + m] source group, padding, target group, padding.
        source_units: [B, n] and `reads`: [B, m] as in layout.segment_mask.
        labels: [B, m] the next target token, IGNORED for head and padding.
        positions: [1, n + m].
    """

    tokens: Tensor
    source_units: Tensor
    reads: Tensor
    labels: Tensor
    positions: Tensor

    def mask(self) -> Tensor:
        """Return who sees whom, [B, 1, n + m, n + m] bool."""
        return segment_mask(self.source_units, self.reads)

    @property
    def label_count(self) -> int:
        """Target tokens to be learned."""
        return int((self.labels != IGNORED).sum())

    @property
    def token_count(self) -> int:
        """Tokens without padding."""
        return int((self.source_units != _UNREADABLE).sum()) + int((self.reads > 0).sum())

    def rows(self, rows: slice) -> Batch:
        """Return some of the examples."""
        return Batch(self.tokens[rows], self.source_units[rows], self.reads[rows], self.labels[rows], self.positions)

    def to(self, device: torch.device) -> Batch:
        """Return the batch on a device."""
        parts = (self.tokens, self.source_units, self.reads, self.labels, self.positions)
        return Batch(*(part.to(device, non_blocking=True) for part in parts))


def collate(segments: Sequence[GroupedSegment], shape: Shape, phi: int, pad: int, rows: int | None = None) -> Batch:
    """Pad segments into one batch; with `rows` given, empty rows fill it up to that number."""
    count = max(rows or 0, len(segments))
    tokens = np.full((count, shape.tokens), pad, np.int64)
    units = np.full((count, shape.source), _UNREADABLE, np.int64)
    reads = np.zeros((count, shape.target), np.int64)
    labels = np.full((count, shape.target), IGNORED, np.int64)
    for row, segment in enumerate(segments):
        n, m = len(segment.source), len(segment.target)
        tokens[row, :n] = segment.source
        tokens[row, shape.source : shape.source + m] = segment.target
        units[row, :n] = segment.source_units
        reads[row, :m] = segment.reads
        labels[row, :m] = segment.labels
    positions = source_positions(0, shape.source) + target_positions(0, shape.target, phi)
    return Batch(
        tokens=torch.from_numpy(tokens),
        source_units=torch.from_numpy(units),
        reads=torch.from_numpy(reads),
        labels=torch.from_numpy(labels),
        positions=torch.tensor([positions]),
    )


@dataclass(frozen=True, slots=True)
class Recipe:
    """What is drawn for each example.

    Attributes:
        lags: values of k.
        noise: share of sources without case and punctuation.
        join: share of pairs joined with the next one of their file.
        peek: share of examples as in examples.peeking.
    """

    lags: Lags
    noise: float = 1 / 12
    join: float = 1 / 7
    peek: float = 1 / 4


@dataclass(frozen=True, slots=True)
class Plan:
    """The examples of one epoch in their order; a function of data, recipe, seed and epoch.

    Attributes:
        first: [n] number of the pair in the corpus.
        joined: [n] True if the next pair of the corpus belongs to the example as well.
        k: [n] as drawn.
        noisy, peek: [n].
    """

    first: NDArray[np.int64]
    joined: NDArray[np.bool_]
    k: NDArray[np.int32]
    noisy: NDArray[np.bool_]
    peek: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.first)


def plan_epoch(corpus: Corpus, train: NDArray[np.int64], recipe: Recipe, limit: int, seed: int, epoch: int) -> Plan:
    """Draw an epoch; joined pairs have at most `limit` tokens a side."""
    random = np.random.default_rng([seed, epoch])
    weights = np.array([data.weight for data in corpus.files])[corpus.file[train]]
    first, joined = [], []
    for repeat in range(int(np.ceil(weights.max()))):
        kept = train[random.random(len(train)) < weights - repeat]
        ones, twos = _join_neighbours(corpus, kept, recipe.join, limit, random)
        first.append(ones)
        joined.append(twos)
    if not any(map(len, first)):  # a small share of little data may leave none
        first, joined = [train[:1]], [np.zeros(1, np.bool_)]
    order = random.permutation(sum(map(len, first)))
    values = np.array(recipe.lags.values, np.int32)
    k = values[random.integers(len(values), size=len(order))]
    k[random.random(len(order)) < recipe.lags.full_share] = FULL
    noisy = random.random(len(order)) < recipe.noise
    peek = random.random(len(order)) < recipe.peek
    return Plan(np.concatenate(first)[order], np.concatenate(joined)[order], k, noisy, peek)


def _join_neighbours(
    corpus: Corpus, kept: NDArray[np.int64], share: float, limit: int, random: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Draw which pairs take the next line with them; return the examples' first pairs and whether they are joined."""
    wanted = random.random(len(kept)) < share
    here, after = kept[:-1], kept[1:]
    wanted[-1:] = False
    wanted[:-1] &= (after == here + 1) & (corpus.file[here] == corpus.file[after])
    wanted[:-1] &= corpus.line[after] == corpus.line[here] + 1
    # One token less: a word may take one more where it does not open the text.
    wanted[:-1] &= (corpus.lengths[here] + corpus.lengths[after] < limit).all(axis=1)
    # In a run of neighbours that all want to join, every second one is the partner of the one before.
    numbers = np.arange(len(kept))
    starts = np.maximum.accumulate(np.where(wanted, -1, numbers))
    wanted &= (numbers - starts) % 2 == 1
    partner = np.zeros(len(kept), np.bool_)
    partner[1:] = wanted[:-1]
    return kept[~partner], wanted[~partner]


@dataclass(frozen=True, slots=True)
class Position:
    """A place in the run's batches: all before it have been trained on.

    Attributes:
        epoch: epochs completed. `window`: windows of this epoch completed. `batch`: batches of this window completed.
        seen: examples of this epoch completed, of `total`.
    """

    epoch: int = 0
    window: int = 0
    batch: int = 0
    seen: int = 0
    total: int = 0

    @property
    def epochs(self) -> float:
        """Epochs completed, with the share of the present one."""
        return self.epoch + (self.seen / self.total if self.total else 0.0)


@dataclass(frozen=True)
class BatchSource:
    """The endless run of batches; starts anywhere.

    An epoch's examples are taken window by window. Within a window each goes to the smallest shape it fits, and a shape
    with enough examples makes a batch; what is left at the end moves up to the next shape, so that at most one batch of
    a window is not full, and a place in the run is found again by remaking one window.

    Args:
        corpus, train: the pairs. `maker`: lays them out. `recipe`: what is drawn.
        max_length: tokens of a group, as in `shapes`.
        tokens: of a batch, padding included.
        phi: φ. `pad`: the token that fills up.
        seed: of every draw.
        workers: processes that share each batch: it has that many times the tokens, and rows for all of them.
        fill: fill batches with empty rows to their full size, for compiled models.
    """

    corpus: Corpus
    train: NDArray[np.int64]
    maker: ExampleMaker
    recipe: Recipe
    max_length: int
    tokens: int
    phi: int
    pad: int
    seed: int
    workers: int = 1
    fill: bool = False

    @property
    def shapes(self) -> list[Shape]:
        return shapes(self.maker.frame, self.max_length)

    def row_count(self, shape: Shape) -> int:
        """Examples in a batch of a shape, over all workers."""
        return max(1, self.tokens // shape.tokens) * self.workers

    @property
    def window(self) -> int:
        """Examples of a window."""
        return max(8192, 64 * self.row_count(self.shapes[0]))

    def plan(self, epoch: int) -> Plan:
        """Return the examples of an epoch."""
        return plan_epoch(self.corpus, self.train, self.recipe, self.max_length - 1, self.seed, epoch)

    def batches(self, start: Position = Position()) -> Iterator[tuple[Batch, Position]]:
        """Yield batches from `start` on, each with the position after it."""
        epoch, window, skip, seen = start.epoch, start.window, start.batch, start.seen
        while True:
            plan = self.plan(epoch)
            for first in range(window * self.window, len(plan), self.window):
                groups = list(self._groups(range(first, min(first + self.window, len(plan))), plan))
                for number in range(skip, len(groups)):
                    shape, segments = groups[number]
                    seen += len(segments)
                    last = number == len(groups) - 1
                    after = Position(epoch, window + last, 0 if last else number + 1, seen, len(plan))
                    if last and first + self.window >= len(plan):
                        after = Position(epoch + 1)
                    yield self._collate(shape, segments), after
                window, skip = window + 1, 0
            epoch, window, skip, seen = epoch + 1, 0, 0, 0

    def _groups(self, numbers: range, plan: Plan) -> Iterator[tuple[Shape, list[GroupedSegment]]]:
        pools: list[list[GroupedSegment]] = [[] for _ in self.shapes]
        full = [self.row_count(shape) for shape in self.shapes]
        for number in numbers:
            segment = self._example(plan, number)
            place = self._place(segment)
            pools[place].append(segment)
            if len(pools[place]) == full[place]:
                yield self.shapes[place], pools[place]
                pools[place] = []
        used = max((place for place, pool in enumerate(pools) if pool), default=-1)
        for place in range(used + 1):
            pool = pools[place]
            while len(pool) >= full[place]:
                yield self.shapes[place], pool[: full[place]]
                pool = pool[full[place] :]
            if place == used and pool:
                yield self.shapes[place], pool
            elif pool:
                pools[place + 1] = pool + pools[place + 1]

    def _example(self, plan: Plan, number: int) -> GroupedSegment:
        index, k, peek = int(plan.first[number]), int(plan.k[number]), bool(plan.peek[number])
        source, target = self.corpus.pair(index)
        if plan.joined[number]:
            next_source, next_target = self.corpus.pair(index + 1)
            source = join_texts(source, next_source, self.maker.source)
            target = join_texts(target, next_target, self.maker.target)
        segment = self.maker.make(source, target, k, noisy=bool(plan.noisy[number]), peek=peek)
        if len(segment.source) > self.shapes[-1].source:  # without capitals some words take more tokens
            segment = self.maker.make(source, target, k, peek=peek)
        return segment

    def _place(self, segment: GroupedSegment) -> int:
        return next(
            place
            for place, shape in enumerate(self.shapes)
            if len(segment.source) <= shape.source and len(segment.target) <= shape.target
        )

    def _collate(self, shape: Shape, segments: list[GroupedSegment]) -> Batch:
        share = -(-len(segments) // self.workers) * self.workers
        return collate(segments, shape, self.phi, self.pad, self.row_count(shape) if self.fill else share)
