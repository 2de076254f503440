"""Hypotheses and references from files: plain text or instance log, told apart by content."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from simulmt.errors import SimulmtError
from simulmt.instance import Instance
from simulmt.scoring.retranslation import parse_step, replay
from simulmt.scoring.units import Unit

Record = TypeVar("Record")


@dataclass(slots=True)
class Hypotheses:
    """One system's output as read.

    Attributes:
        name: the file, `-` for standard input.
        lines: plain text, one segment a line; empty for a log.
        instances: of a log; None for plain text.
        speech: the log is of speech to text, its delays in ms.
        cut: the log ended within a line, which is left out.
        erasure: target units taken back and written, from logs that count them; None from others.
        notes: what was odd, one sentence each.
    """

    name: str
    lines: list[str] = field(default_factory=list)
    instances: list[Instance] | None = None
    speech: bool = False
    cut: bool = False
    erasure: tuple[int, int] | None = None
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.lines if self.instances is None else self.instances)


def read_bytes(path: str, stdin: bytes | None = None) -> bytes:
    """Return a file's content; `-` gives `stdin`.

    Raises:
        SimulmtError: the file cannot be read.
    """
    if path == "-" and stdin is not None:
        return stdin
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise SimulmtError(f"{path} cannot be read: {error.strerror}") from error


def text_lines(data: bytes, name: str) -> list[str]:
    """Return the lines of a text as sacrebleu reads them: cut at line feeds, trailing white space removed.

    A last line without a line feed counts; blank lines and inner spaces are kept.

    Raises:
        SimulmtError: not UTF-8; names the line.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SimulmtError(f"{name}:{line}: not UTF-8 (byte 0x{data[error.start]:02x})", "convert the file") from error
    lines = text.split("\n")
    return [line.rstrip() for line in (lines[:-1] if lines[-1] == "" else lines)]


def parse_hypotheses(data: bytes, name: str, unit: Unit = "word") -> Hypotheses:
    """Return what `data` holds: an instance log, a log of re-translation, or plain text.

    Args:
        data: the file's content.
        name: for messages.
        unit: what the target units of a log of re-translation are.

    Raises:
        SimulmtError: a bad line; names file and line.
    """
    lines = text_lines(data, name)
    first = next((line for line in lines if line), "")
    if _starts_log(first):
        return _parse_log(lines, name, whole=data.endswith(b"\n"))
    if first.startswith("{") and '"generated_tokens"' in data.decode("utf-8"):
        return _parse_retranslation(lines, name, data.endswith(b"\n"), unit)
    read = Hypotheses(name, lines)
    if data.startswith(b"\xef\xbb\xbf"):
        read.notes.append(f"{name} begins with a byte order mark, which counts as text of its first line")
    return read


def match_references(read: Hypotheses, references: Sequence[Sequence[str]], names: Sequence[str]) -> list[list[str]]:
    """Return the references of each stream that belong to the hypotheses, in their order.

    Plain text matches line by line. A log does too; one that is a part of the corpus (its first index is not 0, or its
    last line is cut) takes the lines its indices name.

    Raises:
        SimulmtError: the counts do not match; gives both.
    """
    return [_match(read, stream, name) for stream, name in zip(references, names, strict=True)]


def _match(read: Hypotheses, stream: Sequence[str], name: str) -> list[str]:
    if len(stream) == len(read):
        return list(stream)
    indices = [instance.index for instance in read.instances or ()]
    partial = bool(indices) and (read.cut or min(indices) > 0)
    if not (partial and len(stream) > len(read) and max(indices) < len(stream)):
        own = _counted(len(read), "line" if read.instances is None else "segment")
        hint = "each line of one must be the translation of the same line of the other"
        raise SimulmtError(f"{read.name} has {own} but {name} has {_counted(len(stream), 'line')}", hint)
    read.notes.append(f"{len(read)} of {len(stream)} lines of {name} are scored, those the log's indices name")
    return [stream[index] for index in indices]


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _starts_log(line: str) -> bool:
    return line.startswith("{") and ('"prediction"' in line or '"index"' in line)


def _parse_log(lines: list[str], name: str, whole: bool) -> Hypotheses:
    instances: list[Instance] = []
    read = Hypotheses(name, instances=instances)
    first_seen: dict[int, int] = {}
    for number, instance in _parsed(lines, read, whole, _instance):
        if instance.index in first_seen:
            raise SimulmtError(
                f"{name}:{number}: index {instance.index} was already on line {first_seen[instance.index]}"
            )
        first_seen[instance.index] = number
        instances.append(instance)
    instances.sort(key=lambda instance: instance.index)  # a resumed run may have finished out of order
    read.speech = _has_speech_source(next(line for line in lines if line))
    return read


def _parse_retranslation(lines: list[str], name: str, whole: bool, unit: Unit) -> Hypotheses:
    read = Hypotheses(name, speech=True)
    numbered = list(_parsed(lines, read, whole, parse_step))
    read.instances, read.erasure = replay(numbered, name, unit)
    read.notes.append(f"{name} is a log of re-translation: a unit's delay is that of its last change")
    return read


def _parsed(
    lines: list[str], read: Hypotheses, whole: bool, parse: Callable[[str], Record]
) -> Iterator[tuple[int, Record]]:
    """Yield line number and record of each line; a bad last line without a line feed is a cut one."""
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line]
    for position, (number, line) in enumerate(numbered, 1):
        try:
            record = parse(line)
        except ValueError as error:
            if whole or position < len(numbered):
                raise SimulmtError(f"{read.name}:{number}: not a record of a log: {error}") from error
            read.cut = True
            read.notes.append(f"{read.name}:{number}: the last line is cut and left out")
            return
        yield number, record


def _instance(line: str) -> Instance:
    instance = Instance.from_json(line)
    _check_finite(instance)
    return instance


def _check_finite(instance: Instance) -> None:
    for key, values in _numbers(instance):
        if not all(math.isfinite(value) for value in values):
            raise ValueError(f"key {key!r} holds a number that is not finite")


def _numbers(instance: Instance) -> Iterator[tuple[str, Sequence[float]]]:
    yield "delays", instance.delays
    yield "elapsed", instance.elapsed
    yield "source_length", [instance.source_length]
    yield "arrivals", instance.arrivals or []
    yield "offset", [instance.offset or 0.0]


def _has_speech_source(line: str) -> bool:
    try:
        return isinstance(json.loads(line).get("source"), list)
    except ValueError:
        return False
