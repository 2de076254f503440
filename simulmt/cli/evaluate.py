"""`simulmt evaluate`: a test set under many policies, its table and curve; `plot` and `staircase` draw what is done."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simulmt import __version__
from simulmt.cli.options import choose_model, model_options
from simulmt.errors import SimulmtError, UsageError
from simulmt.evaluation.corpus import Sentence, blank_sources, read_pairs, read_parallel
from simulmt.evaluation.settings import Setting, parse_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simulmt.evaluation.curve import Series
    from simulmt.evaluation.executor import Executor, ModelSpec
    from simulmt.evaluation.folder import Config
    from simulmt.scoring.report import Report

EPILOG = """\b
Examples:
  simulmt evaluate --source test.en --reference test.de --k 1,3,5,7,9,full --output runs/test
  simulmt evaluate --data test.tsv --k 5 --workers 4 --output runs/test
  simulmt evaluate plot runs/test runs/other --output compared
  simulmt evaluate staircase runs/test/k3/instances.log --index 12
"""
_NO_MATPLOTLIB = "no curve.svg and curve.png: they need matplotlib (pip install 'simulmt[plot]')"


class _Group(click.Group):
    """Says, where a file stands in a command's place, what to do with several test sets."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing:
            names = " or ".join(self.commands)
            raise UsageError(
                f"{args[0]!r} is neither {names}", "each option takes one file: run once for each test set"
            )
        return super().resolve_command(ctx, args)


@click.group(
    cls=_Group, epilog=EPILOG, invoke_without_command=True, short_help="Translate a test set at many k and score it."
)
@click.option("--source", "source_file", metavar="FILE", help="Source text, one sentence a line.")
@click.option(
    "--reference", metavar="FILE", help="Reference translations, line by line; without them only latency is scored."
)
@click.option("--data", metavar="FILE", help="Instead of both: a file of source<TAB>reference lines.")
@click.option(
    "--k",
    "lags",
    default="1,3,5,7,9,full",
    show_default=True,
    metavar="LIST",
    help="Settings: numbers of words to wait, ranges (2-6) and `full`.",
)
@click.option(
    "--catchup",
    type=float,
    default=0.0,
    show_default=True,
    metavar="C",
    help="Words written beyond one per word read: 0 ≤ C < 1.",
)
@click.option("--policy", metavar="NAME", help="A policy by name instead of wait-k at each --k.")
@click.option(
    "--output",
    "-o",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder for the results, one folder a setting in it. A run that was stopped goes on from there.",
)
@click.option("--overwrite", is_flag=True, help="Throw away what --output holds of these settings.")
@click.option(
    "--resume", is_flag=True, help="Go on with what --output holds: always done, the flag is for scripts that say so."
)
@model_options
@click.option(
    "--rows",
    type=click.IntRange(min=1),
    metavar="N",
    help="Sentences decoded at a time.  [default: 64; on a GPU as many as fit, up to 256]",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Processes to spread the sentences over.",
)
@click.option(
    "--ray",
    metavar="ADDRESS",
    help="Spread them over a Ray cluster instead, --workers tasks at a time: auto, host:port, or `local`.",
)
@click.option("--tokenize", metavar="NAME", help="sacrebleu tokenizer of BLEU.  [default: by the target language]")
@click.option(
    "--compare", metavar="SETTING", help="Paired bootstrap of every other setting against this one: full, k5."
)
@click.option("--samples", type=click.IntRange(1), default=1000, show_default=True, help="Bootstrap samples.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "tsv"]),
    default="table",
    show_default=True,
    help="How the scores are written to stdout.",
)
@click.option("--quiet", "-q", is_flag=True, help="No progress on stderr, and no chart.")
@click.pass_context
def evaluate(context: click.Context, /, **options: Any) -> None:  # fmt: skip
    """Translate a test set under each of several policies, score it, and draw quality over latency.

    Sentences are decoded many at a time, with exactly the words and delays that each would have alone (in float32; in
    fewer bits, rounding can tip a word). Each setting gets a folder in --output with instances.log, scores.json,
    scores.tsv and config.yaml, as SimulEval lays them out; the table goes to stdout. Text is raw: neither tokenised nor
    cut into sub-words.
    """
    if context.invoked_subcommand is None:
        _Evaluation(**options).run()
    elif context.get_parameter_source("output") is click.core.ParameterSource.COMMANDLINE:
        raise UsageError(f"--output stands before {context.invoked_subcommand!r}", "give it after")


