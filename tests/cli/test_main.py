"""The command as a whole: what it imports, its help, its manual pages, its exit statuses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

from simulmt import __version__
from simulmt.cli.main import COMMANDS, cli, run
from simulmt.cli.manual import pages

MAN = Path(__file__).parents[2] / "man"
HEAVY = {"torch", "transformers", "peft", "sacrebleu", "sentencepiece", "matplotlib", "numpy", "rich.live", "pygments"}


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS)], ids=" ".join
)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys\nfrom simulmt.cli.main import run\n"
        f"status = run({arguments!r})\n"
        "print(status, *sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    status, *modules = done.stderr.split()
    assert status == "0"
    assert not HEAVY & set(modules)
    assert done.stdout


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert __version__ in capsys.readouterr().out


def test_manual_pages_say_what_help_says() -> None:
    """The pages in man/ are those the commands give; `python -m simulmt.cli.manual man` writes them anew."""
    assert {path.name: path.read_text(encoding="utf-8") for path in MAN.glob("*.1")} == pages()


def test_every_option_is_in_its_manual_page() -> None:
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        page = (MAN / f"simulmt-{name}.1").read_text(encoding="utf-8").replace("\\-", "-")
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                assert all(option in page for option in parameter.opts)
                assert parameter.help, f"{name} {parameter.opts} has no help"


@pytest.mark.parametrize(
    ("arguments", "status"), [(["nonsense"], 2), (["translate", "--nonsense"], 2), (["models", "info", "nonsense"], 1)]
)
def test_exit_status(arguments: list[str], status: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == status
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "nonsense" in captured.err
