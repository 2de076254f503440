"""Results over all settings: table, JSON, TSV, and paired tests against one of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from simulmt.errors import UsageError
from simulmt.scoring.bootstrap import Comparison, paired_bootstrap
from simulmt.scoring.report import Report, tsv

COLUMNS = ("BLEU", "chrF2", "TER", "COMET", "AL", "LAAL", "AP", "DAL", "YAAL")
Comparisons = dict[str, dict[str, Comparison]]


def compare(reports: Sequence[Report], baseline: str, samples: int = 1000) -> Comparisons:
    """Return the paired bootstrap of every other report against the one called `baseline`, by system and metric.

    Raises:
        UsageError: there is no report of that name.
    """
    named = {report.system: report for report in reports}
    if baseline not in named:
        raise UsageError(f"--compare {baseline!r} is not among the settings", f"choose one of: {', '.join(named)}")
    first = named.pop(baseline)
    return {name: paired_bootstrap(first, report, samples) for name, report in named.items()}


def table(reports: Sequence[Report], comparisons: Comparisons | None = None, width: int = 2) -> str:
    """Return one row per setting, and one per comparison; `-` is a missing value."""
    names = [name for name in COLUMNS if any(report.value(name) is not None for report in reports)]
    rows = [["setting", *names]] + [[report.system, *_cells(report, names, width)] for report in reports]
    blocks = [_aligned(rows)]
    if comparisons:
        blocks.append(_comparison_block(comparisons, width))
    blocks.append("\n".join(f"note  {text}" for text in _notes(reports)))
    blocks.append("\n".join(f"{name}  {text}" for name, text in _signatures(reports).items()))
    return "\n\n".join(block for block in blocks if block)


def as_json(reports: Sequence[Report], comparisons: Comparisons | None = None) -> str:
    """Return all reports by setting, and the comparisons, as indented JSON."""
    record: dict[str, Any] = {"settings": {report.system: report.to_dict() for report in reports}}
    if comparisons is not None:
        record["compared"] = {
            system: {name: asdict(item) for name, item in metrics.items()} for system, metrics in comparisons.items()
        }
    return json.dumps(record, ensure_ascii=False, indent=2, allow_nan=False)


def printed(reports: Sequence[Report], comparisons: Comparisons | None, form: str, width: int = 2) -> str:
    """Return the results as `table`, `json` or `tsv`; TSV has no room for comparisons."""
    if form == "json":
        return as_json(reports, comparisons)
    return tsv(reports) if form == "tsv" else table(reports, comparisons, width)


def _cells(report: Report, names: Sequence[str], width: int) -> list[str]:
    values = [report.value(name) for name in names]
    return ["-" if value is None else f"{value:.{width}f}" for value in values]


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(size) for cell, size in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    )


def _comparison_block(comparisons: Comparisons, width: int) -> str:
    names = [name for name in ("BLEU", "chrF2", "TER") if any(name in metrics for metrics in comparisons.values())]
    rows = [["paired bootstrap", *(cell for name in names for cell in (f"Δ {name}", "p"))]]
    for system, metrics in comparisons.items():
        cells = [
            cell
            for name in names
            for cell in ((f"{metrics[name].difference:+.{width}f}", f"{metrics[name].p_value:.4f}"))
        ]
        rows.append([system, *cells])
    return _aligned(rows)


def _notes(reports: Sequence[Report]) -> list[str]:
    return list(dict.fromkeys(f"{report.system}: {text}" for report in reports for text in report.notes))


def _signatures(reports: Sequence[Report]) -> dict[str, str]:
    return {name: score.signature for report in reports for name, score in report.scores.items() if score.signature}