@dataclass
class _Evaluation:
    """The options of one run, by their names."""

    source_file: str | None
    reference: str | None
    data: str | None
    lags: str
    catchup: float
    policy: str | None
    output: Path | None
    overwrite: bool
    resume: bool
    model: str | None
    adapter: str | None
    source: str | None
    target: str | None
    device: str | None
    dtype: str
    threads: int | None
    trust_remote_code: bool
    rows: int | None
    workers: int
    ray: str | None
    tokenize: str | None
    compare: str | None
    samples: int
    form: str
    quiet: bool

    def run(self) -> None:
        """Decode, score, print."""
        settings, output = self._settings(), self._output()
        sentences = self._sentences()
        reports = self._reports(settings, sentences, output)
        from simulmt.evaluation import results
        from simulmt.evaluation.folder import all_scores, replace_text

        comparisons = results.compare(reports, self.compare, self.samples) if self.compare else None
        replace_text(output / "scores.tsv", all_scores(output))
        self._draw(output)
        click.echo(results.printed(reports, comparisons, self.form))

    def _output(self) -> Path:
        if self.output is None:
            raise UsageError("--output DIR is missing", "the results need a folder")
        if self.resume and self.overwrite:
            raise UsageError("--resume and --overwrite exclude each other")
        return self.output

    def _settings(self) -> list[Setting]:
        if self.policy is not None and self.policy != "wait-k":
            settings = [Setting(self.policy)]
            settings[0].make()
        else:
            settings = parse_settings(self.lags, self.catchup)
        labels = [setting.label for setting in settings]
        if self.compare is not None and self.compare not in labels:
            raise UsageError(
                f"--compare {self.compare!r} is not among the settings", f"choose one of: {', '.join(labels)}"
            )
        return settings

    def _sentences(self) -> list[Sentence]:
        if (self.source_file is None) == (self.data is None) or (self.data and self.reference):
            raise UsageError("give --source FILE and --reference FILE, or --data FILE.tsv with both")
        if self.data is not None:
            sentences = read_pairs(self.data)
        else:
            assert self.source_file is not None
            sentences = read_parallel(self.source_file, self.reference)
        if blank := blank_sources(sentences):
            click.echo(f"note: {blank} of {len(sentences)} sources are blank; their translations are empty", err=True)
        return sentences

    def _reports(self, settings: Sequence[Setting], sentences: Sequence[Sentence], output: Path) -> list[Report]:
        from simulmt.evaluation.progress import Silent, progress_for
        from simulmt.evaluation.sweep import Sweep
        from simulmt.model.catalog import languages_of
        from simulmt.scoring.quality import check_tokenizer
        from simulmt.scoring.scorer import ScoreOptions

        if self.tokenize is not None:
            check_tokenizer(self.tokenize)
        name = choose_model(self.model, self.source, self.target, self.adapter)
        languages = languages_of(name, self.source, self.target, self.adapter)
        options = ScoreOptions(language=languages[1].code, unit=languages[1].unit, tokenizer=self.tokenize)
        sweep = Sweep(sentences, output, self._config(name), options, self.overwrite)
        executor = self._executor(name)
        try:
            with Silent() if self.quiet else progress_for() as progress:
                return [result.report for result in sweep.run(settings, executor, progress)]
        except KeyboardInterrupt:
            click.echo(f"stopped; what is done is in {output}, the same command goes on from there", err=True)
            raise
        finally:
            executor.close()

    def _executor(self, name: str) -> Executor:
        from simulmt.evaluation.executor import Here, ModelSpec

        spec: ModelSpec = ModelSpec(
            name, self.source, self.target, self.adapter, self.device, self.dtype, self.trust_remote_code, self.threads
        )
        if self.ray is not None:
            from simulmt.evaluation.cluster import Cluster

            return Cluster(spec, self.ray, self.workers, self.rows)
        if self.workers > 1:
            from simulmt.evaluation.workers import Workers

            return Workers(spec, self.workers, self.rows)
        return Here(spec, self.rows)

    def _config(self, name: str) -> Config:
        """Return what config.yaml says of the run, policy aside."""
        from simulmt.evaluation.identity import model_hash
        from simulmt.model.catalog import languages_of, locate

        source, target = languages_of(name, self.source, self.target, self.adapter)
        config: Config = {"model": name, "model_hash": model_hash(locate(name))}
        if self.adapter is not None:
            folder = Path(self.adapter)
            place = folder if folder.exists() else self.adapter
            config |= {"adapter": self.adapter, "adapter_hash": model_hash(place)}
        return config | {
            "languages": f"{source.code}-{target.code}",
            "source_unit": source.unit,
            "eval_latency_unit": target.unit,
            "source": self.data or self.source_file,
            "target": self.data or self.reference,
            "simulmt": __version__,
        }

    def _draw(self, output: Path) -> None:
        """Draw the curve of all settings in the folder, into files and into the terminal if one looks."""
        from simulmt.evaluation.curve import read_series

        try:
            curve = read_series(output)
        except UsageError:
            click.echo("no curve: without references there is no BLEU", err=True)
            return
        _draw_files([curve], output / "curve", "words")
        if not self.quiet and sum(not point.full for point in curve.points) > 1:
            from simulmt.evaluation.chart import chart

            click.echo(chart([curve]), err=True)


