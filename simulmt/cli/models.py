"""`simulmt models`: the models that are known by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from simulmt.errors import SimulmtError
from simulmt.model import library
from simulmt.model.catalog import Entry, entries, user_folder


@click.group(short_help="List, add and remove models.")
def models() -> None:
    """List, describe, add and remove the models that --model finds by name.

    Those that came with simulmt are always there; your own are kept in your user data folder. A model of yours hides a
    shipped one of the same name.
    """


@models.command(name="list", short_help="Names, languages and sizes.")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def list_models(form: str) -> None:
    """List all models known by name."""
    rows = [_row(entry) for entry in entries()]
    if form == "json":
        click.echo(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    head = {"name": "name", "languages": "languages", "parameters": "parameters", "bytes": "size", "kind": "kind"}
    shown = [head, *({**row, "parameters": _millions(row), "bytes": _megabytes(row)} for row in rows)]
    widths = {key: max(len(row[key]) for row in shown) for key in head}
    for row in shown:
        click.echo("  ".join(row[key].ljust(widths[key]) for key in head).rstrip())


@models.command(short_help="All that is known of a model.")
@click.argument("name")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def info(name: str, form: str) -> None:
    """Show where the model called NAME is, what it is made of, and what its card says."""
    record = library.describe(library.known(name))
    if form == "json":
        click.echo(json.dumps(record, ensure_ascii=False, indent=2))
        return
    width = max(len(key) for key in record)
    for key, value in record.items():
        click.echo(f"{key:<{width}}  {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")


@models.command(short_help="Copy a model folder under a name.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--name", metavar="NAME", help="Name to find it by.  [default: the folder's]")
@click.option("--overwrite", is_flag=True, help="Replace a model of yours that has this name.")
def add(folder: Path, name: str | None, overwrite: bool) -> None:
    """Copy the model in DIR (config.json, *.safetensors, tokenizer) to your models."""
    addition = library.add(folder, name, overwrite)
    for left in addition.left_out:
        click.echo(f"note: {left} was not copied", err=True)
    click.echo(f"added {addition.entry.name} ({addition.entry.path})", err=True)


@models.command(short_help="Delete a model of yours.")
@click.argument("name")
def remove(name: str) -> None:
    """Delete your model called NAME; those that came with simulmt stay."""
    click.echo(f"removed {name} ({library.remove(name)})", err=True)


@models.command(short_help="Where models are kept.")
@click.argument("name", required=False)
def path(name: str | None) -> None:
    """Print the folder of your models, or that of the model called NAME."""
    click.echo(str(user_folder() if name is None else library.known(name).path))


def _row(entry: Entry) -> dict[str, Any]:
    """Return what the list shows; a broken model is listed as such, with the fault on stderr."""
    try:
        record = library.describe(entry)
    except SimulmtError as error:
        click.echo(f"note: model {entry.name} is broken: {error}", err=True)
        kind = "shipped" if entry.shipped else "user"
        return {"name": entry.name, "languages": "broken", "parameters": None, "bytes": None, "kind": kind}
    return {key: record[key] for key in ("name", "languages", "parameters", "bytes", "kind", "path")}


def _millions(row: dict[str, Any]) -> str:
    return "?" if row["parameters"] is None else f"{row['parameters'] / 1e6:.1f} M"


def _megabytes(row: dict[str, Any]) -> str:
    return "?" if row["bytes"] is None else f"{row['bytes'] / 1e6:.1f} MB"
