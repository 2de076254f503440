"""JSON lines: one object a word, one a segment end."""

from __future__ import annotations

import json
from typing import Any, TextIO

from simulmt.emission import Emission, SegmentEnd
from simulmt.output.base import write_now


class JsonlSink:
    """Writes `{"type": "word", …}` for each unit and `{"type": "segment", …}` at each segment end.

    Times are in ms since the first source word arrived."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def emit(self, emission: Emission) -> None:
        self._write(
            {
                "type": "word",
                "text": emission.text,
                "segment": emission.segment,
                "index": emission.index,
                "delay": emission.delay,
                "arrival_ms": _ms(emission.arrival),
                "emission_ms": _ms(emission.emitted),
            }
        )

    def end(self, segment: SegmentEnd) -> None:
        instance = segment.instance
        self._write(
            {
                "type": "segment",
                "segment": instance.index,
                "source": instance.source,
                "text": instance.prediction,
                "source_length": instance.source_length,
                "length": instance.prediction_length,
                "reason": segment.reason,
                "stopped": segment.stopped,
            }
        )

    def close(self) -> None:
        pass

    def _write(self, record: dict[str, Any]) -> None:
        write_now(self._stream, json.dumps(record, ensure_ascii=False) + "\n")


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)
