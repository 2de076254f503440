"""Where sentences end, where clauses end, and which words may begin a new segment of a long one."""

from __future__ import annotations

import re
from enum import Enum

from simulmt.text.abbreviations import (
    ABBREVIATIONS,
    COMMON,
    CONJUNCTIONS,
    LEAVES_OPEN,
    MAY_END,
    ORDINAL_DOT,
    STARTERS,
    WORDS_WHEN_FIRST,
)
from simulmt.text.events import Word
from simulmt.text.language_table import UNSPACED

_FINAL = frozenset("!?…‽？！。｡．؟۔।॥։።፧፨။⸮᙮᠃᠉꓿꘎།༎៕។‼⁇⁈⁉܀܁")
_CLAUSE = frozenset(",;:–—、，；：،؛﹐﹔·၊፣፤፥︐､")
_CLOSERS = "\"'”’“‘»«›‹)]}）］｝」』】》〉〕〗〙〛＂＇*_`"
_OPENERS = "\"'“‘„‚«»‹›([{（［｛「『【《〈〔〖〘〚¿¡*_`"
_NOTE = re.compile(r"(?:\[\d{1,3}\]|[\u00b9\u00b2\u00b3\u2070-\u2079])+$")  # footnote marks stand after the full stop
_RAISED = "\u00b9\u00b2\u00b3\u2070\u2074\u2075\u2076\u2077\u2078\u2079"  # digits of notes: letters to Python
_DOTTED = re.compile(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,3}")  # e.g, U.S, z.B, Ph.D
_ROMAN = re.compile(r"[IVX]{1,6}")
_BRACKETED = re.compile(r"[(\[（［][.!?…！？]+[)\]）］]")  # "[...]", "(!)": an omission, a remark

_QUOTE_OPENERS = frozenset("“‘„«‹「『（(［[【《〈〔")
_QUOTE_CLOSERS = frozenset("”’»›」』）)］]】》〉〕")
_GERMAN_OPENERS = frozenset("„‚»›([（［")
_GERMAN_CLOSERS = frozenset("“‘”’«‹)]）］")


class Ending(Enum):
    """Whether a sentence ends with a word."""

    NO = "no"
    UNLIKELY = "only if the next word is one that sentences begin with: `at 5 p.m. The…`, but `the U.S. Army`"
    LIKELY = 'unless the next word begins in lower case: `"Stop!" he said`, `apples, etc. are`'
    YES = "yes"


