"""Languages by code or name: what `--from` and `--to` accept."""

from __future__ import annotations

import difflib
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from simulmt.errors import UsageError
from simulmt.text.events import Unit
from simulmt.text.language_table import TABLE, UNSPACED

_REGION = re.compile(r"[a-z]{2}|\d{3}")
_SCRIPT = re.compile(r"[a-z]{4}")
_VARIANT = re.compile(r"[a-z0-9]{5,8}|\d[a-z0-9]{3}")


@dataclass(frozen=True, slots=True)
class Language:
    """A language as people name it.

    Attributes:
        code: ISO 639-1, else ISO 639-3.
        name: its English name.
        region: region subtag, upper case (`AT` of `de-AT`), or None.
        unit: `word`, or `char` where words are written without spaces between them.
        script: script subtag (`Hans` of `zh-Hans`), or None.
    """

    code: str
    name: str
    region: str | None
    unit: Unit
    script: str | None = None

    @property
    def tag(self) -> str:
        """The language tag with script and region, e.g. `zh-Hans-CN`."""
        return "-".join(part for part in (self.code, self.script, self.region) if part)


def _key(text: str) -> str:
    """Fold case and accents' encoding, and write every separator as one hyphen."""
    return re.sub(r"[\s_-]+", "-", unicodedata.normalize("NFC", text).casefold().strip())


@lru_cache(maxsize=1)
def _known() -> tuple[dict[str, Language], dict[str, Language]]:
    """Return the languages by code and by name (keys folded)."""
    by_code: dict[str, Language] = {}
    by_name: dict[str, Language] = {}
    for line in TABLE.strip().splitlines():
        codes, *names = line.split("|")
        code = codes.split()[0]
        language = Language(code, names[0], None, "char" if code in UNSPACED else "word")
        by_code.update(dict.fromkeys(codes.split(), language))
        by_name.update(dict.fromkeys(map(_key, names), language))
    return by_code, by_name


def known() -> list[Language]:
    """Return all languages of the table, by English name."""
    return sorted(set(_known()[0].values()), key=lambda language: language.name)


def parse(text: str) -> Language:
    """Return the language that `text` means.

    Accepted, in any case: ISO 639-1, 639-2 and 639-3 codes (`de`, `ger`, `deu`), English and native names and other
    usual ones (`German`, `Deutsch`, `Farsi`), and either with script and region (`de-AT`, `zh_Hans`, `deu_Latn`).

    Raises:
        UsageError: no such language; the line names those that look alike.
    """
    key = _key(text)
    by_code, by_name = _known()
    plain = by_code.get(key) or by_name.get(key)
    if plain is not None:
        return plain
    first, *subtags = key.split("-")
    language = by_code.get(first)
    if language is not None and subtags and subtags[0] in by_code and len(subtags[0]) == 3:
        language = by_code[subtags.pop(0)]  # an extended language: zh-yue is yue
    tagged = None if language is None else _with_subtags(language, subtags)
    if tagged is None:
        raise _unknown(text)
    return tagged


def _with_subtags(language: Language, subtags: list[str]) -> Language | None:
    """Return `language` with script and region; None if a subtag is none that a language tag may have."""
    script = region = None
    for subtag in subtags:
        if _SCRIPT.fullmatch(subtag) and script is None and region is None:
            script = subtag.title()
        elif _REGION.fullmatch(subtag) and region is None:
            region = subtag.upper()
        elif not _VARIANT.fullmatch(subtag):
            return None
    return Language(language.code, language.name, region, language.unit, script)


def _unknown(text: str) -> UsageError:
    by_code, by_name = _known()
    key = _key(text)[:40]
    close = difflib.get_close_matches(key, by_name, n=3, cutoff=0.6)
    close += difflib.get_close_matches(key.split("-")[0], [code for code in by_code if len(code) == 3], n=2, cutoff=0.6)
    found = {(by_name.get(name) or by_code[name]): None for name in close}
    names = " or ".join(f"{language.name} ({language.code})" for language in list(found)[:3])
    shown = " ".join(text.split())[:40]
    advice = f"try {names}" if names else "give an ISO 639 code or an English name"
    return UsageError(f"unknown language {shown!r}", f"{advice}; `simulmt models list` shows what the models translate")


def same(a: Language, b: Language) -> bool:
    """Return whether two languages are one language, whatever their scripts and regions."""
    return a.code == b.code
