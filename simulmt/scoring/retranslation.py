"""Logs of systems that take words back: simulstream's JSON lines, replayed into instances.

Each line holds what one step deleted from the end of the output and what it then appended
(https://github.com/hlt-mt/simulstream): `id`, `total_audio_processed` and `computation_time` in seconds,
`deleted_tokens`, `generated_tokens`. A line with `metadata` opens a recording.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from simulmt.errors import SimulmtError
from simulmt.instance import Instance
from simulmt.scoring.units import Unit, split_units


@dataclass(frozen=True, slots=True)
class Step:
    """One step of one recording, times in ms; `deleted` and `generated` are tokens."""

    recording: str
    heard: float
    computed: float
    deleted: list[str]
    generated: list[str]


def parse_step(line: str) -> Step | None:
    """Return the step of a log line; None for a line that only opens a recording.

    Raises:
        ValueError: not JSON, or a key is missing or of the wrong type; the message names it.
    """
    record = json.loads(line)
    if not isinstance(record, dict):
        raise ValueError("not a JSON object")
    if "metadata" in record:
        return None
    try:
        heard, computation = float(record["total_audio_processed"]), float(record["computation_time"])
        deleted, generated = list(record["deleted_tokens"]), list(record["generated_tokens"])
        return Step(str(record["id"]), 1000 * heard, 1000 * (heard + computation), deleted, generated)
    except KeyError as error:
        raise ValueError(f"key {error} is missing") from error
    except TypeError as error:
        raise ValueError(f"a key has the wrong type: {error}") from error


@dataclass(slots=True)
class _Output:
    """The state of one recording's output."""

    tokens: list[str] = field(default_factory=list)
    units: list[str] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)
    elapsed: list[float] = field(default_factory=list)
    heard: float = 0.0

    def apply(self, step: Step, unit: Unit) -> None:
        kept = len(self.tokens) - len(step.deleted)
        if kept < 0 or self.tokens[kept:] != step.deleted:
            raise ValueError(f"it deletes {step.deleted}, which is not how the output ends")
        self.tokens = self.tokens[:kept] + step.generated
        units = split_units(_text(self.tokens), unit)
        pairs = enumerate(zip(self.units, units, strict=False))
        same = next((i for i, (old, new) in pairs if old != new), min(len(self.units), len(units)))
        self.delays = self.delays[:same] + [step.heard] * (len(units) - same)
        self.elapsed = self.elapsed[:same] + [step.computed] * (len(units) - same)
        self.units = units
        self.heard = step.heard


def replay(steps: Iterable[tuple[int, Step | None]], name: str, unit: Unit) -> tuple[list[Instance], tuple[int, int]]:
    """Return one instance per recording, and the tokens deleted and generated over all.

    A unit's delay is that of the last step that changed it.

    Args:
        steps: line number and step.
        name: of the file, for messages.
        unit: target units.

    Raises:
        SimulmtError: a step deletes what was not there; names file and line.
    """
    outputs: dict[str, _Output] = {}
    deleted = generated = 0
    for number, step in steps:
        if step is None:
            continue
        try:
            outputs.setdefault(step.recording, _Output()).apply(step, unit)
        except ValueError as error:
            raise SimulmtError(f"{name}:{number}: not a step that can follow the one before: {error}") from error
        deleted += len(step.deleted)
        generated += len(step.generated)
    instances = [
        Instance(index, _text(output.tokens), output.delays, output.elapsed, output.heard)
        for index, output in enumerate(outputs.values())
    ]
    return instances, (deleted, generated)


def _text(tokens: list[str]) -> str:
    if any("▁" in token for token in tokens):
        return "".join(tokens).replace("▁", " ").strip()
    return " ".join(tokens)
