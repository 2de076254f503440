"""A local Ray cluster of two processes gives the results of one process."""

from pathlib import Path

import pytest
from families import tiny_own_model

from simulmt.errors import UsageError
from simulmt.evaluation.corpus import Sentence
from simulmt.evaluation.executor import Here, ModelSpec
from simulmt.evaluation.settings import Setting

SENTENCES = [Sentence(n, " ".join(f"word{n} is number {i}." for i in range(1 + n % 7))) for n in range(20)]


def test_two_processes_of_a_local_cluster(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="ray is not installed: pip install 'simulmt[ray]'")
    from simulmt.evaluation.cluster import Cluster

    spec = ModelSpec(str(tiny_own_model(tmp_path / "model")), device="cpu", threads=1)
    expected = sorted(Here(spec, 4).decode(Setting("wait-k", 3), SENTENCES), key=lambda instance: instance.index)
    cluster = Cluster(spec, "local", 2, rows=4)
    try:
        assert cluster.dtype == "float32"
        instances = list(cluster.decode(Setting("wait-k", 3), SENTENCES))
        assert sorted(instances, key=lambda instance: instance.index) == expected
    finally:
        cluster.close()


def test_without_ray_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from simulmt.evaluation.cluster import Cluster

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=r"simulmt\[ray\]"):
        Cluster(ModelSpec("en-de"), "auto", 2)
