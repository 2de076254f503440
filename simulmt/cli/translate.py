"""`simulmt translate`."""

from __future__ import annotations

import os
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simulmt.cli.options import choose_model, load_options, make_policy, model_options, policy_options
from simulmt.errors import SimulmtError
from simulmt.live import Interrupt, LiveLoop, Watcher
from simulmt.model.catalog import languages_of
from simulmt.output.log import LogSink
from simulmt.output.statistics import Statistics
from simulmt.output.summary import summary
from simulmt.policy import Policy
from simulmt.text.events import Unit
from simulmt.text.reader import LiveReader, open_source
from simulmt.text.segmenter import Segmenter

if TYPE_CHECKING:
    from rich.console import Console

    from simulmt.model.loading import Translator
    from simulmt.output.base import Sink

EPILOG = """\b
Examples:
  simulmt translate --k 5 --to de talk.txt
  tail -f talk.txt | simulmt translate --k 3 --to de
  simulmt translate --pace 150 --format srt talk.txt > talk.srt
  simulmt translate --log talk.log talk.txt && simulmt score talk.log talk.de
"""


MAX_WORDS, MAX_WORDS_LINE = 80, 200


@click.command(epilog=EPILOG)
@click.argument("file", default="-", metavar="[FILE]")
@model_options
@policy_options
@click.option(
    "--segment",
    type=click.Choice(["auto", "sentence", "line", "none"]),
    default="auto",
    show_default=True,
    help="Where a segment ends: auto is at sentence ends, blank lines, and line ends if the text has one utterance "
    "a line.",
)
@click.option(
    "--max-words",
    type=click.IntRange(min=8),
    metavar="N",
    help="Longest segment; one that comes near is ended at a comma or conjunction if there is one. With --segment line, "
    f"such a line is translated in parts but stays a line.  [default: {MAX_WORDS}; {MAX_WORDS_LINE} with --segment line]",
)
@click.option(
    "--idle",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="End the segment when no word came for so long, so that a pause leaves no thought half shown; the last word need "
    "not have white space after it.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "jsonl", "srt", "vtt"]),
    default="text",
    show_default=True,
    help="What is written to stdout.",
)
@click.option(
    "--display",
    type=click.Choice(["auto", "live", "plain", "off"]),
    default="auto",
    show_default=True,
    help="What is shown on stderr: a live panel, a summary at the end, or nothing; auto is live on a terminal, unless "
    "NO_COLOR is set or it can't be redrawn.",
)
@click.option(
    "--log",
    "log",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Append an instance log: one JSON object a segment, for `simulmt score`, SimulEval and OmniSTEval.",
)
@click.option(
    "--pace",
    type=click.FloatRange(min=0, min_open=True),
    metavar="WPM",
    help="Let the words of a file arrive at this many a minute.",
)
@click.option("--dry-run", is_flag=True, help="Load everything, say what would run, and stop.")
def translate(**options: Any) -> int:  # fmt: skip
    """Translate FILE or stdin word by word, while it is being written.

    Each segment's translation is one line on stdout, and each word is written as soon as it is known. Words are separated
    by white space; the text needs no preparation.
    """
    return Run(**options).run()


