"""Utterances on lines of their own are cut at line ends, wrapped paragraphs are not.

All texts are written for these tests.
"""

from __future__ import annotations

import textwrap

import pytest

from simulmt.text.events import Break, End, LineEnd, Word
from simulmt.text.segmenter import Segmenter
from simulmt.text.units import split_units

PARAGRAPH = (
    "The harbour lay still under a thin fog when the first boats came back, and nobody on the quay had expected them "
    "so early. Mrs. Hallam counted the masts twice. There should have been eleven of them, but only nine could be seen "
    "between the lighthouse and the pier, and the two that were missing belonged to her brothers. She went down the "
    "steps to the water without a word. The men on the nearest boat looked at each other as if one of them had to "
    "speak, yet it took a long while until the oldest, a quiet man called Ferris, took off his cap and told her that "
    "the others had only stopped at the island to mend a sail."
)
ABSATZ = (
    "Schon vor einem Jahr, im Frühling, hatte der Bürgermeister der Gemeinde den Antrag gestellt, doch die Behörde "
    "antwortete erst nach mehreren Monaten. In dem Schreiben stand, dass der Umbau des alten Bahnhofs grundsätzlich "
    "möglich sei, wenn die Fassade erhalten bleibt und die Kosten von der Gemeinde getragen werden. Im Gemeinderat "
    "gab es darüber eine lange Aussprache. Am Ende stimmten alle Mitglieder dem Vorschlag zu, weil niemand den "
    "Abriss des Gebäudes verantworten wollte und weil sich ein Verein gefunden hatte, der die Räume nutzen möchte."
)


def breaks(lines: list[str], language: str = "en", unit: str = "word") -> list[str | None]:
    """For each line: why a segment ended with it; None if it went on into the next line."""
    segmenter = Segmenter("auto", language=language, max_units=1_000)
    reasons: list[str | None] = []
    for number, line in enumerate(lines):
        units = split_units(line, unit)  # type: ignore[arg-type]
        out = [item for text in units for item in _push(segmenter, Word(text, 0.0, unit == "word"), reasons)]
        ended = segmenter.push(LineEnd(0.0, not units))
        last = out[-1:] + ended
        reasons.append(next((item.reason for item in reversed(last) if isinstance(item, Break)), None))
        if number == len(lines) - 1:
            segmenter.push(End(0.0))
    return reasons


def _push(segmenter: Segmenter, word: Word, reasons: list[str | None]) -> list[Word | Break]:
    """Push a word; a break in front of the first word of a line belongs to the line before."""
    out = segmenter.push(word)
    if out and isinstance(out[0], Break):
        reasons[-1] = out.pop(0).reason  # type: ignore[union-attr]
    return out


LOG = [
    "2024-05-03 12:00:01 INFO server started on port 8080",
    "2024-05-03 12:00:02 INFO connection from 10.0.0.7 accepted",
    "2024-05-03 12:00:09 WARN slow query (2.3 s) in table users, retrying",
    "2024-05-03 12:00:11 ERROR disk full",
    "2024-05-03 12:00:12 INFO shutting down",
]
CHAT = [
    "hi all",
    "hello there how are you",
    "fine thanks",
    "did you see the game last night it was good",
    "no i missed it",
]
CHAT_CAPITALS = [
    "Hi all",
    "Hello there how are you",
    "Fine thanks",
    "Did you see the game last night",
    "No I missed it",
]
CHAT_NAMES = [
    "<ann> hello",
    "<bo> hi ann how was the trip to the coast",
    "<ann> long but we enjoyed every minute",
    "<bo> good",
]
TRANSCRIPT = [
    "the committee met on tuesday to discuss the new budget proposal",
    "members raised several questions about the cost of the programme",
    "the chair replied that the figures would be published next week",
    "a vote is expected at the end of the month",
]
HEADLINES = [
    "Parliament Votes to Extend the Fishing Season Until the End of September",
    "Heavy Rain Expected in the North",
    "Museum Opens New Wing",
    "Researchers Find a Second Entrance to the Cave Below the Old Monastery",
]
LONG = [
    "the first of these very long lines is what a speech recogniser writes when a speaker goes on for some time with "
    "no break of any kind",
    "and this is the second one of them which is a little longer than the first one was and it does not end with a "
    "full stop either",
]
CHINESE = ["大家好", "今天天气不错", "我们开始吧", "第一个问题是什么"]


