"""Segments: where they end, where they must not, and that no word is lost under any rule."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulmt.errors import UsageError
from simulmt.text.events import Break, End, Event, LineEnd, Pause, Word
from simulmt.text.reader import LiveReader
from simulmt.text.segmenter import Segmenter
from simulmt.text.units import join_units


def segments(
    text: str, rule: str = "auto", *, unit: str = "word", language: str = "en", **options: int
) -> list[tuple[str, str]]:
    """The segments of `text` with the reason each one ended."""
    reader = LiveReader(io.BytesIO(text.encode()), unit=unit)  # type: ignore[arg-type]
    segmenter = Segmenter(rule, language=language, **options)  # type: ignore[arg-type]
    done: list[tuple[str, str]] = []
    words: list[str] = []
    event: Event | None = None
    while not isinstance(event, End):
        event = reader.get(timeout=10)
        assert event is not None
        for item in segmenter.push(event):
            if isinstance(item, Break):
                done.append((join_units(words, unit), item.reason))  # type: ignore[arg-type]
                words = []
            else:
                words.append(item.text)
    assert words == []
    return done


def sentences(text: str, language: str = "en", unit: str = "word") -> list[str]:
    return [segment for segment, _ in segments(text, "sentence", unit=unit, language=language)]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "I met Dr. Smith and Mr. J. R. Brown."),
        ("en", "He lives in the U.S. with us."),
        ("en", "Bring fruit, e.g. apples, i.e. food, at 5 p.m. today."),
        ("en", "It is 3.14 or so, see Fig. 3 and pp. 10 or No. 5."),
        ("en", "Smith et al. say so vs. Jones (cf. Prof. Lee)."),
        ("en", "He said (see Dr. Lee) that St. Louis is on Mt. X."),
        ("en", "DR. SMITH SAYS SO."),
        ("en", "1. Open the door."),
        ("en", "He wrote [...] that (!) it works."),
        ("en", "The Node.js and example.com people came."),
        ("en", "Really , Dr . Smith ?"),
        ("de", "Am 3. Mai kam Ludwig XIV. nach Paris."),
        ("de", "Das ist z.B. Dr. Müller bzw. z. B. Hr. Maier."),
        ("de", "Die Hauptstr. 5 liegt ca. 3 km weit, vgl. Nr. 7 und d. h. hier."),
        ("de", "Vgl. dazu Abs. 3."),
        ("en", '"Stop!" he said, "Why?" (really?) and left.'),
        ("en", "Apples, pears, etc. are fruit."),
        ("en", "On Mar. 3 and Jul. 4 see Sec. 4, Eq. 5; bake it 30 min. at 200."),
        ("en", "The U.S. Army, Vitamin C and J. Smith are here."),
        ("de", "„Halt!“ rief er."),
        ("fr", "M. Dupont, Mme. Durand et p. ex. Me. Martin, cf. chap. trois."),
        ("es", "El Sr. López y la Sra. García viven en EE. UU. hoy."),
        ("it", "Il sig. Rossi e il dott. Bianchi, ad es. a pag. tre."),
        ("pt", "O Sr. Silva e a Dra. Costa moram na Av. Central."),
        ("nl", "De hr. Jansen en dhr. de Vries, bijv. op blz. drie."),
        ("sv", "Det är t.ex. ca. 3 km bort, dvs. nära."),
        ("ru", "Это г. Москва, т.е. столица, ул. Ленина."),
    ],
)
def test_one_sentence(language: str, text: str) -> None:
    assert sentences(text, language) == [text]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "It ended in 2014.|Then it began."),
        ("en", "The value is 3.14.|That is all."),
        ("en", "Stop!|Why?|No.|Well..."),
        ("en", "He said, \"No.\"|She left."),
        ("en", "(They came.)|\"Did you?\"|'Yes!'|“Fine.”|«Good.»"),
        ("en", "We saw cats, dogs, etc.|They ran."),
        ("en", "It is true.[12]|It is false.²|It is so.¹|Is it?"),
        ("en", "We meet at 5 p.m.|The door is open.|He lives in the U.S.|It is big.|Take vitamin C.|There is more."),
        ("en", "Wait…|What?!|Go."),
        ("en", "Hello .|Good bye ."),
        ("en", "See example.com.|Then go."),
        ("de", "Er heißt Max.|Sie kommt im Jahr 2014.|„Nein!“|»Doch.«"),
        ("de", "Es gibt sie auf DVD.|Gut so."),
        ("en", "They came on day 12.|It rained."),
        ("fr", "« Bonjour ! »|Il entre."),
        ("fr", "Comment ça va ?|Bien."),
        ("es", "¿Qué tal?|¡Bien!|Adiós."),
        ("el", "Τι κάνεις;|Καλά."),
        ("hi", "यह एक वाक्य है।|यह दूसरा है।"),
        ("ur", "یہ ایک ہے۔|کیا یہ ہے؟"),
        ("hy", "Սա մեկ է։|Սա երկու է։"),
        ("am", "ይህ ነው።|ያ ነው።"),
    ],
)  # fmt: skip
def test_sentence_ends(language: str, text: str) -> None:
    assert sentences(text.replace("|", " "), language) == text.split("|")


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("zh", "你好。|今天好吗？|很好！"),
        ("zh", "圆周率是3.14左右。|对。"),
        ("zh", "他说：「你好。」|她笑了。"),
        ("zh", "「一。|二。」|三。"),
        ("zh", "我想……不。|好。"),
        ("zh", "什么？|！真的。"),
        ("ja", "そうです。|本当ですか？"),
        ("zh", "好.|行。"),
    ],
)
def test_sentence_ends_of_characters(language: str, text: str) -> None:
    assert sentences(text.replace("|", ""), language, "char") == text.split("|")


def test_a_break_follows_its_word_at_once() -> None:
    segmenter = Segmenter("sentence")
    end = Word("there.", 1.0)
    assert segmenter.push(Word("Hello", 0.0)) == [Word("Hello", 0.0)]
    assert segmenter.push(end) == [end, Break("sentence")]
    assert segmenter.push(End(2.0)) == []


def test_a_sentence_end_in_a_quotation_waits_for_what_comes() -> None:
    def after(event: Event) -> list[object]:
        segmenter = Segmenter("auto", language="zh")
        for character in "「好。":
            last = segmenter.push(Word(character, 0.0, False))
        assert last == [Word("。", 0.0, False)]
        return [item.reason if isinstance(item, Break) else item.text for item in segmenter.push(event)]

    assert after(Word("」", 0.0, False)) == ["」", "sentence"]
    assert after(Word("我", 0.0, False)) == ["sentence", "我"]
    for event in (Pause(0.0), End(0.0), LineEnd(0.0, False), LineEnd(0.0, True)):
        assert after(event) == ["sentence"]


def test_a_sentence_end_in_doubt_ends_with_its_line_or_a_pause() -> None:
    assert segments('"Stop!"\nhe said.', "sentence") == [('"Stop!"', "sentence"), ("he said.", "sentence")]
    assert segments("We meet at 5 p.m.\non Friday.", "sentence") == [("We meet at 5 p.m. on Friday.", "sentence")]
    for text, reason in (('"Stop!"', "sentence"), ("etc.", "sentence"), ("p.m.", "idle")):
        segmenter = Segmenter()
        assert segmenter.push(Word(text, 0.0)) == [Word(text, 0.0)]
        assert segmenter.push(Pause(0.0)) == [Break(reason)]  # type: ignore[arg-type]
        assert segmenter.push(Word("he", 0.0)) == [Word("he", 0.0)]


def test_rules() -> None:
    text = "One two. Three\nfour\n\nfive. Six"
    assert segments(text, "sentence") == [("One two.", "sentence"), ("Three four five.", "sentence"), ("Six", "end")]
    assert segments(text, "none") == [("One two. Three four five. Six", "end")]
    assert segments(text, "line") == [("One two. Three", "line"), ("four", "line"), ("", "empty"), ("five. Six", "end")]
    assert segments("\n\nOne\n", "line") == [("", "empty"), ("", "empty"), ("One", "line")]
    assert segments("Title\n\nText", "auto") == [("Title", "line"), ("Text", "end")]
    assert segments("A line that the\n\nText", "auto") == [("A line that the", "blank"), ("Text", "end")]


def test_a_pause_ends_an_open_segment_only() -> None:
    for rule in ("auto", "sentence", "line", "none"):
        segmenter = Segmenter(rule)
        assert segmenter.push(Pause(0.0)) == []
        segmenter.push(Word("and", 0.0))
        assert segmenter.push(Pause(0.0)) == [Break("idle")]
        assert segmenter.push(Pause(0.0)) == []
        assert segmenter.push(LineEnd(0.0, False)) == []
        assert segmenter.push(End(0.0)) == []


@pytest.mark.parametrize(
    ("text", "segment", "reason"),
    [
        ("a b, c d e f, g h i j", "a b, c d e f,", "clause"),
        ("a b, c d e f g and h i", "a b, c d e f g", "conjunction"),
        ("a b, c d and f g h i j", "a b, c d and f g h", "length"),
        ("a b c d e f g h. i", "a b c d e f g h.", "length"),
        ("a b c d e «f,» g h i", "a b c d e «f,»", "clause"),
        ("a b c d e - g h i", "a b c d e -", "clause"),
    ],
)
def test_a_long_segment_ends_at_its_best_place(text: str, segment: str, reason: str) -> None:
    first = segments(text, "none", max_units=8)[0]
    assert first == (segment, reason)
    assert Break(reason).forced  # type: ignore[arg-type]


def test_other_breaks_are_not_forced() -> None:
    assert segments("a b c d e f g it. i", "sentence", max_units=8)[0] == ("a b c d e f g it.", "sentence")
    assert not any(Break(reason).forced for reason in ("sentence", "line", "blank", "idle", "end"))


def test_long_segments_of_characters() -> None:
    assert segments("一二三四五六，七八九", "none", unit="char", language="zh", max_units=8)[0] == (
        "一二三四五六，",
        "clause",
    )
    assert segments("กขค งจฉ ชซฌญ", "none", unit="char", language="th", max_units=8)[0] == ("กขคงจฉ", "clause")


def test_no_segment_is_longer_than_eighty_words_by_default() -> None:
    found = segments("word " * 1_000)
    assert [reason for _, reason in found] == ["length"] * 12 + ["end"]
    assert {len(segment.split()) for segment, _ in found} == {80, 40}


WORDS = st.sampled_from(
    [
        "a",
        "the",
        "and",
        "und",
        "Dr.",
        "U.S.",
        "end.",
        "what?",
        "3.",
        "well,",
        '"',
        "«",
        "»",
        "「",
        "」",
        "。",
        "...",
        "[...]",
        "A",
        "-",
    ]
)
EVENTS = st.one_of(
    st.builds(Word, WORDS | st.text(min_size=1), st.just(0.0), st.booleans()),
    st.builds(LineEnd, st.just(0.0), st.booleans()),
    st.just(Pause(0.0)),
)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(EVENTS, max_size=60),
    st.sampled_from(["auto", "sentence", "line", "none"]),
    st.integers(1, 12),
    st.sampled_from(["en", "de", "fr", "zh", "th", "el", "xx"]),
)
def test_nothing_is_lost_and_breaks_are_where_they_may_be(
    events: list[Event], rule: str, most: int, language: str
) -> None:
    segmenter = Segmenter(rule, max_units=most, language=language)  # type: ignore[arg-type]
    twin = Segmenter(rule, max_units=most, language=language)  # type: ignore[arg-type]
    open_units = 0
    cut = False
    for event in [*events, End(0.0)]:
        out = segmenter.push(event)
        assert out == twin.push(event)
        assert [item for item in out if isinstance(item, Word)] == ([event] if isinstance(event, Word) else [])
        for item in out:
            if isinstance(item, Break):
                assert (open_units > 0) is not (item.reason == "empty") or (cut and not item.forced)
                cut = rule == "line" and item.forced
                assert rule == "line" or item.reason != "empty"
                open_units = 0
            else:
                open_units += 1
                assert open_units <= most
    assert open_units == 0
    assert not cut  # a line that was cut has an end of its own


def test_bad_options() -> None:
    with pytest.raises(UsageError, match="'page'"):
        Segmenter("page")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="0"):
        Segmenter(max_units=0)