@dataclass
class Run:
    """The options of one run of `translate`, by their names."""

    file: str
    model: str | None
    adapter: str | None
    source: str | None
    target: str | None
    device: str | None
    dtype: str
    threads: int | None
    trust_remote_code: bool
    k: int | str
    catchup: float
    policy: str | None
    segment: str
    max_words: int | None
    idle: float | None
    form: str
    display: str
    log: Path | None
    pace: float | None
    dry_run: bool

    def run(self) -> int:
        policy = make_policy(self.k, self.catchup, self.policy)
        name = choose_model(self.model, self.source, self.target, self.adapter)
        unit = languages_of(name, self.source, self.target, self.adapter)[0].unit
        with ExitStack() as stack:
            interrupt = stack.enter_context(Interrupt(at_once=True).installed())
            if self.dry_run:
                self._describe(self._load(name), policy)
                return 0
            return self._translate(stack, interrupt, name, policy, unit)

    def _translate(self, stack: ExitStack, interrupt: Interrupt, name: str, policy: Policy, unit: Unit) -> int:
        statistics = Statistics()
        source = open_source(self.file)
        sinks, panel = self._sinks(stack, statistics, policy, name)
        start = time.monotonic()
        translator = self._load(name) if self.pace else None  # a replay begins when all is ready,
        reader = LiveReader(
            source, unit=unit, idle=self.idle, pace=self.pace
        )  # a live input is read while the model loads
        stack.callback(reader.close)
        translator = translator or self._load(name)
        from simulmt.stream import Stream

        stream = Stream(translator, policy, translator.decoder(), lines=self.segment == "line")
        if panel is not None:
            panel.attach(stream, reader)
        segmenter = Segmenter(self.segment, max_units=self._longest, language=translator.source.code)  # type: ignore[arg-type]
        ready = time.monotonic()
        watchers = [sink for sink in sinks if isinstance(sink, Watcher)]
        loop = LiveLoop(reader, segmenter, stream, sinks, [panel] if panel else [], interrupt, ready, watchers)
        interrupt.at_once = False
        try:
            loop.run()
        except BrokenPipeError:
            raise
        except BaseException:
            self._finish(sinks, loop, statistics, ready - start)
            raise
        if failure := self._finish(sinks, loop, statistics, ready - start):
            raise failure
        return interrupt.exit_code

    @property
    def _longest(self) -> int:
        return self.max_words or (MAX_WORDS_LINE if self.segment == "line" else MAX_WORDS)

    def _finish(self, sinks: list[Sink], loop: LiveLoop, statistics: Statistics, loading: float) -> SimulmtError | None:
        """Let the sinks write what they hold, and print the summary; return the first failure of a sink."""
        failure = None
        for sink in sinks:
            try:
                sink.close()
            except SimulmtError as error:
                failure = failure or error
        if self.display != "off":
            span = None if loop.first is None or loop.last is None else loop.last - loop.first
            odd = loop.reader.counts.odd() | {"dropped": loop.dropped}
            click.echo(summary(statistics, odd, span, loading), err=True)
        return failure

    def _load(self, name: str) -> Translator:
        from simulmt.model.loading import load

        options = load_options(self.device, self.dtype, self.threads, self.trust_remote_code)
        return load(name, self.source, self.target, self.adapter, options)

    def _sinks(self, stack: ExitStack, statistics: Statistics, policy: Policy, name: str) -> tuple[list[Sink], Any]:
        """Return the sinks in the order in which they take each output, and the panel if there is one."""
        logs: list[Sink] = [LogSink(self.log)] if self.log is not None else []
        console = self._panel_console()
        same_terminal = console is not None and _same_terminal(sys.stdout, sys.stderr)
        text: list[Sink] = [] if same_terminal else [self._text_sink()]
        if console is None:
            return [*text, statistics, *logs], None
        from simulmt.output.panel import PanelSink

        panel = PanelSink(console, f"{name} · {policy.name}", statistics, owns_text=same_terminal)
        stack.callback(panel.close)
        return [*text, statistics, panel, *logs], panel

    def _text_sink(self) -> Sink:
        if self.form == "jsonl":
            from simulmt.output.jsonl import JsonlSink

            return JsonlSink(sys.stdout)
        if self.form == "text":
            from simulmt.output.plain import PlainSink

            return PlainSink(sys.stdout)
        from simulmt.output.captions import CaptionSink

        return CaptionSink(sys.stdout, self.form)

    def _panel_console(self) -> Console | None:
        """Return the console for the live panel, None where there is to be none or it can't be drawn."""
        if self.display not in ("auto", "live") or not _is_terminal(sys.stderr):
            return None
        if self.display == "auto" and os.environ.get("NO_COLOR"):
            return None  # who wants no colours mostly wants no drawing either; --display live draws without colours
        if self.form != "text" and _same_terminal(sys.stdout, sys.stderr):
            return None  # records and captions would run into the panel
        if self.file == "-" and _is_terminal(sys.stdin):
            return None  # so would what is typed
        from rich.console import Console

        console = Console(stderr=True)
        return None if console.is_dumb_terminal else console

    def _describe(self, translator: Translator, policy: Policy) -> None:
        parameters = sum(weight.numel() for weight in translator.model.parameters())
        rows = {
            "model": f"{translator.name} ({translator.model.config.model_type}, {parameters / 1e6:.1f} M parameters)",
            "adapter": translator.adapter or "none",
            "languages": f"{translator.source.name} → {translator.target.name}",
            "device": str(translator.model.device),
            "dtype": str(translator.model.dtype).removeprefix("torch."),
            "policy": policy.name,
            "segments": f"{self.segment}, at most {self._longest} words",
        }
        for key, value in rows.items():
            click.echo(f"{key:<10}{value}")


def _is_terminal(stream: Any) -> bool:
    return stream is not None and bool(stream.isatty())


def _same_terminal(one: Any, other: Any) -> bool:
    """Return whether both streams are one terminal, by whatever names it was opened."""
    if not (_is_terminal(one) and _is_terminal(other)):
        return False
    try:
        if os.fstat(one.fileno()).st_rdev == os.fstat(other.fileno()).st_rdev:
            return True
        for stream in (one, other):
            os.tcgetpgrp(stream.fileno())  # fails unless it is the one terminal that controls this process
    except (OSError, AttributeError):
        return False
    return True
