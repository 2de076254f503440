"""`simulmt score`: quality and latency of finished output."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click

from simulmt.errors import SimulmtError, UsageError
from simulmt.instance import Instance
from simulmt.scoring.bootstrap import Comparison, paired_bootstrap
from simulmt.scoring.definitions import LATENCY_NAMES, OTHER_NAMES, QUALITY_NAMES, definition
from simulmt.scoring.longform import score_talk
from simulmt.scoring.quality import check_tokenizer
from simulmt.scoring.reading import Hypotheses, match_references, parse_hypotheses, read_bytes, text_lines
from simulmt.scoring.report import Report, table, tsv
from simulmt.scoring.scorer import DEFAULT_METRICS, ScoreOptions, assume_wait_k, score_instances
from simulmt.scoring.units import default_unit
from simulmt.text.languages import parse as parse_language

_NO_DELAYS = (
    "plain text has no delays: give --source FILE and --k N (ideal wait-k), or score the log of translate --log"
)


def _explain(context: click.Context, _: click.Parameter, name: str | None) -> None:
    if name is None or context.resilient_parsing:
        return
    click.echo(definition(name).explain())
    context.exit()


def _metrics(_: click.Context, __: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    chosen = tuple(definition(name).name for part in names for name in part.split(","))
    if unknown := [name for name in chosen if name.endswith(("_ms", "_CA"))]:
        raise UsageError(f"metric {unknown[0]} is not chosen by itself", "choose AL and the like; times come with them")
    return chosen or DEFAULT_METRICS


def _tokenizer(_: click.Context, __: click.Parameter, name: str | None) -> str | None:
    if name is not None:
        check_tokenizer(name)
    return name


def _language(_: click.Context, __: click.Parameter, name: str | None) -> str | None:
    return None if name is None else parse_language(name).code


@click.command(name="score", short_help="Quality and latency of finished output.")
@click.argument("hyp")
@click.argument("ref", nargs=-1)
@click.option("--paired", multiple=True, metavar="HYP2", help="Another system to compare with HYP; may be repeated.")
@click.option(
    "--metric",
    "-m",
    "metrics",
    multiple=True,
    callback=_metrics,
    metavar="NAME",
    help=f"Report only these: {', '.join((*QUALITY_NAMES, *LATENCY_NAMES, *OTHER_NAMES))}.  "
    "[default: all but TER and COMET]",
)
@click.option(
    "--to",
    "--language",
    "language",
    callback=_language,
    metavar="LANGUAGE",
    help="Target language, by code or name: decides --tokenize and --unit.",
)
@click.option(
    "--tokenize", callback=_tokenizer, metavar="NAME", help="sacrebleu tokenizer of BLEU.  [default: by --to]"
)
@click.option("--unit", type=click.Choice(["word", "char"]), help="Target units.  [default: by --to, else word]")
@click.option("--source", metavar="FILE", help="Source text, one segment a line.")
@click.option(
    "--from",
    "source_language",
    callback=_language,
    metavar="LANGUAGE",
    help="Source language, by code or name: decides source units for --k.",
)
@click.option("--k", type=int, metavar="N", help="Assume the ideal wait-k schedule for plain text; needs --source.")
@click.option("--longform", is_flag=True, help="HYP is the log of a whole talk; REF and --source are its sentences.")
@click.option("--simuleval-compatible", is_flag=True, help="Count reference lengths as SimulEval does.")
@click.option("--confidence", is_flag=True, help="Show 95 % confidence intervals (bootstrap).")
@click.option("--samples", type=click.IntRange(1), default=1000, show_default=True, help="Bootstrap samples.")
@click.option("--comet", "comet_model", metavar="FILE", help="Also score with this COMET checkpoint.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "tsv"]),
    default="table",
    show_default=True,
    help="How the scores are written to stdout.",
)
@click.option("--width", type=click.IntRange(0, 12), default=2, show_default=True, help="Decimals in the table.")
@click.option(
    "--explain",
    metavar="NAME",
    is_eager=True,
    expose_value=False,
    callback=_explain,
    help="Say what a metric is, and exit.",
)
@click.pass_context
def score(context: click.Context, /, hyp: str, ref: tuple[str, ...], paired: tuple[str, ...], **choices: Any) -> None:
    """Score the translations in HYP against one or more REF files.

    HYP is plain text, one sentence a line (- for standard input), or an instance log as `simulmt translate --log` and
    SimulEval write it; its content decides. A log that carries its references needs no REF. Latency needs the delays
    that a log holds. Text is raw: neither tokenised nor cut into sub-words. The exit status is 1 when a metric that
    --metric names has no value.

    \b
    Examples:
      simulmt score out.de ref.de
      simulmt score instances.log --format json
      simulmt score out.de ref.de --source in.en --k 3
      simulmt score k3.log ref.de --paired k5.log
    """
    if [hyp, *ref, *paired, choices["source"]].count("-") > 1:
        raise UsageError("standard input (-) can be read only once")
    options = ScoreOptions(
        metrics=choices["metrics"],
        language=choices["language"],
        unit=choices["unit"],
        tokenizer=choices["tokenize"],
        simuleval_compatible=choices["simuleval_compatible"],
        bootstrap=choices["samples"] if choices["confidence"] else 0,
        comet_model=choices["comet_model"],
    )
    inputs = _Inputs(ref, choices["source"], choices["source_language"], choices["k"], choices["longform"])
    reports = [inputs.report(path, options) for path in (hyp, *paired)]
    comparisons = [paired_bootstrap(reports[0], report, choices["samples"]) for report in reports[1:]]
    if choices["form"] != "table":  # which shows them itself
        for note in dict.fromkeys(note for report in reports for note in report.notes):
            click.echo(f"note: {note}", err=True)
    click.echo(_printed(reports, comparisons, choices["form"], choices["width"]))
    if context.get_parameter_source("metrics") is click.core.ParameterSource.COMMANDLINE:
        _require(reports, options.metrics)


def _require(reports: Sequence[Report], metrics: Sequence[str]) -> None:
    """Raise SimulmtError where a metric that was asked for by name has no value: a script must not take it for one."""
    for report in reports:
        for name in metrics:
            if (score := report.scores.get(name)) is not None and score.value is None:
                raise SimulmtError(f"{report.system}: {name} is not available", score.reason)


class _Inputs:
    """The files that every system is scored against."""

    def __init__(
        self, references: Sequence[str], source: str | None, source_language: str | None, k: int | None, longform: bool
    ) -> None:
        if k is not None and source is None:
            raise UsageError(f"--k {k} needs --source FILE", "the schedule depends on the source's length")
        if longform and (source is None or not references):
            raise UsageError("--longform needs REF and --source FILE", "the sentences of the talk in both languages")
        self.names = list(references)
        self.references = [text_lines(self._read(name), name) for name in references]
        self.source = source
        self.sources = None if source is None else text_lines(self._read(source), source)
        self.source_unit = default_unit(source_language)
        self.k = k
        self.longform = longform

    def report(self, path: str, options: ScoreOptions) -> Report:
        """Score one system."""
        read = parse_hypotheses(self._read(path), path, options.target_unit)
        if not len(read):
            raise SimulmtError(f"{path} holds no segments", "give a text with one sentence a line, or an instance log")
        options = replace(options, speech=read.speech, erasure=read.erasure)
        report = self._talk(read, options) if self.longform else self._segments(read, options)
        report.notes = read.notes + report.notes
        return report

    def _read(self, path: str) -> bytes:
        return read_bytes(path, sys.stdin.buffer.read() if path == "-" else None)

    def _talk(self, read: Hypotheses, options: ScoreOptions) -> Report:
        if read.instances is None:
            raise SimulmtError(f"{read.name} is plain text", "--longform needs an instance log, which holds the delays")
        assert self.sources is not None
        return score_talk(read.instances, self.references, self.sources, options, read.name)

    def _segments(self, read: Hypotheses, options: ScoreOptions) -> Report:
        references = match_references(read, self.references, self.names) or None
        sources = None
        if self.sources is not None:
            sources = match_references(read, [self.sources], [str(self.source)])[0]
        if read.instances is not None:
            if self.k is not None:
                raise UsageError(f"--k {self.k} is for plain text", f"{read.name} is a log with delays of its own")
            return score_instances(_with_sources(read.instances, sources), references, options, read.name)
        if references is None:
            raise UsageError("plain text needs REF", "only an instance log can carry its references")
        instances, options = self._plain(read.lines, sources, options)
        return score_instances(instances, references, options, read.name)

    def _plain(
        self, lines: Sequence[str], sources: Sequence[str] | None, options: ScoreOptions
    ) -> tuple[list[Instance], ScoreOptions]:
        if self.k is None or sources is None:
            instances = [Instance(index, line, [], [], 0) for index, line in enumerate(lines)]
            return _with_sources(instances, sources), replace(options, no_delays=_NO_DELAYS)
        instances = assume_wait_k(lines, sources, self.k, options.target_unit, self.source_unit)
        return instances, replace(options, assumed=f"wait-k(k={self.k})")


def _with_sources(instances: list[Instance], sources: Sequence[str] | None) -> list[Instance]:
    if sources is not None:
        for instance, source in zip(instances, sources, strict=True):
            instance.source = source
    return instances


def _printed(reports: Sequence[Report], comparisons: Sequence[dict[str, Comparison]], form: str, width: int) -> str:
    if form == "tsv":
        return tsv(reports)
    if form == "json":
        record = reports[0].to_dict()
        if comparisons:
            record["paired"] = [
                {"system": report.system} | {name: _comparison_record(item) for name, item in comparison.items()}
                for report, comparison in zip(reports[1:], comparisons, strict=True)
            ]
        return json.dumps(record, ensure_ascii=False, indent=2, allow_nan=False)
    blocks = [table(report, width) for report in reports]
    for report, comparison in zip(reports[1:], comparisons, strict=True):
        blocks.append(_comparison_table(reports[0], report, comparison, width))
    return "\n\n".join(blocks)


def _comparison_record(item: Comparison) -> dict[str, float]:
    return {
        "baseline": item.baseline,
        "system": item.system,
        "difference": item.difference,
        "p_value": item.p_value,
        "segments": item.segments,
    }


def _comparison_table(baseline: Report, system: Report, comparison: dict[str, Comparison], width: int) -> str:
    lines = [f"paired  {system.system} against {baseline.system} (paired bootstrap)"]
    for name, item in comparison.items():
        lines.append(
            f"  {name:<12}  {item.baseline:.{width}f} -> {item.system:.{width}f}  "
            f"({item.difference:+.{width}f}, p = {item.p_value:.4f}, {item.segments} segments)"
        )
    return "\n".join(lines)
