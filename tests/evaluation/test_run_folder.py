"""The folder of a run: what survives a kill, and what is never mixed."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulmt.errors import SimulmtError, UsageError
from simulmt.evaluation.folder import CONFIG, LOG, RUN, RunFolder, read_run
from simulmt.instance import Instance, read_log, repair
from simulmt.scoring.scorer import score_instances

BASE = {"policy": "wait-k(k=3)", "model": "en-de", "model_hash": "abc", "corpus_hash": "def", "dtype": "float32"}
LINES = [Instance(index, f"ein Wört {index}", [1, 2, 2], [0.0] * 3, 2, "a word", "ein Wort") for index in (3, 0, 4)]


def filled(path: Path) -> RunFolder:
    folder = RunFolder(path)
    folder.open(BASE, 10)
    for instance in LINES:
        folder.append(instance)
    folder.close()
    return folder


def test_what_was_appended_is_there_again(tmp_path: Path) -> None:
    filled(tmp_path / "k3")
    assert RunFolder(tmp_path / "k3").open(BASE, 10) == {instance.index: instance for instance in LINES}


def test_any_cut_of_the_log_loses_the_last_line_at_most(tmp_path: Path) -> None:
    whole = (filled(tmp_path / "k3").path / LOG).read_bytes()
    log = tmp_path / "cut.log"
    lines = whole.splitlines(keepends=True)

    @given(st.integers(0, len(whole)))
    def check(length: int) -> None:
        log.write_bytes(whole[:length])
        repair(log)
        kept = log.read_bytes()
        full = [line for number, line in enumerate(lines) if sum(map(len, lines[: number + 1])) <= length + 1]
        assert kept == b"".join(full)
        assert list(read_log(log)) == LINES[: len(full)]

    check()


def test_appending_after_a_repair_gives_whole_lines(tmp_path: Path) -> None:
    folder = filled(tmp_path / "k3")
    log = folder.path / LOG
    log.write_bytes(log.read_bytes()[:-20])
    assert sorted(folder.open(BASE, 10)) == [0, 3]
    folder.append(LINES[2])
    folder.close()
    assert list(read_log(log)) == LINES


@pytest.mark.parametrize("key", ["model_hash", "corpus_hash", "policy", "dtype", "adapter_hash"])
def test_another_run_is_not_mixed_in(tmp_path: Path, key: str) -> None:
    filled(tmp_path / "k3")
    before = (tmp_path / "k3" / LOG).read_bytes()
    with pytest.raises(UsageError, match="--overwrite"):
        RunFolder(tmp_path / "k3").open(BASE | {key: "other"}, 10)
    assert (tmp_path / "k3" / LOG).read_bytes() == before
    assert RunFolder(tmp_path / "k3").open(BASE | {key: "other"}, 10, overwrite=True) == {}
    assert (tmp_path / "k3" / LOG).read_bytes() == b""


def test_a_config_that_simuleval_has_written_over_does_no_harm(tmp_path: Path) -> None:
    folder = filled(tmp_path / "k3")
    (folder.path / CONFIG).write_text("{source_type: text, target_type: text}")
    assert len(folder.open(BASE, 10)) == 3


def test_a_log_of_unknown_origin_is_not_touched(tmp_path: Path) -> None:
    folder = filled(tmp_path / "k3")
    (folder.path / RUN).unlink()
    with pytest.raises(UsageError, match="unknown origin"):
        RunFolder(folder.path).open(BASE, 10)


def test_indices_beyond_the_corpus_are_refused(tmp_path: Path) -> None:
    filled(tmp_path / "k3")
    with pytest.raises(UsageError, match="has index 4"):
        RunFolder(tmp_path / "k3").open(BASE, 4)


def test_a_bad_line_inside_is_named(tmp_path: Path) -> None:
    folder = filled(tmp_path / "k3")
    log = folder.path / LOG
    log.write_text("nonsense\n" + log.read_text())
    with pytest.raises(SimulmtError, match=r"instances.log:1"):
        RunFolder(folder.path).open(BASE, 10)


def test_finish_puts_the_log_in_order_beside_its_scores(tmp_path: Path) -> None:
    folder = filled(tmp_path / "k3")
    ordered = sorted(LINES, key=lambda instance: instance.index)
    folder.finish(ordered, score_instances(ordered))
    assert list(read_log(folder.path / LOG)) == ordered
    header, row = (folder.path / "scores.tsv").read_text().splitlines()
    assert len(header.split("\t")) == len(row.split("\t"))
    assert sorted(path.name for path in folder.path.iterdir()) == [CONFIG, LOG, RUN, "scores.json", "scores.tsv"]


def test_the_configuration_is_yaml_and_comes_back(tmp_path: Path) -> None:
    config = BASE | {"k": 3, "source": "Ä: b", "adapter": None}
    RunFolder(tmp_path / "k3").open(config, 10)
    assert read_run(tmp_path / "k3") == config
    yaml = pytest.importorskip("yaml")
    assert yaml.safe_load((tmp_path / "k3" / CONFIG).read_text(encoding="utf-8")) == config


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SimulmtError, match="cannot be written"):
        RunFolder(tmp_path / "file" / "k3").open(BASE, 10)
