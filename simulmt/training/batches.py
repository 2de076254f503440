"""Batches: rows of a few fixed shapes, about as many tokens in each, in an order fixed by seed and epoch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from simulmt.model.layout import (
    IGNORED,
    GroupedSegment,
    segment_mask,
    source_positions,
    target_positions,
)
from simulmt.training.corpus import Corpus
from simulmt.training.examples import FULL, ExampleMaker, Lags, join_texts
from simulmt.training.rows import RowFiller, Shape, longest_pair, shapes, smallest

_UNREADABLE = 1 << 30
"""Source unit of padding: more than any target token has read."""


@dataclass(frozen=True, slots=True)
class Batch:
    """B rows in a shape of n source and m target tokens, each with one example or more.

    Attributes:
        tokens: [B, n + m] source groups one after another, padding, target groups in the same order, padding.
        source_units: [B, n] and `reads`: [B, m] as in layout.segment_mask.
        labels: [B, m] the next target token, IGNORED for heads and padding.
        positions: [B, n + m] of each token in its own group.
        members: [B, n + m] number of the example in its row that a token belongs to, from 1; 0 for padding.
    """

    tokens: Tensor
    source_units: Tensor
    reads: Tensor
    labels: Tensor
    positions: Tensor
    members: Tensor

    def mask(self) -> Tensor:
        """Return who sees whom, [B, 1, n + m, n + m] bool."""
        return segment_mask(self.source_units, self.reads, self.members)

    @property
    def label_count(self) -> int:
        """Target tokens to be learned."""
        return int((self.labels != IGNORED).sum())

    @property
    def token_count(self) -> int:
        """Tokens without padding."""
        return int((self.members > 0).sum())

    def rows(self, rows: slice) -> Batch:
        """Return some of the rows."""
        return Batch(*(part[rows] for part in self._parts))

    def to(self, device: torch.device) -> Batch:
        """Return the batch on a device."""
        return Batch(*(part.to(device, non_blocking=True) for part in self._parts))

    @property
    def _parts(self) -> tuple[Tensor, ...]:
        return (self.tokens, self.source_units, self.reads, self.labels, self.positions, self.members)


def collate(
    rows: Sequence[Sequence[GroupedSegment]], shape: Shape, phi: int, pad: int, count: int | None = None
) -> Batch:
    """Lay out rows of segments as one batch; with `count` given, empty rows fill it up to that number."""
    b, n = max(count or 0, len(rows)), shape.source
    tokens = np.full((b, shape.tokens), pad, np.int64)
    units = np.full((b, n), _UNREADABLE, np.int64)
    reads = np.zeros((b, shape.target), np.int64)
    labels = np.full((b, shape.target), IGNORED, np.int64)
    positions = np.zeros((b, shape.tokens), np.int64)
    members = np.zeros((b, shape.tokens), np.int64)
    for row, segments in enumerate(rows):
        start, begin = 0, 0
        for member, segment in enumerate(segments, 1):
            end, stop = start + len(segment.source), begin + len(segment.target)
            source, target = slice(start, end), slice(n + begin, n + stop)
            tokens[row, source], tokens[row, target] = segment.source, segment.target
            units[row, source] = segment.source_units
            reads[row, begin:stop], labels[row, begin:stop] = segment.reads, segment.labels
            positions[row, source] = source_positions(0, end - start)
            positions[row, target] = target_positions(0, stop - begin, phi)
            members[row, source] = members[row, target] = member
            start, begin = end, stop
    return Batch(*(torch.from_numpy(part) for part in (tokens, units, reads, labels, positions, members)))


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

    An epoch's examples are taken window by window. Within a window each goes into a row of a larger shape that has
    room left, or else into one of the smallest shape it fits, and a shape with enough full rows makes a batch; what is left
    at the end moves up to the next shape, so that at most one batch of a window is not full, and a place in the run is found
    again by remaking one window.

    Args:
        corpus, train: the pairs. `maker`: lays them out. `recipe`: what is drawn.
        max_length: tokens of a group, as in `shapes`.
        tokens: of a batch, padding included, to the nearest row.
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

    @cached_property
    def shapes(self) -> list[Shape]:
        source, target = self.corpus.lengths[self.train].mean(axis=0)
        return shapes(self.maker.frame, self.max_length, (float(source), float(target)))

    def row_count(self, shape: Shape) -> int:
        """Rows in a batch of a shape, over all workers."""
        return max(1, round(self.tokens / shape.tokens)) * self.workers

    @property
    def window(self) -> int:
        """Examples of a window."""
        return max(8192, 256 * self.row_count(self.shapes[0]))

    def plan(self, epoch: int) -> Plan:
        """Return the examples of an epoch."""
        return plan_epoch(self.corpus, self.train, self.recipe, self.max_length - 1, self.seed, epoch)

    def batches(self, start: Position = Position()) -> Iterator[tuple[Batch, Position]]:
        """Yield batches from `start` on, each with the position after it."""
        epoch, window, skip, seen = start.epoch, start.window, start.batch, start.seen
        while True:
            plan = self.plan(epoch)
            for first in range(window * self.window, len(plan), self.window):
                numbers = range(first, min(first + self.window, len(plan)))
                groups = list(self.groups(self._example(plan, number) for number in numbers))
                for number in range(skip, len(groups)):
                    shape, rows = groups[number]
                    seen += sum(map(len, rows))
                    last = number == len(groups) - 1
                    after = Position(epoch, window + last, 0 if last else number + 1, seen, len(plan))
                    if last and first + self.window >= len(plan):
                        after = Position(epoch + 1)
                    yield self.collate(shape, rows, self.fill), after
                window, skip = window + 1, 0
            epoch, window, skip, seen = epoch + 1, 0, 0, 0

    def groups(self, segments: Iterable[GroupedSegment]) -> Iterator[tuple[Shape, list[list[GroupedSegment]]]]:
        """Yield the segments as rows of batches; only the last may have fewer than `row_count`."""
        fillers = [RowFiller(shape) for shape in self.shapes]
        last = 0
        for segment in segments:
            place = smallest(self.shapes, segment)
            last = max(last, place)
            if not any(filler.add_to_open(segment) for filler in fillers[place + 1 :]):
                yield from self._put(segment, fillers[place])
        for filler, above in pairwise(fillers[: last + 1]):
            filler.close()
            for segment in chain.from_iterable(filler.full):
                yield from self._put(segment, above)
        end = fillers[last]
        end.close()
        while end.full:
            yield end.shape, end.take(self.row_count(end.shape))

    def _put(self, segment: GroupedSegment, filler: RowFiller) -> Iterator[tuple[Shape, list[list[GroupedSegment]]]]:
        filler.add(segment)
        count = self.row_count(filler.shape)
        if len(filler.full) >= count:
            yield filler.shape, filler.take(count)

    def _example(self, plan: Plan, number: int) -> GroupedSegment:
        index, k, peek = int(plan.first[number]), int(plan.k[number]), bool(plan.peek[number])
        source, target = self.corpus.pair(index)
        if plan.joined[number]:
            next_source, next_target = self.corpus.pair(index + 1)
            source = join_texts(source, next_source, self.maker.source)
            target = join_texts(target, next_target, self.maker.target)
        segment = self.maker.make(source, target, k, noisy=bool(plan.noisy[number]), peek=peek)
        longest = longest_pair(self.maker.frame, self.max_length)
        if len(segment.source) > longest.source:  # without capitals some words take more tokens
            segment = self.maker.make(source, target, k, peek=peek)
        return segment

    def collate(self, shape: Shape, rows: list[list[GroupedSegment]], fill: bool) -> Batch:
        """Lay out rows as a batch, with as many rows for each worker; `fill` as in the class."""
        share = -(-len(rows) // self.workers) * self.workers
        return collate(rows, shape, self.phi, self.pad, self.row_count(shape) if fill else share)
