from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from families import tiny_own_model
from hypothesis import given, settings
from hypothesis import strategies as st
from training_pairs import PAIRS, SENTENCES

from simulmt.model.layout import Frame, GroupedSegment
from simulmt.model.loading import Options, load
from simulmt.training.batches import Batch, BatchSource, Plan, Position, Recipe
from simulmt.training.corpus import read_corpus
from simulmt.training.examples import FULL, ExampleMaker, Lags
from simulmt.training.rows import LENGTHS, RowFiller, Shape, longest_pair, shapes
from simulmt.training.sources import DataFile, DataReport

MANY = [(f"{source} {number}", f"{target} {number}") for number in range(40) for source, target in PAIRS]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> BatchSource:
    folder = tmp_path_factory.mktemp("source")
    own = load(str(tiny_own_model(folder / "own", sentences=SENTENCES, pieces=330)), options=Options(device="cpu"))
    maker = ExampleMaker(own.prompt.frame, own.tokenizer, own.source, own.target)
    path = folder / "pairs.tsv"
    path.write_text("".join(f"{a}\t{b}\n" for a, b in MANY), encoding="utf-8")
    corpus = read_corpus([DataFile(path)], DataReport(), folder)
    corpus.measure(maker.measure, 95, DataReport())
    recipe = Recipe(Lags.parse("1-10"))
    return BatchSource(corpus, np.arange(len(MANY)), maker, recipe, 96, 1024, phi=0, pad=3, seed=1)


def epoch(source: BatchSource, number: int = 0) -> list[tuple[Batch, Position]]:
    batches = []
    for batch, after in source.batches(Position(number)):
        batches.append((batch, after))
        if after.epoch > number:
            return batches
    raise AssertionError


def test_every_pair_is_seen_once_an_epoch(source: BatchSource) -> None:
    plan = source.plan(0)
    pairs = Counter(plan.first.tolist()) + Counter((plan.first[plan.joined] + 1).tolist())
    assert pairs == Counter(range(len(MANY)))
    assert sum(int(batch.members.amax(1).sum()) for batch, _ in epoch(source)) == len(plan)


def test_draws_have_their_shares(source: BatchSource) -> None:
    plans = [source.plan(number) for number in range(4)]

    def mean(of: str) -> float:
        return float(np.concatenate([getattr(plan, of) for plan in plans]).mean())

    k = np.concatenate([plan.k for plan in plans])
    assert (k == FULL).mean() == pytest.approx(0.2, abs=0.02)
    assert np.bincount(k, minlength=11)[1:] / len(k) == pytest.approx(np.full(10, 0.08), abs=0.02)
    assert mean("noisy") == pytest.approx(1 / 12, abs=0.02)
    # a pair whose predecessor took it along cannot be first, hence a little less than one in seven
    assert 0.10 < mean("joined") < 1 / 7 + 0.02


def test_no_joining_no_noise(source: BatchSource) -> None:
    plan = replace(source, recipe=Recipe(Lags.parse("3"), noise=0.0, join=0.0)).plan(0)
    assert not plan.joined.any()
    assert not plan.noisy.any()
    assert set(plan.k.tolist()) == {3}


def test_batches_depend_on_seed_and_epoch_only(source: BatchSource) -> None:
    def same(a: list[tuple[Batch, Position]], b: list[tuple[Batch, Position]]) -> bool:
        return all(torch.equal(x.tokens, y.tokens) for (x, _), (y, _) in zip(a, b, strict=False))

    first = epoch(source)
    assert same(first, epoch(source))
    assert not same(first, epoch(source, 1))
    assert not same(first, epoch(replace(source, seed=2)))


def test_the_run_can_be_entered_anywhere(source: BatchSource, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BatchSource, "window", property(lambda self: 300))
    whole = list(islice(source.batches(), 90))
    assert len({after.epoch for _, after in whole}) > 1
    assert len({after.window for _, after in whole}) > 2
    for number, (_, after) in list(enumerate(whole[:-1]))[::7]:
        batch, following = next(source.batches(after))
        assert torch.equal(batch.tokens, whole[number + 1][0].tokens)
        assert torch.equal(batch.reads, whole[number + 1][0].reads)
        assert following == whole[number + 1][1]


def test_progress_in_the_data_rises_to_whole_epochs(source: BatchSource) -> None:
    shares = [after.epochs for _, after in epoch(source)]
    assert shares == sorted(shares)
    assert shares[0] > 0
    assert shares[-1] == 1.0


def test_few_shapes_and_full_batches(source: BatchSource) -> None:
    known = {shape.tokens: source.row_count(shape) for shape in source.shapes}
    partial = 0
    for batch, _ in epoch(source):
        rows, width = batch.tokens.shape
        assert width in known
        partial += rows < known[width]
    assert partial <= 1


