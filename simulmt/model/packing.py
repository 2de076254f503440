"""A decoder for many streams that pads nothing but attention.

The rows of one step have different numbers of tokens. The layers that cost most, the linear ones, treat each token by
itself, so here all tokens of a step go through the model as one row of N, laid out as [b, q] for attention only. The
model stays as it is: attention is a function that transformers lets one register, and outside of a packed step this one
behaves as its `sdpa`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from simulmt.model.cache import GroupCache
from simulmt.model.decoder import Decoder
from simulmt.model.layout import EMPTY, step_mask
from simulmt.model.writer import Request

IMPLEMENTATION = "simulmt_packed"


@dataclass(frozen=True, slots=True)
class _Pack:
    """Where the N tokens of a step stand in [b, q]; those of a row follow one another."""

    real: Tensor  # [b, q] bool, False for padding
    mask: Tensor  # [b, 1, q, extent] bool


_present: ContextVar[_Pack | None] = ContextVar("packed step", default=None)


def packed_attention(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **kwargs: Any
) -> tuple[Tensor, None]:
    """Attention as transformers calls it; in a packed step of N tokens over b rows of the cache.

    Args:
        module: the attention layer.
        query: [1, heads, N, size].
        key, value: [b, key heads, extent, size].
        attention_mask: not looked at, the step has its own.
        kwargs: scaling and the like.

    Returns:
        [1, N, heads, size], and None for the weights.
    """
    pack = _present.get()
    if pack is None:
        output, _ = sdpa_attention_forward(module, query, key, value, attention_mask, **kwargs)
        return output, None
    b, q = pack.real.shape
    padded = query.new_zeros(b, q, query.shape[1], query.shape[3])
    padded[pack.real] = query[0].transpose(0, 1)  # [N, heads, size]
    output, _ = sdpa_attention_forward(module, padded.transpose(1, 2), key, value, pack.mask, **kwargs)
    return output[pack.real].unsqueeze(0), None


class PackedCache(GroupCache):
    """A GroupCache whose layers are given the states of a packed step."""

    _token_rows: Tensor
    _whole: bool

    def place_packed(self, rows: Tensor, where: Tensor, groups: Tensor, lengths: Tensor) -> bool:
        """Say where the next step's tokens go: as `place`, for rows in rising order.

        Returns:
            True if the layers will return all rows, also those that take no part: where most do, that is cheaper than
            to copy theirs.
        """
        self.place(rows, where, groups, lengths)
        real = groups != EMPTY
        self._token_rows = self._rows[:, None].expand_as(real)[real]  # [N]
        self._where = where[real]  # [N]
        self._whole = 2 * len(rows) > self.rows
        return self._whole

    def store(self, buffer: Tensor, states: Tensor) -> Tensor:
        """Write the step's [1, heads, N, size]; return rows' slots, [b, heads, extent, size]."""
        buffer[self._token_rows, :, self._where] = states[0].transpose(0, 1)
        filled = buffer[:, :, : self.extent]
        return filled if self._whole else filled[self._rows]


@dataclass
class PackedDecoder(Decoder):
    """A Decoder whose steps are packed; for models that `can_pack`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        config = self.model.config.get_text_config()
        self.cache: PackedCache = PackedCache(config.num_hidden_layers, self.rows, self.device)
        AttentionInterface.register(IMPLEMENTATION, packed_attention)

    @torch.inference_mode()
    def logits(self, requests: Sequence[Request], rows: Sequence[int] | None = None) -> Tensor:
        """As Decoder.logits: [b, V] float32, for requests and rows in any order."""
        rows = range(len(requests)) if rows is None else rows
        order = sorted(range(len(rows)), key=lambda place: rows[place])
        scores = self._logits([requests[place] for place in order], [rows[place] for place in order])
        return scores if order == list(range(len(rows))) else scores[torch.tensor(order).argsort()]

    def _logits(self, requests: Sequence[Request], rows: Sequence[int]) -> Tensor:
        """As `logits`, for rows in rising order."""
        batch = self._batch(requests, rows)
        whole = self.cache.place_packed(batch.rows, batch.where, batch.groups, batch.lengths)
        self._check_window()
        real = batch.groups != EMPTY
        mask = step_mask(self.cache.placed_groups(), batch.lengths.to(self.device), batch.groups, batch.where)
        pack = self._spread(real, mask, batch.rows) if whole else _Pack(real, mask)
        with _packed(self.model.config.get_text_config(), pack):
            output = self.model(
                input_ids=batch.tokens[real][None],
                position_ids=batch.positions[real][None],
                attention_mask=mask,
                use_cache=True,
                logits_to_keep=real.sum(1).cumsum(0) - 1,  # the place of each row's last token among the N
                **{self._cache_name: self.cache},
            )
        self._count(requests)
        scores: Tensor = output.logits[0].float()
        return scores

    def _spread(self, real: Tensor, mask: Tensor, rows: Tensor) -> _Pack:
        """Lay out over all rows of the cache; those that take no part have no tokens, and what they see is not used."""
        if len(rows) == self.rows:
            return _Pack(real, mask)
        all_real = real.new_zeros(self.rows, real.shape[1])
        all_mask = mask.new_ones(self.rows, *mask.shape[1:])
        all_real[rows.to(self.device)] = real
        all_mask[rows.to(self.device)] = mask
        return _Pack(all_real, all_mask)


@contextmanager
def _packed(config: Any, pack: _Pack) -> Iterator[None]:
    """Let attention be `packed_attention` with `pack`. All layers look into the one configuration at each call."""
    before = config._attn_implementation
    config._attn_implementation = IMPLEMENTATION
    token = _present.set(pack)
    try:
        yield
    finally:
        _present.reset(token)
        config._attn_implementation = before


def can_pack(model: Any) -> bool:
    """Return True if the model's attention can be a registered function: those of transformers that use `sdpa`."""
    text = model.config.get_text_config()
    return text._attn_implementation == "sdpa" and type(model).__module__.startswith("transformers.models.")
