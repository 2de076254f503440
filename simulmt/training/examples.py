"""From a pair of texts to a training example: units, tokens, what was read when."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from simulmt.errors import UsageError
from simulmt.model.layout import Frame, GroupedSegment, grouped_segment
from simulmt.text.events import Unit
from simulmt.text.languages import Language
from simulmt.text.tokenizers import Boundary, UnitTokenizer
from simulmt.text.units import split_units

FULL = 0
"""The k that stands for whole segments."""

_PUNCTUATION = re.compile(r"(?<=\w)['’-](?=\w)|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Lags:
    """The values of k to draw from.

    Attributes:
        values: numbers of words, or FULL; each as likely as the others.
        full_share: share of examples that are whole segments instead.
    """

    values: tuple[int, ...]
    full_share: float = 0.0

    @classmethod
    def parse(cls, text: str, full_share: float | None = None) -> Lags:
        """Read `5`, `1-10`, `1,3,5` or `3,full`; whole segments one time in five unless a single k was given.

        Raises:
            UsageError: anything else.
        """
        values: list[int] = []
        for part in text.split(","):
            match = re.fullmatch(r"\s*(?:(\d+)(?:\s*-\s*(\d+))?|(full))\s*", part)
            if match is None:
                raise UsageError(
                    f"--k {text!r} is not understood", "give a number, a range or a list: 5, 1-10, 1,3,5,full"
                )
            first, last = int(match[1] or FULL), int(match[2] or match[1] or FULL)
            if match[3] is None and (first < 1 or last < first):
                raise UsageError(
                    f"--k {text!r}: {part.strip()!r} is not possible", "k starts at 1, and ranges go upwards"
                )
            values += range(first, last + 1)
        if full_share is None:
            full_share = 0.0 if len(values) == 1 or FULL in values else 0.2
        return cls(tuple(dict.fromkeys(values)), full_share)

    def __str__(self) -> str:
        numbers = [value for value in self.values if value != FULL]
        run = len(numbers) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1))
        parts = [f"{numbers[0]}-{numbers[-1]}"] if run else [str(number) for number in numbers]
        return ",".join(parts + ["full"] * (FULL in self.values or self.full_share > 0))


def wait_k_reads(k: int, source_length: int, target_length: int) -> list[int]:
    """Return g(1..T+1) of wait-k: g(i) = min(k + i − 1, S), S for k = FULL; the last entry is for the end of target.

    The same numbers as `policy.scheduled_reads`, without playing the policy for each example.
    """
    if k == FULL:
        return [source_length] * (target_length + 1)
    return [min(k + written, source_length) for written in range(target_length + 1)]


def caption_noise(text: str) -> str:
    """Return the text as live captions without punctuation have it: lower case, no signs but those inside words."""
    bare = " ".join(_PUNCTUATION.sub(lambda sign: sign[0] if sign[0] in "'’-" and _inside(sign) else "", text).split())
    return bare.lower() or text


def _inside(sign: re.Match[str]) -> bool:
    before, after = sign.string[: sign.start()][-1:], sign.string[sign.end() :][:1]
    return before.isalnum() and after.isalnum()


def join_texts(first: str, second: str, language: Language) -> str:
    """Return two neighbouring texts as one."""
    return first + ("" if language.unit == "char" else " ") + second


def peeking(
    segment: GroupedSegment, head: int, target: Sequence[Sequence[int]], reads: Sequence[int]
) -> GroupedSegment:
    """Return the segment with the last token of each unit seeing no more than the unit's other tokens.

    Where tokens mark the start of units, a decoder learns that unit i is over from the first token of the next one,
    which it predicts before it READs, then drops and predicts again. This is that first prediction; without it a model
    that is trained for one k only is never asked this question.
    """
    seen = list(segment.reads)
    last = head - 1
    for unit, read in zip(target, reads, strict=False):
        last += len(unit)
        seen[last] = read
    return replace(segment, reads=seen)


@dataclass(frozen=True)
class ExampleMaker:
    """Lays out pairs for one model and language pair."""

    frame: Frame
    tokenizer: UnitTokenizer
    source: Language
    target: Language

    def source_units(self, text: str) -> list[list[int]]:
        """Return the tokens of each source unit; a unit of unknown characters has none, but is read all the same."""
        return self._units(text, self.source.unit)

    def target_units(self, text: str) -> list[list[int]]:
        """Return the tokens of each target unit that has any: the others cannot be written."""
        return [unit for unit in self._units(text, self.target.unit) if unit]

    def _units(self, text: str, unit: Unit) -> list[list[int]]:
        return [self.tokenizer.encode(word, number == 0, unit) for number, word in enumerate(split_units(text, unit))]

    def measure(self, source: str, target: str) -> tuple[int, int] | None:
        """Return the numbers of tokens of the units of both sides; None if a side has none."""
        lengths = (sum(map(len, self.source_units(source))), sum(map(len, self.target_units(target))))
        return lengths if min(lengths) > 0 else None

    def make(self, source: str, target: str, k: int, *, noisy: bool = False, peek: bool = False) -> GroupedSegment:
        """Lay out one pair for wait-k, with the source as captions have it if `noisy`; `peek` as in `peeking`."""
        source_units = self.source_units(caption_noise(source) if noisy else source)
        target_units = self.target_units(target)
        reads = wait_k_reads(k, len(source_units), len(target_units))
        segment = grouped_segment(self.frame, source_units, target_units, reads)
        if peek and self.tokenizer.boundary is Boundary.PREFIX:
            return peeking(segment, len(self.frame.target_head), target_units, reads)
        return segment
