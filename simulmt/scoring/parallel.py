"""Sentence statistics of large corpora on all cores, since sacrebleu counts n-grams in pure Python."""

from __future__ import annotations

import gc
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from typing import Any

WORTH_IT_FROM = 2000  # segments; below, starting processes costs more than it saves

Extract = Callable[[Sequence[str], Sequence[Sequence[str]]], list[Any]]


def in_parts(extract: Extract, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> list[Any]:
    """Return `extract(hypotheses, references)`, computed in parts by forked processes where that is safe and faster.

    Args:
        extract: gives one row of statistics per segment; must be picklable.
        hypotheses: one per segment.
        references: streams of references.
    """
    workers = min(_cores(), len(hypotheses) // (WORTH_IT_FROM // 2))
    if workers < 2 or len(hypotheses) < WORTH_IT_FROM or not _may_fork():
        return extract(hypotheses, references)
    bounds = [len(hypotheses) * part // workers for part in range(workers + 1)]
    slices = [slice(begin, end) for begin, end in pairwise(bounds)]
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(workers, context, initializer=gc.disable) as pool:  # nothing there is cyclic
        rows = pool.map(
            extract,
            [hypotheses[part] for part in slices],
            [[stream[part] for stream in references] for part in slices],
        )
        return [row for part in rows for row in part]


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1


def _may_fork() -> bool:
    """A fork copies only the calling thread, so a program that runs others keeps to one process."""
    return sys.platform == "linux" and threading.active_count() == 1
