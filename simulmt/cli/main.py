"""The `simulmt` command: finds its subcommands when they are asked for, and turns errors into one line and a status."""

from __future__ import annotations

import importlib
import io
import os
import sys
from typing import Any

import click

from simulmt import __version__
from simulmt.errors import SimulmtError

COMMANDS = {
    "translate": "simulmt.cli.translate:translate",
    "finetune": "simulmt.cli.finetune:finetune",
    "train": "simulmt.cli.train:train",
    "evaluate": "simulmt.cli.evaluate:evaluate",
    "score": "simulmt.cli.score:score",
    "models": "simulmt.cli.models:models",
    "bench": "simulmt.cli.bench:bench",
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        place = COMMANDS.get(cmd_name)
        if place is None:
            return None
        module, name = place.split(":")
        command = getattr(importlib.import_module(module), name)
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; click would answer a closed pipe with status 1, and other failures to write with a traceback."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ReaderGone from error
        except OSError as error:
            raise SimulmtError(f"{error.filename or 'output'}: {error.strerror or error}") from error


class ReaderGone(Exception):
    """Whoever read our output has closed it; there is nothing more to do."""


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Text is read and written as it is: no tokenisation or other preparation is needed.",
)
@click.version_option(__version__, "-V", "--version", prog_name="simulmt")
def cli() -> None:
    """Simultaneous translation: text in word by word, its translation out a few words behind."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 failure, 2 wrong usage, 130 interrupted."""
    sys.exit(run(arguments))


def rest_when_idle() -> None:
    """Have OpenMP's threads sleep while they wait for work, unless the user says otherwise.

    By default they spin. On a machine that is busy with other things, threads that spin take the time from those they
    wait for: one stream was 12 times slower so on two cores.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    rest_when_idle()
    _prepare_streams()
    try:
        result: Any = cli.main(args=arguments, prog_name="simulmt", standalone_mode=False)
        sys.stdout.flush()
    except (ReaderGone, BrokenPipeError):
        _leave_quietly()
        return 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return 130
    except SimulmtError as error:
        click.echo(f"simulmt: {error}", err=True)
        return error.exit_code
    return result if isinstance(result, int) else 0


def _prepare_streams() -> None:
    """Give closed streams something to write to, and let every character be written whatever the locale."""
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115  stays open as long as the process
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.encoding.lower() != "utf-8":
        if sys.stdout.isatty():
            sys.stdout.reconfigure(errors="replace")
        else:
            sys.stdout.reconfigure(encoding="utf-8")


def _leave_quietly() -> None:
    """The reader of stdout is gone: keep Python from complaining about it when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
