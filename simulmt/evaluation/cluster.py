"""Decoding on a Ray cluster (https://docs.ray.io). Ray runs a task again whose process or machine is lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from simulmt.errors import SimulmtError, UsageError
from simulmt.evaluation.corpus import Sentence
from simulmt.evaluation.executor import ModelSpec, dtype_of, shares
from simulmt.evaluation.settings import Setting
from simulmt.evaluation.workers import MOST_LOSSES
from simulmt.instance import Instance

_SHARE_ROWS = 64


class Cluster:
    """Decodes in tasks of a Ray cluster, `count` at a time. Models are named as the cluster's machines find them."""

    def __init__(self, spec: ModelSpec, address: str, count: int, rows: int | None = None) -> None:
        """Connect, and load the model in one task.

        Args:
            spec: the model.
            address: of the cluster: `auto`, `host:port`, `ray://…`; `local` starts one here with `count` processes.
            count: tasks at a time.
            rows: streams at a time in each.

        Raises:
            SimulmtError: ray is not installed, there is no cluster at the address, or the model can't be loaded.
        """
        self._ray = _import_ray()
        self._connect(address, count)
        self.count = count
        self.rows = rows
        self.spec = replace(spec, threads=spec.threads or 1)
        gpus = 1 if self._ray.cluster_resources().get("GPU") and spec.device != "cpu" else 0
        options = {"num_cpus": self.spec.threads, "num_gpus": gpus, "max_retries": MOST_LOSSES}
        self._describe = self._ray.remote(**options)(describe)
        self._decode = self._ray.remote(**options)(decode_share)
        self.dtype = self._result(self._describe.remote(self.spec))

    def _connect(self, address: str, count: int) -> None:
        arguments = {"num_cpus": count, "include_dashboard": False} if address == "local" else {}
        try:
            self._ray.init(address=address, log_to_driver=False, logging_level="error", **arguments)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise SimulmtError(
                f"no Ray cluster at {address!r}: {reason}", "start one with `ray start --head`, or give --ray local"
            ) from error

    def decode(self, setting: Setting, sentences: Sequence[Sentence]) -> Iterator[Instance]:
        """Yield an Instance for each sentence, share by share.

        Raises:
            SimulmtError: a share fails, or is lost again and again.
        """
        waiting = shares(sentences, self.count, self.rows or _SHARE_ROWS)[::-1]
        running: list[Any] = []
        while waiting or running:
            while waiting and len(running) < self.count:
                running.append(self._decode.remote(self.spec, setting, waiting.pop(), self.rows))
            ready, running = self._ray.wait(running)
            for task in ready:
                yield from self._result(task)

    def _result(self, task: Any) -> Any:
        try:
            return self._ray.get(task)
        except self._ray.exceptions.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, SimulmtError):
                raise cause from error
            raise SimulmtError(f"a task failed: {type(cause).__name__}: {cause}") from error
        except self._ray.exceptions.RayError as error:
            raise SimulmtError(f"a task was lost {MOST_LOSSES + 1} times: {type(error).__name__}") from error

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        self._ray.shutdown()


def _import_ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise UsageError("--ray needs the package ray", "pip install 'simulmt[ray]'") from error
    return ray


@lru_cache(maxsize=1)
def _translator(spec: ModelSpec) -> Any:
    """Load the model once in each of Ray's processes."""
    return spec.load()


def describe(spec: ModelSpec) -> str:
    """Return the number format of the model's weights."""
    return dtype_of(_translator(spec))


def decode_share(spec: ModelSpec, setting: Setting, share: list[Sentence], rows: int | None) -> list[Instance]:
    """Decode one share in this process."""
    from simulmt.evaluation.decoding import decode_fitting

    return list(decode_fitting(_translator(spec), share, setting.make(), rows))
