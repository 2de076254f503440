"""Several processes: the results of one, also when one is killed."""

import os
import signal
from pathlib import Path

import fake_workers
import pytest
from families import tiny_own_model

from simulmt.errors import SimulmtError
from simulmt.evaluation import workers
from simulmt.evaluation.corpus import Sentence
from simulmt.evaluation.executor import Here, ModelSpec, shares
from simulmt.evaluation.settings import Setting
from simulmt.instance import Instance

SENTENCES = [Sentence(n, " ".join(f"word{n} is number {i}." for i in range(1 + n % 9))) for n in range(60)]


def by_index(instances: list[Instance]) -> list[Instance]:
    return sorted(instances, key=lambda instance: instance.index)


def test_shares_hold_every_sentence_once_and_long_ones_come_first() -> None:
    parts = shares(SENTENCES, 3, 5)
    assert sorted(sentence.index for part in parts for sentence in part) == list(range(60))
    lengths = [len(sentence.source) for part in parts for sentence in part]
    assert lengths == sorted(lengths, reverse=True)
    assert len(parts) >= 3
    assert shares(SENTENCES[:1], 4, 64) == [SENTENCES[:1]]


def test_two_processes_one_of_them_killed_give_the_results_of_one(tmp_path: Path) -> None:
    spec = ModelSpec(str(tiny_own_model(tmp_path / "model")), device="cpu", threads=1)
    setting = Setting("wait-k", 3)
    expected = by_index(list(Here(spec, rows=4).decode(setting, SENTENCES)))
    pool = workers.Workers(spec, 2, rows=4)
    try:
        assert pool.dtype == "float32"
        before = [worker.process.pid for worker in pool._workers]
        decoding = pool.decode(setting, SENTENCES)
        instances = [next(decoding)]
        victim = next(worker for worker in pool._workers if worker.share)
        assert victim.process.pid is not None
        os.kill(victim.process.pid, signal.SIGKILL)
        instances += decoding
        assert by_index(instances) == expected
        assert len({instance.index for instance in instances}) == len(instances)
        assert [worker.process.pid for worker in pool._workers] != before
    finally:
        pool.close()


def test_workers_take_turns_at_the_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    for count, expected in ((0, [None, None, None]), (1, [None, None, None]), (2, ["cuda:0", "cuda:1", "cuda:0"])):
        monkeypatch.setattr(torch.cuda, "device_count", lambda count=count: count)
        assert [workers._own_gpu(number) for number in range(3)] == expected


def test_an_error_in_a_worker_is_told_in_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_work", fake_workers.cannot_load)
    with pytest.raises(SimulmtError, match="no model of that name"):
        workers.Workers(ModelSpec("none"), 1)


def test_a_worker_that_dies_while_loading_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_work", fake_workers.dies_at_once)
    with pytest.raises(SimulmtError, match="ended while it loaded"):
        workers.Workers(ModelSpec("none"), 1)


def test_work_that_kills_every_worker_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_work", fake_workers.dies_at_work)
    pool = workers.Workers(ModelSpec("none"), 1)
    try:
        with pytest.raises(SimulmtError, match=r"3 workers were lost \(status 9\)"):
            list(pool.decode(Setting("full"), SENTENCES[:3]))
    finally:
        pool.close()
