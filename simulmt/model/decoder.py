"""Forward passes of many streams over one GroupCache."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from simulmt.errors import SimulmtError
from simulmt.model.cache import GroupCache
from simulmt.model.layout import EMPTY, SOURCE, TARGET, attention_form, source_positions, step_mask, target_positions
from simulmt.model.writer import Choice, Request
from simulmt.text.tokenizers import Boundary, UnitTokenizer


@dataclass(slots=True)
class Work:
    """What a decoder has done: forward passes and the tokens that went through them, padding not counted."""

    passes: int = 0
    tokens: int = 0


@dataclass
class Decoder:
    """Runs requests of up to `rows` streams on a model of transformers.

    Args:
        model: any decoder-only model that takes `position_ids`, a 4-D `attention_mask` and a `Cache`.
        tokenizer: its unit tokenizer, for the tokens that may not be written.
        stops: the tokens that end a target.
        phi: φ, the position of the first target token.
        rows: streams at a time.
    """

    model: Any
    tokenizer: UnitTokenizer
    stops: frozenset[int]
    phi: int = 0
    rows: int = 1
    work: Work = field(default_factory=Work)

    def __post_init__(self) -> None:
        config = self.model.config.get_text_config()
        self.device = torch.device(self.model.device)
        self.window = attention_window(config)
        self.cache = GroupCache(config.num_hidden_layers, self.rows, self.device)
        self._bias = self._biases(config.vocab_size)
        # transformers renamed the argument; models take the old name too, but warn about it.
        arguments = inspect.signature(self.model.forward).parameters
        self._cache_name = "cache" if "cache" in arguments else "past_key_values"

    def _biases(self, vocabulary: int) -> Tensor:
        """[choices, V] added to logits, −∞ where a token may not be written."""
        bias = torch.zeros(len(Choice), vocabulary)
        bias[:, self.tokenizer.size :] = -torch.inf  # rows of a padded output layer
        bias[:, [token for token in self.tokenizer.control - self.stops if token < vocabulary]] = -torch.inf
        bias[Choice.INNER, [token for token in self.stops if token < vocabulary]] = -torch.inf
        if self.tokenizer.boundary is Boundary.PREFIX:
            known = range(min(self.tokenizer.size, vocabulary))
            inner = [token for token in known if token not in self.stops and not self.tokenizer.starts_unit(token)]
            bias[Choice.START, inner] = -torch.inf
        return bias.to(self.device)

    def release(self, row: int) -> None:
        """Forget a row's segment; the row is free for the next."""
        self.cache.truncate(row, 0)

    @torch.inference_mode()
    def logits(self, requests: Sequence[Request], rows: Sequence[int] | None = None) -> Tensor:
        """Run one step of several streams.

        Args:
            requests: one for each of b streams.
            rows: their rows in the cache; by default 0, 1, …

        Returns:
            [b, V] float32: for each stream the scores of its next target token, before any are ruled out.

        Raises:
            SimulmtError: a segment outgrows the model's sliding attention window.
        """
        rows = range(len(requests)) if rows is None else rows
        batch = self._batch(requests, rows)
        self.cache.place(batch.rows, batch.where, batch.groups, batch.lengths)
        self._check_window()
        mask = step_mask(self.cache.placed_groups(), batch.lengths.to(self.device), batch.groups, batch.where)
        output = self.model(
            input_ids=batch.tokens,
            position_ids=batch.positions,
            attention_mask=attention_form(mask, self.model),
            use_cache=True,
            logits_to_keep=1,
            **{self._cache_name: self.cache},
        )
        self._count(requests)
        scores: Tensor = output.logits[:, -1].float()
        return scores

    def _check_window(self) -> None:
        longest = int(self.cache.lengths.max())
        if self.window is not None and longest > self.window:
            raise SimulmtError(
                f"a segment of {longest} tokens does not fit the model's attention window of {self.window}",
                "use shorter segments, or a model without sliding-window attention",
            )

    def _count(self, requests: Sequence[Request]) -> None:
        self.work.passes += 1
        self.work.tokens += sum(len(request.source) + len(request.target) for request in requests)

    def run(self, requests: Sequence[Request], rows: Sequence[int] | None = None) -> list[int]:
        """Run one step of several streams and return the token each predicts: the best of those it may write."""
        scores = self.logits(requests, rows)
        bias = self._bias[:, : scores.shape[-1]]
        scores = scores + bias[Choice.ANY]
        if others := [place for place, request in enumerate(requests) if request.choice is not Choice.ANY]:
            scores[others] += bias[[requests[place].choice for place in others]]
        return scores.argmax(-1).tolist()

    def _batch(self, requests: Sequence[Request], rows: Sequence[int]) -> _Batch:
        """Tokens to the right, padding to the left: every stream's last target token is in the last column."""
        width = max(len(request.source) + len(request.target) for request in requests)
        tokens, places, groups, where, lengths = [], [], [], [], []
        for row, request in zip(rows, requests, strict=True):
            used = int(self.cache.lengths[row]) - request.drop
            n, m = len(request.source), len(request.target)
            padding = width - n - m
            end = used + n + m
            tokens.append([0] * padding + [*request.source, *request.target])
            places.append(
                [0] * padding
                + source_positions(request.source_start, n)
                + target_positions(request.target_start, m, self.phi)
            )
            groups.append([EMPTY] * padding + [SOURCE] * n + [TARGET] * m)
            where.append(list(range(end, end + padding)) + list(range(used, end)))
            lengths.append(end)
        on = self.device
        return _Batch(
            rows=torch.tensor(rows),
            tokens=torch.tensor(tokens, device=on),
            positions=torch.tensor(places, device=on),
            groups=torch.tensor(groups, dtype=torch.int8, device=on),
            where=torch.tensor(where, device=on),
            lengths=torch.tensor(lengths),
        )


@dataclass(frozen=True, slots=True)
class _Batch:
    rows: Tensor  # [b]
    tokens: Tensor  # [b, q]
    positions: Tensor  # [b, q]
    groups: Tensor  # [b, q] int8
    where: Tensor  # [b, q]
    lengths: Tensor  # [b]


def attention_window(config: Any) -> int | None:
    """Return the longest segment (tokens) that sliding-window layers see whole; None if there are no such layers."""
    window = getattr(config, "sliding_window", None)
    if window is None or getattr(config, "use_sliding_window", True) is False:
        return None
    kinds = getattr(config, "layer_types", None)
    return int(window) if kinds is None or any("sliding" in kind for kind in kinds) else None
