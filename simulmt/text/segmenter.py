"""Where segments end, decided from the words read so far."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from simulmt.errors import UsageError
from simulmt.text.events import Break, Event, LineEnd, Pause, Reason, Word
from simulmt.text.lines import LineEvidence, Verdict
from simulmt.text.sentences import Ending, SentenceRules

Rule: TypeAlias = Literal["auto", "sentence", "line", "none"]


class Segmenter:
    """Cuts a stream of words into segments; pure and deterministic, with no look-ahead.

    Each word comes out in the same call it went in, in order, and nothing is lost. A `Break` follows the last word of
    its segment at once, with four exceptions where it waits for the next event: a sentence end inside an open
    quotation (the closing mark belongs to it), one in doubt (see `Ending`), an undecided line end (see `LineEvidence`),
    and a long segment that ends before a conjunction or, in scripts without spaces, before white space.

    Rules:
        auto: sentence ends, blank lines, and line ends once the text is evidently one utterance per line.
        sentence: sentence ends only.
        line: line ends only; a blank line is an empty segment, so that lines out are lines in. If a
            line was ended for its length right after its last word, its line end is a break of its own all the same.
        none: neither.

    Under every rule a segment ends at a pause, at the end of the input, and before it would have more than `max_units`
    units: from 3/4 of that on at clause punctuation, from 7/8 on also before a conjunction, at last anywhere.

    Args:
        rule: one of the above.
        max_units: the most units of a segment.
        language: code of the source language, for abbreviations and conjunctions.

    Raises:
        UsageError: `rule` is unknown or `max_units` is less than 1.
    """

    def __init__(self, rule: Rule = "auto", *, max_units: int = 80, language: str = "en") -> None:
        if rule not in get_args(Rule):
            raise UsageError(f"unknown segment rule {rule!r}", f"choose one of: {', '.join(get_args(Rule))}")
        if max_units < 1:
            raise UsageError(f"a segment must be allowed at least 1 unit, not {max_units}")
        self._rule = rule
        self._max_units = max_units
        self._sentences = SentenceRules(language)
        self._lines = LineEvidence(self._sentences)
        self._count = 0  # units of the open segment
        self._cut = False  # the line has been cut: its end is still to come
        self._waiting: Reason | None = None  # a break that waits for the next event: "sentence" or "line"
        self._doubt = Ending.NO  # how the last word ended a sentence, where the next one tells

    def push(self, event: Event) -> list[Word | Break]:
        """Return the word of `event`, if it is one, with the breaks before and after it."""
        if isinstance(event, Word):
            return self._push_word(event)
        if isinstance(event, LineEnd):
            return self._push_line_end(event)
        return self._end("idle" if isinstance(event, Pause) else "end")

    # -- words --------------------------------------------------------------------------------------------------------

    def _push_word(self, word: Word) -> list[Word | Break]:
        before = self._break_before(word)
        out: list[Word | Break] = [*self._end(before)] if before else []
        self._waiting, self._doubt = None, Ending.NO
        first = self._count == 0
        self._count += 1
        out.append(word)
        ending = self._sentences.see(word, first=first) if self._by_sentence else Ending.NO
        if self._rule == "auto":
            self._lines.see(word, final=ending in (Ending.LIKELY, Ending.YES))
        out += self._after(word, ending)
        return out

    @property
    def _by_sentence(self) -> bool:
        return self._rule in ("auto", "sentence")

    def _break_before(self, word: Word) -> Reason | None:
        """Return why the open segment ends before `word`, if it does."""
        if not self._count:
            return None
        if self._waiting == "sentence" and not self._sentences.closes(word):
            return "sentence"
        if self._doubt is not Ending.NO and self._sentences.begins(word, after=self._doubt):
            return "sentence"
        if self._waiting == "line" and self._lines.starts_new(word):
            return "line"
        if self._near_limit(3 / 4) and self._sentences.space_is_clause and word.space:
            return "clause"
        if self._near_limit(7 / 8) and self._sentences.is_conjunction(word):
            return "conjunction"
        return None

    def _after(self, word: Word, ending: Ending) -> list[Word | Break]:
        full = self._count >= self._max_units
        final = ending is Ending.YES or (ending is Ending.LIKELY and (full or self._sentences.quoting))
        if final and (full or not self._sentences.quoting):
            return self._end("sentence")
        if final:
            self._waiting = "sentence"
        elif ending is not Ending.NO and not full:
            self._doubt = ending
        elif self._near_limit(3 / 4) and self._sentences.is_clause_end(word):
            return self._end("clause")
        return self._end("length") if full else []

    def _near_limit(self, share: float) -> bool:
        return self._count >= share * self._max_units

    # -- line ends, pauses, the end -----------------------------------------------------------------------------------

    def _push_line_end(self, line: LineEnd) -> list[Word | Break]:
        if self._rule == "line":
            return self._end("line") or ([Break("empty")] if line.blank else [])
        ended = self._waiting == "sentence" or self._doubt is Ending.LIKELY
        out = self._end("sentence") if ended else []
        if self._rule != "auto":
            return out
        if line.blank:
            self._lines.blank()
            return out + self._end("blank")
        verdict = self._lines.line_end(open_segment=self._count > 0)
        if verdict is Verdict.BREAK:
            return out + self._end("line")
        if verdict is Verdict.WAIT and self._count:
            self._waiting = "line"
        return out

    def _end(self, reason: Reason) -> list[Word | Break]:
        """End the open segment; nothing if there is none."""
        if not self._count:
            cut, self._cut = self._cut, False
            return [Break(reason)] if cut else []
        if self._waiting == "sentence" or self._doubt is Ending.LIKELY:
            reason = "sentence"
        self._waiting, self._doubt = None, Ending.NO
        self._count = 0
        self._sentences.reset(keep_quotes=reason == "sentence")
        ended = Break(reason)
        self._cut = self._rule == "line" and ended.forced
        return [ended]