@pytest.mark.parametrize(
    "lines",
    [LOG, CHAT, CHAT_CAPITALS, CHAT_NAMES, TRANSCRIPT, HEADLINES, LONG],
    ids=["log", "chat", "chat with capitals", "chat with names", "transcript", "headlines", "long lines"],
)
def test_one_utterance_per_line(lines: list[str]) -> None:
    found = breaks(lines)
    assert found[:-1] == ["line"] * (len(lines) - 1)


def test_one_utterance_per_line_without_capitals_in_the_script() -> None:
    assert breaks(CHINESE, "zh", "char") == ["line"] * 4


@pytest.mark.parametrize("width", [45, 55, 65, 72, 80, 100])
@pytest.mark.parametrize(("text", "language"), [(PARAGRAPH, "en"), (ABSATZ, "de")], ids=["en", "de"])
def test_a_wrapped_paragraph_stays_one_stream(text: str, language: str, width: int) -> None:
    found = breaks(textwrap.wrap(text, width) * 2, language)
    assert "line" not in found


def test_a_wrapped_mail_with_a_heading_and_a_blank_line() -> None:
    body = textwrap.wrap(PARAGRAPH, 72)
    found = breaks(["Nine boats", "", *body, "", *body])
    assert found[:2] == ["line", None]
    assert "line" not in found[2:]


def test_a_list_after_a_wrapped_paragraph() -> None:
    items = ["- mend the sail", "- count the boats", "- call the island"]
    found = breaks([*textwrap.wrap(PARAGRAPH, 72), *items])
    assert found[-3:] == ["line"] * 3


def test_wrapped_text_in_a_script_without_capitals() -> None:
    text = "这个港口在薄雾中非常安静第一批船回来的时候码头上没有人想到它们会这么早，" * 6
    found = breaks([text[start : start + 36] for start in range(0, len(text), 36)], "zh", "char")
    assert found[:-1] == [None] * (len(found) - 1)


def test_subtitles_go_on_over_their_lines() -> None:
    lines = [
        "I have always wanted to tell you,",
        "but there was never a good moment.",
        "You could have called me.",
        "There was nothing that I could have said to",
        "change the way they looked at us.",
        "He went to the station because",
        "he thought that she was there.",
        "Are you sure?",
    ]
    assert breaks(lines) == [None, "sentence", "sentence", None, "sentence", None, "sentence", "sentence"]


def test_sentences_on_lines_of_which_some_lack_their_full_stop() -> None:
    lines = [
        "We begin at nine.",
        "The first speaker comes from the university of the north.",
        "Questions are welcome at any time",
        "Lunch is at noon.",
        "The afternoon is for the workshops",
        "Coffee is free.",
    ]
    assert breaks(lines) == ["sentence", "sentence", "line", "sentence", "line", "sentence"]


def test_the_kind_of_text_may_change() -> None:
    wrapped = textwrap.wrap(PARAGRAPH, 72)
    found = breaks([*wrapped, *HEADLINES, *CHAT_CAPITALS, *HEADLINES, *wrapped, *wrapped])
    middle = found[len(wrapped) + 4 : len(wrapped) + 13]
    assert middle == ["line"] * 9
    assert "line" not in found[-len(wrapped) :]


def test_an_undecided_line_waits_for_the_next_letter() -> None:
    first = "Nothing in this line of middling length tells us how it ends"
    for following, expected in (("today.", [None, "sentence"]), ("Then", ["line", None])):
        assert breaks([first, following])[0] == expected[0]
    segmenter = Segmenter("auto")
    for text in first.split():
        segmenter.push(Word(text, 0.0))
    assert segmenter.push(LineEnd(0.0, False)) == []
    assert segmenter.push(LineEnd(0.0, True)) == [Break("blank")]
