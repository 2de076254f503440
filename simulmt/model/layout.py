"""Group position encoding: positions and visibility (arXiv 2505.16983). The only place that knows them.

A segment has two groups of tokens, each with positions of its own:

    source group = source head + source units + end of source     positions 0, 1, 2, …
    target group = target head + target units + end of target     positions φ, φ + 1, …

Visibility: a source token sees earlier source tokens. A target token sees earlier target tokens and the source units that
had been read when the *next* token was to be predicted. The source head is visible to every target token; the end of
source is visible from the moment that all S units are, it is never a unit of its own.

The decoder and the training batches both take their positions and masks from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

EMPTY, SOURCE, TARGET = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Frame:
    """The fixed tokens around the units of a segment, from a model's own chat template or from our own small models.

    Attributes:
        source_head: tokens before the first source unit (instruction), may be empty.
        source_end: tokens after the last source unit.
        target_head: tokens before the first target unit, at least one: the last of them predicts the first unit.
        target_end: the token that ends a target; it is written after the last unit and never printed.
    """

    source_head: tuple[int, ...]
    source_end: tuple[int, ...]
    target_head: tuple[int, ...]
    target_end: int

    def __post_init__(self) -> None:
        if not self.target_head:
            raise ValueError("target_head must hold at least one token")


@dataclass(frozen=True, slots=True)
class GroupedSegment:
    """A whole segment as token lists, the input of one training example or of one pass over everything.

    Attributes:
        source: tokens of the source group, length n.
        source_units: for each source token the source units that must have been read before a target token may see it,
            length n: 0 for the head, i for unit i (from 1), S for the end.
        target: tokens of the target group but for the end of target, length m.
        reads: for each token of `target` the source units it may see, length m: g of the unit of the next token.
        labels: for each token of `target` the token it should predict, length m; −100 where nothing is learned (head).
    """

    source: list[int]
    source_units: list[int]
    target: list[int]
    reads: list[int]
    labels: list[int]


IGNORED = -100


def grouped_segment(
    frame: Frame, source: Sequence[Sequence[int]], target: Sequence[Sequence[int]], reads: Sequence[int]
) -> GroupedSegment:
    """Lay out one segment.

    Args:
        frame: the fixed tokens.
        source: the tokens of each of the S source units.
        target: the tokens of each of the T target units.
        reads: g(1..T+1), the source units read when target unit i is predicted; the last entry is for the end of target.

    Raises:
        ValueError: `reads` has not T + 1 entries.
    """
    if len(reads) != len(target) + 1:
        raise ValueError(f"reads has {len(reads)} entries for {len(target)} target units, expected one more than units")
    source_tokens, source_units = list(frame.source_head), [0] * len(frame.source_head)
    for number, unit in enumerate(source, 1):
        source_tokens += unit
        source_units += [number] * len(unit)
    source_tokens += frame.source_end
    source_units += [len(source)] * len(frame.source_end)

    written = [token for unit in target for token in unit]
    reads_of_written = [seen for unit, seen in zip(target, reads, strict=False) for _ in unit] + [reads[-1]]
    head = len(frame.target_head)
    return GroupedSegment(
        source=source_tokens,
        source_units=source_units,
        target=[*frame.target_head, *written],
        reads=[reads[0]] * (head - 1) + reads_of_written,
        labels=[IGNORED] * (head - 1) + [*written, frame.target_end],
    )


def source_positions(start: int, count: int) -> list[int]:
    """Return the positions of `count` source tokens of which `start` came before."""
    return list(range(start, start + count))


def target_positions(start: int, count: int, phi: int) -> list[int]:
    """Return the positions of `count` target tokens, the first of which is number `start` (from 0) of its group."""
    return list(range(phi + start, phi + start + count))


def segment_mask(source_units: Tensor, reads: Tensor, members: Tensor | None = None) -> Tensor:
    """Visibility over whole segments: source tokens first, then target tokens.

    Args:
        source_units: [B, n] as in GroupedSegment; padding holds a number larger than any count of units.
        reads: [B, m] as in GroupedSegment; padding holds 0.
        members: [B, n + m] where a row holds several segments, which of them a token belongs to: it sees no other.

    Returns:
        [B, 1, n + m, n + m] bool, True where the row's token sees the column's token. Padding tokens see earlier tokens
        of their own half (with `members`, earlier padding), so that no token sees nothing.
    """
    batch, n = source_units.shape
    m = reads.shape[1]
    mask = torch.zeros(batch, 1, n + m, n + m, dtype=torch.bool, device=reads.device)
    mask[:, 0, :n, :n] = torch.ones(n, n, dtype=torch.bool, device=reads.device).tril()
    mask[:, 0, n:, n:] = torch.ones(m, m, dtype=torch.bool, device=reads.device).tril()
    mask[:, 0, n:, :n] = source_units[:, None, :] <= reads[:, :, None]
    if members is not None:
        mask &= (members[:, :, None] == members[:, None, :])[:, None]
    return mask


def step_mask(slots: Tensor, lengths: Tensor, groups: Tensor, where: Tensor) -> Tensor:
    """Visibility of the tokens of one step over a cache kept in arrival order.

    Args:
        slots: [B, L] int8, for each slot of the cache EMPTY, SOURCE or TARGET, the step's own tokens included.
        lengths: [B] slots filled after this step; slots beyond are not looked at.
        groups: [B, q] int8, the group of each token of the step, EMPTY for padding.
        where: [B, q] the slot of each token of the step.

    Returns:
        [B, 1, q, L] bool. A target token sees every slot up to its own; a source token those of them that hold source.
        Padding sees slot 0 only.
    """
    columns = torch.arange(slots.shape[1], device=slots.device)
    filled = (columns < lengths[:, None])[:, None, :] & (columns <= where[:, :, None])
    mask = filled & ((slots == SOURCE)[:, None, :] | (groups == TARGET)[:, :, None])
    padding = (groups == EMPTY)[:, :, None]
    mask = torch.where(padding, columns == 0, mask)
    return mask.unsqueeze(1)


def attention_form(mask: Tensor, model: Any) -> Tensor:
    """Return a boolean mask in the form that the model's attention takes: eager attention adds its mask to the scores.

    Args:
        mask: bool, True where a token is seen.
        model: a transformers model.

    Returns:
        `mask` itself, or 0 and the least number of the model's dtype in its place.
    """
    if model.config.get_text_config()._attn_implementation != "eager":
        return mask
    dtype = model.dtype
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, torch.finfo(dtype).min)
