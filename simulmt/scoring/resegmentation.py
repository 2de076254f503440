"""Cuts the translation of a whole talk into the sentences of its reference, with the fewest word errors.

Matusov et al. 2005, Evaluating Machine Translation Output with Automatic Sentence Segmentation,
https://aclanthology.org/2005.iwslt-1.19 (the algorithm of mwerSegmenter).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Keys = NDArray[np.int64]


_UNREACHABLE = 1 << 30


def resegment(hypothesis: Sequence[str], references: Sequence[Sequence[Sequence[str]]]) -> list[int]:
    """Return where each reference sentence's part of the hypothesis begins, and its end: sentences + 1 positions.

    Minimises the sum over sentences of the edit distance between the sentence's part and the nearest of its
    references. Time O(hypothesis · reference units), memory O(hypothesis · sentences).

    Args:
        hypothesis: units of the whole talk, H of them.
        references: one or more streams, each with the units of every sentence, S of them.
    """
    import numpy as np

    ids = {unit: number for number, unit in enumerate(dict.fromkeys(hypothesis))}
    units = np.array([ids[unit] for unit in hypothesis], dtype=np.int64)  # [H]
    costs = np.full(len(units) + 1, _UNREACHABLE, dtype=np.int64)  # [H + 1], of the sentences so far, by end
    costs[0] = 0
    begins: list[NDArray[np.int32]] = []
    for sentence in zip(*references, strict=True):
        streams = [[ids.get(unit, -1) for unit in reference] for reference in sentence]
        keys = np.min([_extend(costs, units, stream) for stream in streams], axis=0)
        costs, before_end = np.divmod(keys, len(units) + 1)
        begins.append((len(units) - before_end).astype(np.int32))
    return _trace_back(begins, len(units))


def _extend(costs: Keys, units: Keys, reference: Sequence[int]) -> Keys:
    """Return, for each end position, cost · (H + 1) + H − begin of the best last sentence.

    Cost and begin share one number, so that one minimum picks the lower cost and, among equals, the later begin: a
    surplus unit between two sentences goes to the first.
    """
    import numpy as np

    scale = len(units) + 1
    positions = np.arange(scale, dtype=np.int64)
    steps = positions * scale  # cost of inserting units up to each position
    keys = _with_insertions(costs * scale + len(units) - positions, steps)
    for unit in reference:
        deleted = keys + scale
        deleted[1:] = np.minimum(deleted[1:], keys[:-1] + np.where(units == unit, 0, scale))
        keys = _with_insertions(deleted, steps)
    return keys


def _with_insertions(keys: Keys, steps: Keys) -> Keys:
    import numpy as np

    inserted: Keys = np.minimum.accumulate(keys - steps) + steps
    return inserted


def _trace_back(begins: Sequence[NDArray[np.int32]], end: int) -> list[int]:
    cuts = [end]
    for begin in reversed(begins):
        cuts.append(int(begin[cuts[-1]]))
    return cuts[::-1]
