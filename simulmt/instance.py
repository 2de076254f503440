"""One segment's record: what was read, what was written, and when. The log between translating and scoring.

An instance log is a file with one JSON object a line, the schema of SimulEval's `instances.log`
(https://github.com/facebookresearch/SimulEval): `index`, `prediction`, `delays`, `elapsed`, `prediction_length`,
`reference`, `source`, `source_length`. Two keys of our own are added when arrival times are known, and ignored by other
tools: `arrivals` and `offset`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simulmt.errors import SimulmtError


@dataclass(slots=True)
class Instance:
    """One segment.

    Attributes:
        index: number of the segment; a log need not start at 0.
        prediction: the hypothesis, detokenised.
        delays: d_1..d_H, for each target unit the source units (ms of audio in speech logs) read when it was written.
        elapsed: for each target unit, ms from the arrival of the segment's first source unit until it was written, by
            a real clock. Logs of other tools may hold other things here; empty when not known.
        source_length: S in source units, end marks not counted (ms of audio in speech logs).
        source: the source text, None when not logged (speech logs hold something else there).
        reference: the reference text, None when there is none.
        arrivals: for each source unit, ms from the arrival of the segment's first unit until it arrived; None if unknown.
        offset: ms from the start of the stream until the segment's first unit arrived; None if unknown.
        extra: any further keys of the log line, kept as they are.
    """

    index: int
    prediction: str
    delays: list[float]
    elapsed: list[float]
    source_length: float
    source: str | None = None
    reference: str | None = None
    arrivals: list[float] | None = None
    offset: float | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def prediction_length(self) -> int:
        """H, the number of target units written."""
        return len(self.delays)

    def to_json(self) -> str:
        """Return the log line, without a line break."""
        record: dict[str, Any] = {
            "index": self.index,
            "prediction": self.prediction,
            "delays": self.delays,
            "elapsed": self.elapsed,
            "prediction_length": self.prediction_length,
        }
        if self.reference is not None:
            record["reference"] = self.reference
        if self.source is not None:
            record["source"] = self.source
        record["source_length"] = self.source_length
        if self.arrivals is not None:
            record["arrivals"] = self.arrivals
        if self.offset is not None:
            record["offset"] = self.offset
        return json.dumps(record | self.extra, ensure_ascii=False)

    @classmethod
    def from_json(cls, line: str) -> Instance:
        """Read one log line, ours or SimulEval's.

        Raises:
            ValueError: not JSON, or a key is missing or of the wrong type; the message names it.
        """
        record = json.loads(line)
        if not isinstance(record, dict):
            raise ValueError("not a JSON object")
        known = {
            "index": int(_take(record, "index", (int,))),
            "prediction": str(_take(record, "prediction", (str,))),
            "delays": _numbers(record, "delays"),
            "elapsed": _numbers(record, "elapsed") if record.get("elapsed") is not None else [],
            "source_length": _take(record, "source_length", (int, float)),
        }
        for name, kind in (("elapsed", None), ("prediction_length", None)):
            record.pop(name, kind)
        source = record.pop("source", None)
        reference = record.pop("reference", None)
        arrivals = _numbers(record, "arrivals") if record.get("arrivals") is not None else None
        offset = record.pop("offset", None)
        return cls(
            **known,
            source=source if isinstance(source, str) else None,
            reference=reference.rstrip("\r\n") if isinstance(reference, str) else None,
            arrivals=arrivals,
            offset=float(offset) if isinstance(offset, (int, float)) else None,
            extra=record,
        )


def _take(record: dict[str, Any], key: str, kinds: tuple[type, ...]) -> Any:
    if key not in record:
        raise ValueError(f"key {key!r} is missing")
    value = record.pop(key)
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise ValueError(f"key {key!r} is {value!r}, expected {' or '.join(kind.__name__ for kind in kinds)}")
    return value


def _numbers(record: dict[str, Any], key: str) -> list[float]:
    values = _take(record, key, (list,))
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"key {key!r} holds {value!r}, expected numbers")
    return list(values)


def read_log(path: Path) -> Iterator[Instance]:
    """Yield the instances of a log file, in file order.

    A last line without a line break that begins as instances do but is not whole JSON is a write that was cut: it is left
    out, since its segment was not finished. Any other bad line is an error.

    Raises:
        SimulmtError: the file cannot be read, or a line is not an instance; names file and line.
    """
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                try:
                    yield Instance.from_json(line.decode("utf-8"))
                except ValueError as error:
                    if _was_cut(line):
                        return
                    reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error
                    raise SimulmtError(f"{path}:{number}: not an instance of a log: {reason}") from error
    except OSError as error:
        raise SimulmtError(f"{path} cannot be read: {error.strerror}") from error


_BEGINNING = b'{"index"'


def _was_cut(line: bytes) -> bool:
    """Return whether a line that is no instance is the beginning of one, so that nothing but a cut write is lost with it."""
    return not line.endswith(b"\n") and line[: len(_BEGINNING)] == _BEGINNING[: len(line)]


def repair(log: Path) -> bool:
    """Make a log end with a whole line: add a line break that is missing, take off a last line that was cut.

    Returns:
        True if something was changed.

    Raises:
        SimulmtError: the file does not end as a log may; it is left as it is.
    """
    data = log.read_bytes()
    if not data or data.endswith(b"\n"):
        return False
    whole = data.rfind(b"\n") + 1
    try:
        Instance.from_json(data[whole:].decode("utf-8"))
    except ValueError as error:
        if not _was_cut(data[whole:]):
            line = data.count(b"\n") + 1
            raise SimulmtError(f"{log}:{line}: not an instance of a log: {error}") from error
        os.truncate(log, whole)
    else:
        with log.open("ab") as stream:
            stream.write(b"\n")
    return True
