"""Report: all scores of one system with what defines them, and its three forms: table, JSON, TSV."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simulmt.scoring.definitions import QUALITY_NAMES, SYMBOLS, definition


@dataclass(slots=True)
class Score:
    """One number, or why there is none.

    Attributes:
        value: None when there is no value.
        reason: why there is none.
        signature: what defines the number beyond its definition (sacrebleu's signature, the COMET model).
        mean: mean over bootstrap samples, when asked for.
        half_width: half of the 95 % confidence interval around `mean`, when asked for.
        per_segment: the value of each segment (None where it has none), for metrics that are means over segments.
    """

    value: float | None
    reason: str | None = None
    signature: str | None = None
    mean: float | None = None
    half_width: float | None = None
    per_segment: list[float | None] | None = None

    @property
    def without_value(self) -> int:
        """How many segments have no value."""
        return sum(value is None for value in self.per_segment or ())


@dataclass(slots=True)
class Report:
    """The scores of one system.

    Attributes:
        system: name of the system, normally its file.
        unit: target units, `word` or `char`.
        scores: by metric name, in the order shown.
        counts: segments, units, empty hypotheses and the like.
        notes: what the reader should know, one sentence each.
        assumed: the policy whose ideal schedule stands in for logged delays; None when delays are logged.
        degenerate: the degeneracy test's answer; None when it has none.
        hypotheses: kept for paired tests.
        references: streams of references, kept for paired tests.
        tokenizer: of BLEU.
    """

    system: str
    unit: str
    scores: dict[str, Score] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    assumed: str | None = None
    degenerate: bool | None = None
    hypotheses: Sequence[str] = ()
    references: Sequence[Sequence[str]] = ()
    tokenizer: str = "13a"

    def value(self, name: str) -> float | None:
        """Return a score's value; None when it has none or was not computed."""
        return self.scores[name].value if name in self.scores else None

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values: metric names are keys, a missing value is None with a reason."""
        scores = self.scores
        record: dict[str, Any] = {name: score.value for name, score in scores.items()}
        record["degenerate"] = self.degenerate
        record |= {
            "system": self.system,
            "unit": self.unit,
            "signature": {name: score.signature for name, score in scores.items() if score.signature},
            "confidence": {
                name: {"mean": score.mean, "half_width": score.half_width, "level": 0.95}
                for name, score in scores.items()
                if score.half_width is not None
            },
            "definitions": {name: definition(name).one_line for name in scores} | {"symbols": SYMBOLS},
            "counts": self.counts | {"without_value": self._without_value()},
            "unavailable": {name: score.reason for name, score in scores.items() if score.value is None},
            "assumed": self.assumed,
            "notes": self.notes,
        }
        return record

    def to_json(self) -> str:
        """Return `to_dict` as indented JSON; it never holds NaN."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2, allow_nan=False)

    def _without_value(self) -> dict[str, int]:
        return {name: score.without_value for name, score in self.scores.items() if score.without_value}


def tsv(reports: Sequence[Report]) -> str:
    """Return one header line and one line per system; an empty field is a missing value.

    Where intervals were asked for, `BLEU_ci95` holds half the width of that of BLEU, and so on.
    """
    rows = [_tsv_row(report) for report in reports]
    names = list(dict.fromkeys(name for row in rows for name in row))
    return "\n".join(["\t".join(names), *("\t".join(row.get(name, "") for name in names) for row in rows)])


def _tsv_row(report: Report) -> dict[str, str]:
    row = {"system": report.system}
    for name, score in report.scores.items():
        row[name] = "" if score.value is None else repr(score.value)
        if score.half_width is not None:
            row[f"{name}_ci95"] = repr(score.half_width)
    return row


def table(report: Report, width: int = 2) -> str:
    """Return the report for people.

    Args:
        report: what to show.
        width: decimals of the quality scores; the others have at least 3.
    """
    blocks = [f"system  {report.system}", _score_block(report, width), _unavailable_block(report)]
    signatures = {name: score.signature for name, score in report.scores.items() if score.signature}
    blocks.append(_block("signature", signatures))
    blocks.append(_block("definitions", _shown_definitions(report)))
    blocks.append(_block("counts", report.counts))
    blocks.append("\n".join(f"note  {note}" for note in report.notes))
    return "\n\n".join(block for block in blocks if block)


def _shown_definitions(report: Report) -> dict[str, str]:
    shown = [definition(name) for name, score in report.scores.items() if score.value is not None]
    shown = [metric for metric in shown if metric.name not in QUALITY_NAMES]
    where = {"where": SYMBOLS} if any(metric.symbols for metric in shown) else {}
    return {metric.name: metric.one_line for metric in shown} | where


def _score_block(report: Report, width: int) -> str:
    rows = {
        name: _shown(report, name, score.value, score, width)
        for name, score in report.scores.items()
        if score.value is not None
    }
    if report.degenerate is not None:
        rows["degenerate"] = "yes" if report.degenerate else "no"
    return _block("scores", rows)


def _unavailable_block(report: Report) -> str:
    """Return the scores without a value, those with one reason on one line."""
    names: dict[str | None, list[str]] = {}
    for name, score in report.scores.items():
        if score.value is None:
            names.setdefault(score.reason, []).append(name)
    lines = [f"  {', '.join(group)}: {reason}" for reason, group in names.items()]
    return "\n".join(["not available", *lines]) if lines else ""


def _shown(report: Report, name: str, value: float, score: Score, width: int) -> str:
    digits = width if name in QUALITY_NAMES else max(width, 3)
    text = f"{value:.{digits}f}"
    if score.half_width is not None:
        text += f"  (μ = {score.mean:.{digits}f} ± {score.half_width:.{digits}f})"
    if score.per_segment is not None:
        total = len(score.per_segment)
        missing = score.without_value
        text += f"  mean over {total - missing} of {total} segments" if missing else ""
        text += f"  assumed: {report.assumed}" if report.assumed else ""
    return text


def _block(title: str, rows: Mapping[str, object]) -> str:
    if not rows:
        return ""
    width = max(map(len, rows))
    return "\n".join([title, *(f"  {name:<{width}}  {value}" for name, value in rows.items())])
