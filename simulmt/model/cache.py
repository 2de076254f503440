"""GroupCache: keys and values of many streams, one buffer a layer, in the order in which tokens arrived.

Keys carry their rotary position, so attention does not care where in the buffer they stand: source and target tokens are
appended as they come, nothing is copied or joined, and dropping the last tokens is a change of one length.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin

FIRST_CAPACITY = 256


class GroupLayer(CacheLayerMixin):  # type: ignore[misc]
    """Keys and values of one layer: [B, heads, capacity, head size], filled at the slots the GroupCache says."""

    is_sliding = False

    def __init__(self, owner: GroupCache) -> None:
        super().__init__()
        self.owner = owner

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        shape = (self.owner.rows, key_states.shape[1], self.owner.capacity)
        self.keys = key_states.new_zeros(*shape, key_states.shape[-1])
        self.values = value_states.new_zeros(*shape, value_states.shape[-1])
        self.dtype, self.device = key_states.dtype, key_states.device
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Store the step's keys and values, [B, heads, q, head size]; return all up to the longest row."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        return self.owner.store(self.keys, key_states), self.owner.store(self.values, value_states)

    def grow(self, capacity: int) -> None:
        """Move to a larger buffer."""
        if not self.is_initialized:
            return
        for name in ("keys", "values"):
            old: Tensor = getattr(self, name)
            new = old.new_zeros(*old.shape[:2], capacity, old.shape[3])
            new[:, :, : old.shape[2]] = old
            setattr(self, name, new)

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.owner.extent, 0

    def get_seq_length(self) -> int:
        return self.owner.extent

    def get_max_length(self) -> int:
        return -1


class GroupCache(Cache):  # type: ignore[misc]
    """The cache of B rows, one stream each, passed to a transformers model as its cache.

    Before each forward `place` says at which slots the step's tokens go; the layers then store them there. All lengths
    belong to the cache, no layer has its own.

    Attributes:
        rows: B.
        capacity: slots a row can hold at present; grows by doubling.
        lengths: [B] int64, slots in use per row.
        groups: [B, capacity] int8: EMPTY, SOURCE or TARGET.
        extent: slots that the present step reaches to, over all placed rows.
    """

    def __init__(self, layers: int, rows: int, device: torch.device | str = "cpu") -> None:
        self.rows = rows
        self.capacity = FIRST_CAPACITY
        self.lengths = torch.zeros(rows, dtype=torch.int64)
        self.groups = torch.zeros(rows, self.capacity, dtype=torch.int8, device=device)
        self.extent = 0
        super().__init__(layers=[GroupLayer(self) for _ in range(layers)])

    def place(self, rows: Tensor, where: Tensor, groups: Tensor, lengths: Tensor) -> None:
        """Say where the next step's tokens go.

        Args:
            rows: [b] the rows that take part.
            where: [b, q] slot of each token.
            groups: [b, q] their groups; padding is EMPTY and goes to slots beyond the row's length, free for reuse.
            lengths: [b] slots in use after the step.
        """
        self.extent = int(where.max()) + 1
        self._reserve(self.extent)
        self._rows, self._where = rows.to(self.groups.device), where
        self._all = rows.shape[0] == self.rows and bool((rows == torch.arange(self.rows)).all())
        self.groups[self._rows[:, None], where] = groups
        self.lengths[rows] = lengths
        self._first = int(where[0, 0]) if self.rows == 1 else None

    def placed_groups(self) -> Tensor:
        """Return the groups of the placed rows' slots, [b, extent] int8."""
        return self._view(self.groups[:, : self.extent])

    def store(self, buffer: Tensor, states: Tensor) -> Tensor:
        """Write the step's [b, heads, q, size] into a layer's buffer; return the rows' slots, [b, heads, extent, size]."""
        if self._first is not None:  # one stream: the slots are a run, and a slice is cheaper than an index
            buffer[:, :, self._first : self.extent] = states
        else:
            buffer[self._rows[:, None], :, self._where] = states.transpose(1, 2)
        return self._view(buffer[:, :, : self.extent])

    def _view(self, buffer: Tensor) -> Tensor:
        return buffer if self._all else buffer[self._rows]

    def truncate(self, row: int, length: int) -> None:
        """Forget a row's slots from `length` on."""
        self.lengths[row] = length

    def _reserve(self, slots: int) -> None:
        if slots <= self.capacity:
            return
        while self.capacity < slots:
            self.capacity *= 2
        grown = self.groups.new_zeros(self.rows, self.capacity)
        grown[:, : self.groups.shape[1]] = self.groups
        self.groups = grown
        for layer in self.layers:
            layer.grow(self.capacity)
