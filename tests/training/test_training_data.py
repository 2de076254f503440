from pathlib import Path

import pytest
from families import tiny_own_model
from training_pairs import PAIRS, SENTENCES, write_pairs

from simulmt.errors import SimulmtError, UsageError
from simulmt.model.loading import Options, load
from simulmt.training.batches import Recipe
from simulmt.training.data import DataOptions, Prepared, check_data, prepare, read_data, tokens_per_epoch
from simulmt.training.examples import ExampleMaker, Lags
from simulmt.training.progress import Display
from simulmt.training.sources import DataFile


@pytest.fixture(scope="module")
def maker(tmp_path_factory: pytest.TempPathFactory) -> ExampleMaker:
    base = tiny_own_model(tmp_path_factory.mktemp("base"), sentences=SENTENCES, pieces=330)
    own = load(str(base), options=Options(device="cpu"))
    return ExampleMaker(own.prompt.frame, own.tokenizer, own.source, own.target)


class Notes(Display):
    """Keeps what it is told."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__(quiet=True)
        self.note = lines.append  # type: ignore[method-assign]


def prepared(options: DataOptions, maker: ExampleMaker, folder: Path, notes: list[str] | None = None) -> Prepared:
    display = Notes(notes if notes is not None else [])
    corpus, report = read_data(options, folder, display.track)
    return prepare(options, corpus, report, maker, phi=0, pad=3, workers=1, fill=False, display=display)


def test_validation_batches_hold_every_pair_once(tmp_path: Path, maker: ExampleMaker) -> None:
    options = DataOptions([DataFile(write_pairs(tmp_path))], valid="0.5", batch_tokens=256)
    data = prepared(options, maker, tmp_path)
    assert len(data.split.valid) == 16
    assert len(data.valid) > 1
    labels = sum(batch.label_count for batch in data.valid)
    assert labels == sum(len(maker.make(*pair, 3).labels) for pair in data.split.valid)


def test_tokens_of_an_epoch(tmp_path: Path, maker: ExampleMaker) -> None:
    path = write_pairs(tmp_path)
    recipe = Recipe(Lags.parse("3"), noise=0.0, join=0.0)
    once = prepared(DataOptions([DataFile(path)], valid="0", recipe=recipe), maker, tmp_path)
    twice = prepared(DataOptions([DataFile(path, weight=2)], valid="0", recipe=recipe), maker, tmp_path)
    segments = [maker.make(*pair, 3) for pair in PAIRS]
    assert tokens_per_epoch(once) == sum(len(s.source) + len(s.target) for s in segments)
    assert tokens_per_epoch(twice) == 2 * tokens_per_epoch(once)
    seen = 0
    for batch, after in once.source.batches():
        seen += batch.token_count
        if after.epoch:
            break
    assert seen == tokens_per_epoch(once)


def test_several_files_keep_their_names(tmp_path: Path, maker: ExampleMaker) -> None:
    first = write_pairs(tmp_path)
    second = tmp_path / "second.tsv"
    second.write_text("one\teins\nbroken\n" + "much " * 200 + "\tviel\n")
    notes: list[str] = []
    data = prepared(DataOptions([DataFile(first), DataFile(second)], valid="0"), maker, tmp_path, notes)
    assert len(data.split.train) == 33
    assert notes == [
        f"1 × line without a tab skipped ({second}:2)",
        f"1 × over-long pair skipped ({second}:3)",
        "33 pairs train, 0 validate",
    ]


def test_a_validation_file_without_pairs(tmp_path: Path, maker: ExampleMaker) -> None:
    valid = tmp_path / "valid.tsv"
    valid.write_text("no tab\n")
    options = DataOptions([DataFile(write_pairs(tmp_path))], valid=str(valid))
    with pytest.raises(SimulmtError, match=r"holds no pair that can validate; 1 × line without a tab"):
        prepared(options, maker, tmp_path)


def test_wrong_options_are_told_before_reading(tmp_path: Path) -> None:
    path = write_pairs(tmp_path)
    with pytest.raises(UsageError, match="no data"):
        DataOptions([])
    with pytest.raises(UsageError, match="--noise"):
        DataOptions([DataFile(path)], recipe=Recipe(Lags.parse("3"), noise=2))
    with pytest.raises(UsageError, match="--max-length"):
        DataOptions([DataFile(path)], max_length=2)
    with pytest.raises(SimulmtError, match="No such file"):
        check_data(DataOptions([DataFile(tmp_path / "missing.tsv")]))
