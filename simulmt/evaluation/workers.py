"""Decoding in several processes of this machine. A process that dies is replaced and its work done again."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

from simulmt.errors import SimulmtError, UsageError
from simulmt.evaluation.corpus import Sentence
from simulmt.evaluation.executor import ModelSpec, dtype_of, shares
from simulmt.evaluation.settings import Setting
from simulmt.instance import Instance

MOST_LOSSES = 3
"""How often one share's worker may die before it is taken to be the share's fault."""

_SHARE_ROWS = 64


@dataclass(slots=True)
class _Share:
    """Sentences for one worker; those that are done are taken off."""

    left: dict[int, Sentence]
    losses: int = 0


@dataclass(slots=True)
class _Worker:
    process: SpawnProcess
    connection: Connection
    share: _Share | None = None


@dataclass
class Workers:
    """Decodes in `count` processes, each with the model loaded.

    Args:
        spec: the model; with `threads` None, the CPU's cores are parted among the workers.
        count: number of processes.
        rows: streams at a time in each; None for the default.
    """

    spec: ModelSpec
    count: int
    rows: int | None = None
    dtype: str = ""
    _workers: list[_Worker] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Start the processes and wait until one has loaded the model.

        Raises:
            SimulmtError: the model can't be loaded.
        """
        self._workers = [self._start(number) for number in range(self.count)]
        try:
            self._await_model()
        except BaseException:
            self.close()
            raise

    def decode(self, setting: Setting, sentences: Sequence[Sentence]) -> Iterator[Instance]:
        """Yield an Instance for each sentence, in the order in which they get done.

        Raises:
            SimulmtError: a worker reports one, or one share has lost MOST_LOSSES workers.
        """
        parts = shares(sentences, self.count, self.rows or _SHARE_ROWS)
        queue = deque(_Share({sentence.index: sentence for sentence in part}) for part in parts)
        while queue or any(worker.share for worker in self._workers):
            for number, worker in enumerate(self._workers):
                if worker.share is None and queue:
                    self._give(number, queue.popleft(), setting)
            busy = {worker.connection: number for number, worker in enumerate(self._workers) if worker.share}
            for connection in _readable(list(busy)):
                yield from self._hear(busy[connection], queue)

    def close(self) -> None:
        """End the processes."""
        for worker in self._workers:
            worker.connection.close()
            worker.process.terminate()
        for worker in self._workers:
            worker.process.join()
        self._workers = []

    def _start(self, number: int) -> _Worker:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        spec = replace(self.spec, threads=self.spec.threads or max(1, (os.cpu_count() or 1) // self.count))
        process = context.Process(target=_work, args=(theirs, spec, number, self.rows), daemon=True)
        process.start()
        theirs.close()  # so that the end of the process is the end of the pipe
        return _Worker(process, ours)

    def _await_model(self) -> None:
        while not self.dtype:
            for connection in _readable([worker.connection for worker in self._workers]):
                try:
                    self._note(connection.recv())
                except (EOFError, OSError):
                    raise SimulmtError("a worker ended while it loaded the model", _REMEDY) from None

    def _note(self, message: tuple[str, Any]) -> Any:
        """Take a message that is not an instance."""
        kind, content = message
        if kind == "ready":
            self.dtype = content
        elif kind == "error":
            text, usage = content
            raise (UsageError if usage else SimulmtError)(text)
        return kind

    def _give(self, number: int, share: _Share, setting: Setting) -> None:
        """Hand a share to a worker that is idle; one that has died meanwhile is found out by `_hear`."""
        worker = self._workers[number]
        worker.share = share
        with contextlib.suppress(OSError):
            worker.connection.send((setting, list(share.left.values())))

    def _hear(self, number: int, queue: deque[_Share]) -> Iterator[Instance]:
        worker = self._workers[number]
        share = worker.share
        assert share is not None
        try:
            message = worker.connection.recv()
        except (EOFError, OSError):
            self._replace(number, share, queue)
            return
        if message[0] == "instance":
            instance: Instance = message[1]
            del share.left[instance.index]
            yield instance
        elif self._note(message) == "end":
            worker.share = None

    def _replace(self, number: int, share: _Share, queue: deque[_Share]) -> None:
        worker = self._workers[number]
        worker.connection.close()
        worker.process.join()
        share.losses += 1
        if share.losses >= MOST_LOSSES:
            raise SimulmtError(f"{share.losses} workers were lost (status {worker.process.exitcode})", _REMEDY)
        if share.left:
            queue.appendleft(share)
        self._workers[number] = self._start(number)


_REMEDY = "if memory ran out, try fewer --workers or --rows"


def _readable(connections: list[Connection]) -> list[Connection]:
    """Wait until something has come from one of them, or one has ended."""
    return [connection for connection in wait(connections) if isinstance(connection, Connection)]


def _work(connection: Connection, spec: ModelSpec, number: int, rows: int | None) -> None:
    """Serve one parent until its end of the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    try:
        _serve(connection, spec, number, rows)
    except SimulmtError as error:
        connection.send(("error", (str(error), isinstance(error, UsageError))))
    except (EOFError, OSError):
        return  # the parent is gone


def _serve(connection: Connection, spec: ModelSpec, number: int, rows: int | None) -> None:
    translator = replace(spec, device=spec.device or _own_gpu(number)).load()
    from simulmt.evaluation.decoding import decode_fitting

    connection.send(("ready", dtype_of(translator)))
    while True:
        setting, sentences = connection.recv()
        for instance in decode_fitting(translator, sentences, setting.make(), rows):
            connection.send(("instance", instance))
        connection.send(("end", None))


def _own_gpu(number: int) -> str | None:
    """Return the GPU of worker `number` where there are several, else None: whatever there is."""
    import torch

    count = torch.cuda.device_count()
    return f"cuda:{number % count}" if count > 1 else None
