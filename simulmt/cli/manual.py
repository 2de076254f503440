"""Manual pages from the click commands: `python -m simulmt.cli.manual FOLDER` writes them.

Each page holds what `--help` says, in man(7) form; nothing is written twice.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from simulmt import __version__
from simulmt.cli.main import cli


def pages() -> dict[str, str]:
    """Return all pages: file name → roff."""
    return {f"{'-'.join(context.command_path.split())}.1": _page(context) for context in _contexts()}


def _contexts() -> Iterator[click.Context]:
    """Yield a context for the command, its subcommands and theirs."""
    waiting = [click.Context(cli, info_name="simulmt", **cli.context_settings)]
    while waiting:
        context = waiting.pop(0)
        yield context
        group = context.command
        if isinstance(group, click.Group):
            for name in group.list_commands(context):
                command = group.get_command(context, name)
                assert command is not None
                waiting.append(click.Context(command, parent=context, info_name=name))


def _page(context: click.Context) -> str:
    command, path = context.command, context.command_path
    name = "-".join(path.split())
    lines = [
        f'.TH "{name.upper()}" "1" "" "simulmt {__version__}" "simulmt manual"',
        ".SH NAME",
        f"{_plain(name)} \\- {_plain(command.get_short_help_str(limit=200))}",
        ".SH SYNOPSIS",
        f"\\fB{_plain(path)}\\fR {_plain(' '.join(command.collect_usage_pieces(context)))}",
        ".SH DESCRIPTION",
        *_paragraphs(command.help or ""),
        ".SH OPTIONS",
    ]
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and record[1]:  # arguments are told of in the description
            lines += [".TP", f"\\fB{_plain(record[0])}\\fR", _plain(record[1])]
    if isinstance(command, click.Group):
        lines.append(".SH COMMANDS")
        for sub in command.list_commands(context):
            found = command.get_command(context, sub)
            assert found is not None
            lines += [".TP", f"\\fB{_plain(sub)}\\fR(see {_plain(name)}\\-{_plain(sub)}(1))"]
            lines.append(_plain(found.get_short_help_str(limit=200)))
    if command.epilog:
        lines += [".SH NOTES", *_paragraphs(command.epilog)]
    return "\n".join(lines) + "\n"


def _paragraphs(text: str) -> list[str]:
    """Paragraphs of help; one that begins with click's \\b mark keeps its lines."""
    lines: list[str] = []
    for number, paragraph in enumerate(text.strip().replace("\r", "").split("\n\n")):
        if number:
            lines.append(".PP")
        rows = [row.strip() if not paragraph.startswith("\b") else row for row in paragraph.splitlines()]
        if rows and rows[0].startswith("\b"):
            lines += [".nf", *(_plain(row) for row in rows[1:]), ".fi"]
        else:
            lines.append(_plain(" ".join(rows)))
    return lines


def _plain(text: str) -> str:
    """Escape text for roff."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + escaped if escaped.startswith((".", "'")) else escaped


def main(folder: str) -> None:
    """Write all pages into `folder` and remove those of commands that are gone."""
    made = pages()
    for old in Path(folder).glob("simulmt*.1"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        (Path(folder) / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit("usage: python -m simulmt.cli.manual FOLDER, a folder that exists")
    main(sys.argv[1])
