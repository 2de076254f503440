"""The token side of a segment, driven by a scripted prediction instead of a model."""

from __future__ import annotations

from collections.abc import Sequence

from simulmt.model.layout import Frame
from simulmt.model.writer import Choice, Limits, Writer
from simulmt.text.events import Unit
from simulmt.text.tokenizers import Boundary

END = 99
FRAME = Frame(source_head=(90,), source_end=(91,), target_head=(92, 93), target_end=END)


class Script:
    """Token n below 50 continues a unit (`n`), token n from 50 starts or ends one (`_n`)."""

    size = 100
    control = frozenset(range(90, 100))

    def __init__(self, boundary: Boundary) -> None:
        self.boundary = boundary

    def encode(self, unit: str, first: bool, unit_kind: Unit = "word") -> list[int]:
        return [int(unit)]

    def decode(self, tokens: Sequence[int]) -> str:
        if self.boundary is Boundary.CHARACTER:
            return "".join(chr(token) for token in tokens)
        spaces = {Boundary.SUFFIX: ("", " "), Boundary.PREFIX: (" ", "")}[self.boundary]
        return "".join(
            f"{spaces[0] if token >= 50 else ''}{token}{spaces[1] if token >= 50 else ''}" for token in tokens
        ).strip()

    def ends_unit(self, token: int) -> bool:
        return token >= 50

    def starts_unit(self, token: int) -> bool:
        return token >= 50


def writer(boundary: Boundary, limits: Limits | None = None) -> Writer:
    return Writer(FRAME, Script(boundary), limits=limits)


def test_suffix_fuses_reads_with_the_last_token() -> None:
    w = writer(Boundary.SUFFIX)
    w.read("1")
    request = w.request()
    assert (request.source, request.target, request.drop, request.choice) == ((90, 1), (92, 93), 0, Choice.INNER)
    assert w.take(10) == []
    assert not w.at_boundary
    assert w.request().choice is Choice.INNER  # a word that was begun is finished
    assert w.take(60) == ["1060"]
    assert w.at_boundary
    w.read("2")
    w.end_source()
    request = w.request()
    assert (request.source, request.target, request.target_start) == ((2, 91), (60,), 3)
    assert w.take(END) == []
    assert w.finished == "end"
    assert w.forwarded == 2 + 2 + 1 + 2 + 1


def test_prefix_drops_the_draft_when_there_is_something_to_read() -> None:
    w = writer(Boundary.PREFIX)
    w.read("1")
    w.request()
    assert w.take(50) == []
    w.request()
    assert w.take(61) == ["50"]  # 61 starts the next word: a draft
    w.read("2")
    request = w.request()
    assert (request.drop, request.target, request.target_start, request.choice) == (1, (50,), 2, Choice.START)
    assert w.take(70) == []
    assert w.target == [50, 70]
    assert w.target_reads == [1, 2]


def test_prefix_keeps_the_draft_when_there_is_nothing_new() -> None:
    w = writer(Boundary.PREFIX)
    w.read("1")
    w.end_source()
    w.request()
    w.take(50)
    w.request()
    assert w.take(61) == ["50"]
    request = w.request()
    assert (request.drop, request.target) == (0, (61,))
    assert w.target == [50, 61]
    assert w.take(END) == ["61"]
    assert w.finished == "end"


def test_an_end_that_comes_too_early_asks_for_more_source() -> None:
    for boundary in (Boundary.SUFFIX, Boundary.PREFIX):
        w = writer(boundary)
        w.read("1")
        w.request()
        w.take(50)
        w.request()
        w.take(END)
        assert w.wants_source
        assert w.finished is None
        w.read("2")
        assert not w.wants_source
        request = w.request()
        assert (request.drop, request.source, request.target) == (1, (2,), (50,))
        w.take(51)
        assert w.target == [50, 51]


def test_an_early_end_right_after_the_head_runs_its_last_token_again() -> None:
    w = Writer(FRAME, Script(Boundary.SUFFIX), frozenset({END, 98}))
    w.read("1")
    w.request()
    w.take(98)
    w.read("2")
    request = w.request()
    assert (request.drop, request.target, request.target_start) == (1, (93,), 1)


def test_a_target_that_runs_away_is_ended_for_every_boundary() -> None:
    for boundary, token in ((Boundary.SUFFIX, 60), (Boundary.SUFFIX, 10), (Boundary.PREFIX, 60), (Boundary.PREFIX, 10)):
        w = writer(boundary, Limits(per_source=3, extra=5))
        w.read("1")
        w.end_source()
        words = []
        for _ in range(50):
            if w.finished:
                break
            w.request()
            words += w.take(token)
        assert w.finished == "length"
        assert len(w.target) == 9
        assert "".join(words).replace(" ", "") == str(token) * 9


def test_long_units_are_cut_and_counted() -> None:
    class Long(Script):
        def encode(self, unit: str, first: bool, unit_kind: Unit = "word") -> list[int]:
            return [1] * 500

    w = Writer(FRAME, Long(Boundary.SUFFIX), limits=Limits(unit=100, source=150))
    w.read("x")
    assert (w.truncated, w.source_tokens, w.full) == (1, 100, False)
    w.read("x")
    assert (w.truncated, w.source_tokens, w.full) == (2, 200, True)


def test_marks_stay_with_their_character() -> None:
    w = writer(Boundary.CHARACTER)
    w.read("1")
    w.end_source()
    written = []
    for character in "ที่名好":
        w.request()
        written.append(w.take(ord(character)))
    assert written == [[], [], [], ["ที่", "名"], ["好"]]