class SentenceRules:
    """The rules for one language, and what they must remember of the open segment.

    A word ends a sentence when, quotes and brackets at its end aside, it ends in a sentence-final mark of any script. A
    full stop does not when the word is
        - an abbreviation that is followed by something (`Dr.`, `vs.`, `Nr.`),
        - a single letter (`J. Smith`) or short letters with stops between (`e.g.`, `U.S.`, `p.m.`), unless the next word
          tells (see `Ending`),
        - a number of up to three digits that begins the segment (`1. Introduction`),
        - an ordinal in a language that writes it so (`am 3. Mai`): up to two digits, or Roman numerals,
        - in a language without spaces, a stop directly after a Latin letter or a digit (`3.14`).
    An ellipsis ends a sentence, except in languages without spaces, where `……` mostly stands inside one, and in
    brackets. A segment without any letter or digit so far does not end: a mark that strays behind a sentence end goes
    to the next sentence rather than standing alone.
    """

    def __init__(self, language: str) -> None:
        code = {"nb": "no", "nn": "no"}.get(language, language)
        self._abbreviations = COMMON | ABBREVIATIONS.get(code, frozenset())
        self._when_first = WORDS_WHEN_FIRST.get(code, frozenset())
        self._conjunctions = CONJUNCTIONS.get(code, frozenset())
        self._open_words = LEAVES_OPEN.get(code, frozenset())
        self._ordinals = code in ORDINAL_DOT
        self._unspaced = code in UNSPACED
        self._starters = STARTERS.get(code, frozenset())
        self._street = code == "de"
        self.capitals_inside = code in ("de", "lb")  # nouns have capitals, so one does not show a new sentence
        self._final = _FINAL | {";"} if code == "el" else _FINAL
        german = code in ("de", "da", "cs", "sk", "sl", "hr")
        self._quote_openers = _GERMAN_OPENERS if german else _QUOTE_OPENERS
        self._quote_closers = _GERMAN_CLOSERS if german else _QUOTE_CLOSERS
        self._depth = 0  # quotation marks and brackets open that stood as units of their own
        self._straight = False  # the same for the straight quotation mark, which does not show its direction
        self.reset(keep_quotes=False)

    def reset(self, *, keep_quotes: bool) -> None:
        """Forget the segment that ended; `keep_quotes` when a quotation may go on in the next one."""
        self._previous = ""
        self._was_final = Ending.NO
        self._has_text = False
        if not keep_quotes:
            self._depth = 0
            self._straight = False

    @property
    def quoting(self) -> bool:
        """True inside a quotation or bracket whose opening mark was a unit of its own."""
        return self._depth > 0 or self._straight

    @property
    def space_is_clause(self) -> bool:
        """True for languages that set white space between clauses instead of words."""
        return self._unspaced

    def see(self, word: Word, *, first: bool) -> Ending:
        """Take in the next word of the segment, its `first` or not; return whether it ends a sentence."""
        text = word.text
        if text[-1].isalnum() and text[-1] not in _RAISED:
            self._previous, self._was_final, self._has_text = text, Ending.NO, True
            return Ending.NO
        if len(text) == 1:
            self._track_quote(text)
        mark_only = not text.strip(_CLOSERS)
        final = self._was_final if mark_only else self._is_final(text, first=first)
        self._has_text = self._has_text or any(map(str.isalnum, text))
        if not mark_only:
            self._previous = text
        self._was_final = final
        return final if self._has_text else Ending.NO

    def begins(self, word: Word, *, after: Ending) -> bool:
        """Return whether a sentence begins with `word`, the one before having ended so."""
        initial = next((character for character in word.text if character.isalnum()), "")
        if after is Ending.LIKELY:
            return not initial.islower()
        return initial.isupper() and word.text.strip(_OPENERS + _CLOSERS + ",.!?…").lower() in self._starters

    def closes(self, word: Word) -> bool:
        """Return whether `word` is a closing mark that belongs to the sentence before it."""
        text = word.text
        return text in self._quote_closers or (text == '"' and self._straight)

    def _track_quote(self, mark: str) -> None:
        if mark == '"':
            self._straight = not self._straight
        elif mark in self._quote_openers:
            self._depth += 1
        elif mark in self._quote_closers and self._depth:
            self._depth -= 1

    def _is_final(self, text: str, *, first: bool) -> Ending:
        core = _NOTE.sub("", text).rstrip(_CLOSERS)
        if not core or _BRACKETED.fullmatch(text):
            return Ending.NO
        last = core[-1]
        if last == "." or (last == "．" and self._unspaced):
            return self._full_stop(core, first=first)
        if last not in self._final or (self._unspaced and last == "…"):
            return Ending.NO
        return Ending.LIKELY if text[-1] in _CLOSERS and not self._unspaced else Ending.YES

    def _full_stop(self, core: str, *, first: bool) -> Ending:
        if self._unspaced and len(core) == 1:
            return Ending.NO if re.fullmatch(r"[A-Za-z0-9]", self._previous[-1:]) else Ending.YES
        if core == ".":  # a stop set apart belongs to the word before
            core = self._previous.rstrip(_CLOSERS) + "."
        if core.endswith(".."):
            return Ending.YES
        stem = core[:-1].lstrip(_OPENERS)
        first = first or core[0] in _OPENERS
        if stem.isdigit():
            numbering = (first and len(stem) <= 3) or (self._ordinals and len(stem) <= 2)
            return Ending.NO if numbering else Ending.YES
        single = len(stem) == 1 and (stem.isupper() or stem.islower())
        if single or _DOTTED.fullmatch(stem):
            return Ending.UNLIKELY
        if stem.lower() in MAY_END:
            return Ending.LIKELY
        return Ending.NO if self._is_abbreviation(stem, first=first) else Ending.YES

    def _is_abbreviation(self, stem: str, *, first: bool) -> bool:
        if first and stem in self._when_first:
            return False
        if self._ordinals and _ROMAN.fullmatch(stem):
            return True
        stem = re.split(r"['’]", stem)[-1]
        forms = {stem, stem.lower() if first else stem, stem.capitalize() if stem.isupper() else stem}
        return not forms.isdisjoint(self._abbreviations) or (self._street and stem.endswith("str"))

    def is_clause_end(self, word: Word) -> bool:
        """Return whether a clause ends with `word`: a comma, semicolon, colon or dash, before any closing quotes."""
        if word.text[-1].isalnum():
            return False
        core = word.text.rstrip(_CLOSERS)
        return core[-1:] in _CLAUSE or word.text == "-"

    def is_conjunction(self, word: Word) -> bool:
        """Return whether `word` is a conjunction, so that a clause begins with it."""
        return word.text.lower() in self._conjunctions

    def leaves_open(self, word: Word) -> bool:
        """Return whether more must follow after `word`: it ends in clause punctuation or is an article or the like."""
        return self.is_clause_end(word) or word.text.lower() in self._open_words
