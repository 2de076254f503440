"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from simulmt.errors import UsageError
from simulmt.policy import Policy, create

if TYPE_CHECKING:
    from simulmt.model.loading import Options

F = TypeVar("F", bound=Callable[..., Any])


class Lag(click.ParamType):  # type: ignore[type-arg]
    """A number of words k, or `full`."""

    name = "k"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        if value == "full" or isinstance(value, int):
            return value  # type: ignore[no-any-return]
        try:
            return int(value)
        except ValueError:
            self.fail(f"{value!r} is neither a number of words nor 'full'", param, ctx)


LAG = Lag()
DEFAULT_MODEL = "en-de"


def model_options(function: F) -> F:
    """Add the options that say which model, and where it runs."""
    for option in reversed(
        [
            click.option("--model", metavar="MODEL", help="Model: a name (see `simulmt models`), a folder, a GGUF file or "
                         "a Hugging Face id like org/name. Default: the adapter's base, or the one at hand for the "
                         f"languages given, or {DEFAULT_MODEL}."),
            click.option("--adapter", metavar="ADAPTER", help="LoRA adapter for the model: a folder of `simulmt finetune` "
                         "or a Hugging Face id."),
            click.option("--from", "source", metavar="LANG", help="Source language: a code (en, deu, pt-BR) or a name "
                         "(German)."),
            click.option("--to", "target", metavar="LANG", help="Target language, likewise."),
            click.option("--device", metavar="DEVICE", help="Where the model runs: cpu, cuda, cuda:1, mps. Default: a GPU "
                         "if there is one."),
            click.option("--dtype", type=click.Choice(["auto", "float32", "bfloat16", "float16"]), default="auto",
                         show_default=True, help="Number format of the weights; auto is float32 on a CPU for small models, "
                         "else bfloat16."),
            click.option("--threads", type=click.IntRange(min=1), help="CPU threads. Default: what torch chooses."),
            click.option("--trust-remote-code", is_flag=True, help="Run Python code that comes with a hub model. Off, "
                         "since that code can do anything."),
        ]
    ):  # fmt: skip
        function = option(function)
    return function


def policy_options(function: F) -> F:
    """Add the options that say when to write."""
    for option in reversed(
        [
            click.option("--k", "k", type=LAG, default=5, show_default=True, metavar="K|full", help="Words to read before "
                         "the first is written; then one is written for each one read. `full`: whole segments."),
            click.option("--catchup", type=float, default=0.0, show_default=True, metavar="C", help="Words written beyond "
                         "one per word read, for targets longer than their source: 0 ≤ C < 1."),
            click.option("--policy", metavar="NAME", help="A policy by name instead of wait-k; packages can add some."),
        ]
    ):  # fmt: skip
        function = option(function)
    return function


def make_policy(k: int | str, catchup: float = 0.0, name: str | None = None) -> Policy:
    """Return the policy that the options mean.

    Raises:
        UsageError: unknown name, or k or catchup out of range.
    """
    if name is None and k == "full":
        name = "full"
    if name is None or name == "wait-k":
        if k == "full":
            raise UsageError("--k full is not wait-k", "give --k a number, or leave out --policy")
        return create("wait-k", k=int(k), catchup=catchup)
    if catchup:
        raise UsageError(f"--catchup belongs to wait-k, not to policy {name!r}")
    return create(name)


def load_options(device: str | None, dtype: str, threads: int | None, trust_remote_code: bool) -> Options:
    """Return loading options; sets the number of torch's threads."""
    from simulmt.model.loading import Options

    if threads is not None:
        import torch

        torch.set_num_threads(threads)
    return Options(device, dtype, trust_remote_code)


def choose_model(model: str | None, source: str | None, target: str | None, adapter: str | None = None) -> str:
    """Return the model to use: the one named, else the adapter's base, else the one at hand that fits the languages.

    Raises:
        UsageError: no model at hand does the pair; names those that are.
        SimulmtError: the adapter's card is broken.
    """
    from simulmt.model.catalog import Card, entries, pairs_at_hand
    from simulmt.text.languages import parse

    if model is not None:
        return model
    if adapter is not None and (base := Card.load(Path(adapter)).base):
        return base
    if source is None and target is None:
        return DEFAULT_MODEL
    wanted = [parse(text).code if text else None for text in (source, target)]
    for entry in reversed(entries()):  # the user's own models before the shipped ones
        card = entry.card
        if all(code in (None, offer) for code, offer in zip(wanted, (card.source, card.target), strict=True)):
            return entry.name
    asked = "→".join(code or "any" for code in wanted)
    raise UsageError(f"no model at hand translates {asked}", pairs_at_hand())