def test_compiled_models_get_one_size_of_each_shape(source: BatchSource) -> None:
    filled = replace(source, fill=True)
    sizes = {tuple(batch.tokens.shape) for batch, _ in epoch(filled)}
    assert len(sizes) == len({columns for _, columns in sizes})


def test_workers_share_a_batch_evenly(source: BatchSource) -> None:
    for batch, _ in epoch(replace(source, workers=3)):
        assert len(batch.tokens) % 3 == 0


def test_weights(source: BatchSource) -> None:
    def epoch_of(weight: float) -> Plan:
        corpus = replace(source.corpus, files=[replace(source.corpus.files[0], weight=weight)])
        return replace(source, corpus=corpus, recipe=Recipe(Lags.parse("5"), join=0.0)).plan(0)

    assert len(epoch_of(0.25)) == pytest.approx(len(MANY) / 4, rel=0.15)
    assert len(set(epoch_of(0.25).first.tolist())) == len(epoch_of(0.25))
    assert set(Counter(epoch_of(2).first.tolist()).values()) == {2}
    assert len(epoch_of(1e-9)) == 1


def test_joined_pairs_are_neighbours_that_fit(source: BatchSource) -> None:
    plan = replace(source, recipe=Recipe(Lags.parse("5"), join=1.0), max_length=40).plan(0)
    first = plan.first[plan.joined]
    assert len(first) > 50
    assert (source.corpus.lengths[first] + source.corpus.lengths[first + 1]).max() < 39


FRAME = Frame((1, 2, 3), (4,), (5, 6), 7)


def test_shapes_hold_the_longest_pair_and_frames_for_the_usual_ones() -> None:
    own = Frame((), (2,), (1,), 2)
    assert shapes(own, 96, (12.0, 12.0)) == [Shape(8 * 13, 8 * 13)]
    assert shapes(FRAME, 96, (6.0, 12.0)) == [Shape(95 + 4, 8 * 14)]
    assert shapes(FRAME, 96, (9.0, 12.0)) == [Shape(8 * 13, 8 * 14)]
    assert shapes(FRAME, 20, (500.0, 400.0)) == [longest_pair(FRAME, 20)] == [Shape(19 + 4, 19 + 2)]
    for shape, length in zip(shapes(FRAME, 1000, (12.0, 10.0)), [*LENGTHS[:-1], 1000], strict=True):
        longest = longest_pair(FRAME, length)
        assert shape.source >= longest.source
        assert shape.target >= longest.target


SEGMENTS = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), max_size=200).map(
    lambda sizes: [GroupedSegment([0] * n, [0] * n, [0] * m, [0] * m, [0] * m) for n, m in sizes]
)


@settings(max_examples=50, deadline=None)
@given(segments=SEGMENTS)
def test_rows_hold_every_segment_once_and_no_more_than_they_can(segments: list[GroupedSegment]) -> None:
    filler = RowFiller(Shape(40, 35))
    for segment in segments:
        filler.add(segment)
    filler.close()
    rows = filler.take(len(segments))
    assert not filler.full
    assert sorted(id(segment) for row in rows for segment in row) == sorted(map(id, segments))
    for row in rows:
        assert 0 < sum(len(segment.source) for segment in row) <= 40
        assert sum(len(segment.target) for segment in row) <= 35


def test_little_of_a_batch_is_padding(source: BatchSource) -> None:
    batches = [batch for batch, _ in epoch(source)][:-1]
    assert len(batches) > 5
    assert sum(batch.token_count for batch in batches) > 0.85 * sum(batch.tokens.numel() for batch in batches)


def test_long_pairs_leave_room_for_short_ones(source: BatchSource) -> None:
    """Pairs of all lengths: each in a row that holds it, batches of each shape full but for the last."""
    random = np.random.default_rng(0)
    sizes = [*random.integers(3, 20, size=3000), *random.integers(100, 300, size=60)]
    random.shuffle(sizes)
    segments = [GroupedSegment([0] * n, [0] * n, [0] * n, [0] * n, [0] * n) for n in sizes]
    wide = replace(source, max_length=400)
    groups = list(wide.groups(segments))
    assert sorted(len(s.source) for _, rows in groups for row in rows for s in row) == sorted(sizes)
    assert sum(len(rows) < wide.row_count(shape) for shape, rows in groups) <= 1
    taken = sum(shape.tokens * len(rows) for shape, rows in groups)
    assert sum(2 * size for size in sizes) > 0.8 * taken


def test_the_pair_of_the_test_file_is_small(tmp_path: Path, source: BatchSource) -> None:
    assert max(source.corpus.lengths.max(axis=0)) < 60