def _draw_files(curves: Sequence[Series], stem: Path, unit: str) -> None:
    from simulmt.evaluation.curve import draw

    try:
        paths = draw(curves, stem, unit)
    except ImportError:
        click.echo(_NO_MATPLOTLIB, err=True)
    else:
        click.echo("curve: " + ", ".join(str(path) for path in paths), err=True)


@evaluate.command(short_help="Draw quality over latency of finished runs.")
@click.argument("folders", nargs=-1, required=True, metavar="DIR...", type=click.Path(path_type=Path))
@click.option(
    "--output",
    "-o",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder for curve.svg and curve.png.  [default: the first DIR]",
)
@click.option(
    "--latency",
    type=click.Choice(["AL", "LAAL"]),
    default="AL",
    show_default=True,
    help="Of the chart in the terminal; the files show both.",
)
@click.option(
    "--width", type=click.IntRange(20, 300), default=64, show_default=True, help="Of the chart, in characters."
)
@click.option("--height", type=click.IntRange(5, 100), default=16, show_default=True, help="Of the chart, in lines.")
def plot(folders: tuple[Path, ...], output: Path | None, latency: str, width: int, height: int) -> None:  # fmt: skip
    """Draw BLEU over AL and LAAL, one curve for each DIR.

    A DIR is the --output of a `simulmt evaluate`, or any folder with an instances.log that holds references, such as
    those that SimulEval writes. A setting called `full` is drawn as a level.
    """
    from simulmt.evaluation.chart import chart
    from simulmt.evaluation.curve import distinct, read_series, unit_of

    curves = distinct([read_series(folder) for folder in folders], folders)
    unit = unit_of(folders)
    target = output or folders[0]
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SimulmtError(f"{target} cannot be written: {error.strerror}") from error
    _draw_files(curves, target / "curve", unit)
    click.echo(chart(curves, latency, width, height, unit))


@evaluate.command(short_help="Show when one sentence's words were read and written.")
@click.argument("log", type=click.Path(path_type=Path))
@click.option("--index", type=int, help="Which sentence.  [default: the first of the log]")
@click.option("--unit", type=click.Choice(["word", "char"]), help="Target units.  [default: those that fit the delays]")
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Draw it into an .svg, .png or .pdf file as well; needs matplotlib.",
)
def staircase(log: Path, index: int | None, unit: str | None, output: Path | None) -> None:  # fmt: skip
    """Show the READ/WRITE staircase of one sentence of an instance LOG."""
    from simulmt.evaluation.staircase import draw_staircase, find, staircase, units_of

    instance = find(log, index)
    source, target = units_of(instance, unit)
    if output is not None:
        try:
            draw_staircase(instance, source, target, output)
        except ImportError as error:
            raise SimulmtError("--output needs matplotlib", "pip install 'simulmt[plot]'") from error
    click.echo(staircase(instance, source, target))
