import errno
import os
from pathlib import Path
from typing import Any

import pytest
import torch

from simulmt.errors import SimulmtError
from simulmt.training import checkpoint as module
from simulmt.training.checkpoint import Checkpoint, DiskFull, load_checkpoint, save_checkpoint, steps


def at_step(step: int, size: int = 4) -> Checkpoint:
    return Checkpoint({"step": step}, {"weights": {"w": torch.full((size,), float(step))}})


def test_round_trip_keeps_the_last_two(tmp_path: Path) -> None:
    for step in (5, 10, 100):
        save_checkpoint(tmp_path, at_step(step))
    assert [place.name for place in steps(tmp_path)] == ["step-00000010", "step-00000100"]
    loaded = load_checkpoint(steps(tmp_path)[-1])
    assert loaded.state == {"step": 100}
    assert torch.equal(loaded.tensors["weights"]["w"], torch.full((4,), 100.0))


def test_a_named_checkpoint_is_not_counted(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, at_step(1), "stable")
    for step in (2, 3, 4):
        save_checkpoint(tmp_path, at_step(step))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["stable", "step-00000003", "step-00000004"]


@pytest.mark.parametrize("victim", ["save_file", "_flush", "os.replace"])
def test_disk_full_leaves_the_last_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, victim: str) -> None:
    save_checkpoint(tmp_path, at_step(1))

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(f"simulmt.training.checkpoint.{victim}", full)
    with pytest.raises(DiskFull, match=r"no space left .*step-00000001 is whole"):
        save_checkpoint(tmp_path, at_step(2))
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000001"]
    assert load_checkpoint(steps(tmp_path)[-1]).state == {"step": 1}


def test_a_disk_that_is_really_full(small_disk: Path) -> None:
    save_checkpoint(small_disk, at_step(1, 100_000))
    with pytest.raises(DiskFull, match="step-00000001 is whole, go on from it with --resume"):
        save_checkpoint(small_disk, at_step(2, 200_000))
    assert [path.name for path in small_disk.iterdir()] == ["step-00000001"]
    assert load_checkpoint(steps(small_disk)[-1]).tensors["weights"]["w"].shape == (100_000,)


def test_a_crash_while_writing_is_not_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_checkpoint(tmp_path, at_step(1))

    class Crash(BaseException):
        pass

    def crash(*_: Any) -> None:
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(module.os, "replace", crash)
        with pytest.raises(Crash):
            save_checkpoint(tmp_path, at_step(2))
    assert [place.name for place in steps(tmp_path)] == ["step-00000001"]
    save_checkpoint(tmp_path, at_step(2))
    assert [place.name for place in steps(tmp_path)] == ["step-00000001", "step-00000002"]
    assert not list(tmp_path.glob(".*"))


def test_a_damaged_checkpoint(tmp_path: Path) -> None:
    place = save_checkpoint(tmp_path, at_step(1))
    (place / "weights.safetensors").write_bytes(b"\0" * 20)
    with pytest.raises(SimulmtError, match="cannot be read"):
        load_checkpoint(place)
