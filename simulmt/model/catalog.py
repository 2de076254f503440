"""Models by name: those shipped with the package and those the user added. Needs no torch.

A model of our own is a folder with `config.json`, `model.safetensors`, `sentencepiece.model` and `simulmt.json`, its card.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from platformdirs import user_data_path

from simulmt.errors import SimulmtError, UsageError
from simulmt.text.languages import Language, parse

CARD = "simulmt.json"
HUB_ID = r"\w[\w.-]*/[\w.-]+"
"""The form of a Hugging Face id, `org/name`."""


@dataclass(frozen=True, slots=True)
class Card:
    """What a model or adapter says of itself, the content of `simulmt.json`.

    Attributes:
        source: source language (ISO 639-1, else 639-3); None if the model takes any.
        target: target language; None if any.
        phi: φ, the position of the first target token.
        base: for adapters, the model they belong to.
        fingerprint: for adapters, the base's fingerprint.
        extra: everything else: data, seed, versions, scores.
    """

    source: str | None = None
    target: str | None = None
    phi: int = 0
    base: str | None = None
    fingerprint: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, folder: Path) -> Card:
        """Read a folder's card; a folder without one gives an empty card.

        Raises:
            SimulmtError: the card is not a JSON object with the right types.
        """
        path = folder / CARD
        if not path.exists():
            return cls()
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            extra = {key: value for key, value in record.items() if key not in cls.__dataclass_fields__}
            phi = record.get("phi", 0)
            if not isinstance(phi, int) or phi < 0:
                raise ValueError(f"phi is {phi!r}, expected a number from 0")
            texts = {key: record.get(key) for key in ("source", "target", "base", "fingerprint")}
            for key, value in texts.items():
                if value is not None and not isinstance(value, str):
                    raise ValueError(f"{key} is {value!r}, expected text")
        except (OSError, ValueError, AttributeError) as error:
            raise SimulmtError(f"{path} is not a model card: {error}") from error
        return cls(phi=phi, extra=extra, **texts)

    def save(self, folder: Path) -> None:
        """Write the card into `folder`."""
        record = asdict(self)
        record.update(record.pop("extra"))
        text = json.dumps(
            {key: value for key, value in record.items() if value is not None}, indent=2, ensure_ascii=False
        )
        (folder / CARD).write_text(text + "\n", encoding="utf-8")

    @property
    def pair(self) -> str:
        return f"{self.source or 'any'}→{self.target or 'any'}"


@dataclass(frozen=True, slots=True)
class Entry:
    """A model known by name."""

    name: str
    path: Path
    shipped: bool

    @property
    def card(self) -> Card:
        return Card.load(self.path)


def shipped_folder() -> Path:
    """Return the folder of the models inside the package."""
    return Path(str(files("simulmt"))) / "assets"


def user_folder() -> Path:
    """Return the folder of the user's own models; it need not exist."""
    return user_data_path("simulmt", appauthor=False) / "models"


def entries() -> list[Entry]:
    """Return all models known by name, shipped ones first."""
    found = []
    for folder, shipped in ((shipped_folder(), True), (user_folder(), False)):
        if folder.is_dir():
            visible = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
            paths = [path for path in visible if (path / "config.json").exists()]
            found += [Entry(path.name, path, shipped) for path in paths]
    return found


def find(name: str) -> Entry | None:
    """Return the model called `name`; a user's model hides a shipped one of the same name."""
    return next((entry for entry in reversed(entries()) if entry.name == name), None)


def locate(name: str) -> Path | str:
    """Return the folder or GGUF file that `name` means, or `name` itself if it can only be a hub id.

    Raises:
        SimulmtError: neither a known name, nor an existing path, nor the form of a hub id.
    """
    path = Path(name).expanduser()
    entry = find(name)
    if entry is not None:
        return entry.path
    if path.is_dir():
        files = sorted(path.glob("*.gguf"))
        return files[0] if files and not (path / "config.json").exists() else path
    if path.is_file():
        if path.suffix != ".gguf":
            raise SimulmtError(f"{name} is a file, expected a model folder or a .gguf file")
        return path
    if re.fullmatch(HUB_ID, name):
        return name
    known = ", ".join(entry.name for entry in entries())
    raise SimulmtError(f"no model {name!r}", f"give a folder, a hub id like org/name, or one of: {known}")


def card_of(place: Path | str) -> Card:
    """Return the card of what `locate` found; an empty one for hub models and files."""
    return Card.load(place) if isinstance(place, Path) and place.is_dir() else Card()


def languages_of(
    name: str, source: str | None, target: str | None, adapter: str | None = None
) -> tuple[Language, Language]:
    """Return source and target language, from the user's words and the cards of model and adapter.

    Raises:
        UsageError: an unknown language, a pair the model can't do, or none given where the model takes any.
        SimulmtError: no such model.
    """
    card = card_of(locate(name))
    if adapter is not None and Path(adapter).is_dir():
        own = Card.load(Path(adapter))  # the languages an adapter was trained for go before those of its base
        card = Card(own.source or card.source, own.target or card.target)
    wanted = [parse(text) if text else None for text in (source, target)]
    offered = [parse(code) if code else None for code in (card.source, card.target)]
    if any(want and offer and want.code != offer.code for want, offer in zip(wanted, offered, strict=True)):
        asked = "→".join(language.code if language else "any" for language in wanted)
        raise UsageError(f"model {name!r} translates {card.pair}, not {asked}", pairs_at_hand())
    source_language, target_language = (want or offer for want, offer in zip(wanted, offered, strict=True))
    if source_language is None or target_language is None:
        missing = "--from and --to" if source_language is target_language else "--to" if source_language else "--from"
        raise UsageError(f"model {name!r} takes any language", f"say which with {missing}, e.g. --from en --to de")
    return source_language, target_language


def pairs_at_hand() -> str:
    """Return advice that names the pairs of the models known by name."""
    pairs = ", ".join(f"{entry.card.pair} ({entry.name})" for entry in entries())
    return f"the models at hand translate {pairs}; --model takes others"
