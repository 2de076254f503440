"""The stream: segments one after another, nothing dropped, targets that run away."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from families import tiny_own_model
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulmt.emission import Emission, Output, SegmentEnd
from simulmt.model.loading import Translator, load
from simulmt.policy import Full, Policy, WaitK
from simulmt.stream import Segment, Stream
from simulmt.text.events import Break, Event, LineEnd, Word
from simulmt.text.segmenter import Segmenter


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return load(str(tiny_own_model(tmp_path_factory.mktemp("model") / "own")))


def play(translator: Translator, items: list[Word | Break], policy: Policy, together: bool = True) -> list[Output]:
    """Push items, all at once or each as soon as nothing more can be written; return all outputs."""
    stream = Stream(translator, policy, translator.decoder(), clock=lambda: 0.0)
    outputs: list[Output] = []
    for item in items:
        stream.push(item)
        if not together:
            outputs += stream.outputs()
    return [*outputs, *stream.outputs()]


def words(text: str) -> list[Word | Break]:
    return [Word(word, 0.0) for word in text.split()]


END: list[Word | Break] = [Break("end")]


def written(outputs: list[Output]) -> list[tuple[int, str, int]]:
    return [(o.segment, o.text, o.delay) for o in outputs if isinstance(o, Emission)]


def ends(outputs: list[Output]) -> list[SegmentEnd]:
    return [output for output in outputs if isinstance(output, SegmentEnd)]


def test_a_blank_line_can_be_a_segment(translator: Translator) -> None:
    items = [Break("empty"), *words("one two."), Break("line"), Break("empty"), *words("three"), *END]
    found = ends(play(translator, items, WaitK(3)))
    assert [end.reason for end in found] == ["empty", "line", "empty", "end"]
    assert [end.instance.source for end in found] == ["", "one two.", "", "three"]
    assert [end.instance.index for end in found] == [0, 1, 2, 3]
    assert (found[2].instance.prediction, found[2].instance.delays, found[2].instance.offset) == ("", [], 0.0)


def test_each_break_ends_a_segment(translator: Translator) -> None:
    items = [
        *words("one two three"),
        Break("sentence"),
        *words("four"),
        Break("line"),
        Break("blank"),
        *words("five"),
        *END,
    ]
    found = ends(play(translator, items, WaitK(3)))
    assert [end.instance.source for end in found] == ["one two three", "four", "five"]
    assert [end.reason for end in found] == ["sentence", "line", "end"]
    assert [end.instance.index for end in found] == [0, 1, 2]


ITEMS = st.lists(st.sampled_from(["the", "cat,", "sleeps", "Ofen.", "|"]), max_size=25)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(marks=ITEMS, k=st.integers(1, 5))
def test_backlog_changes_nothing_and_no_word_is_dropped(translator: Translator, marks: list[str], k: int) -> None:
    items: list[Word | Break] = [Break("sentence") if mark == "|" else Word(mark, 0.0) for mark in marks]
    items += END
    at_once, one_by_one = play(translator, items, WaitK(k)), play(translator, items, WaitK(k), together=False)
    sources = " ".join(end.instance.source or "" for end in ends(at_once))
    assert sources.split() == [mark for mark in marks if mark != "|"]
    assert [end.instance.source for end in ends(one_by_one)] == [end.instance.source for end in ends(at_once)]


def test_reading_in_batches_is_what_wait_k_would_have_read(translator: Translator) -> None:
    items = words("the cat sleeps on the warm stove and we read a word")
    at_once = play(translator, items, WaitK(3))
    assert written(at_once) == written(play(translator, items, WaitK(3), together=False))
    assert at_once


def test_words_of_which_nothing_can_be_encoded(translator: Translator) -> None:
    (end,) = ends(play(translator, [Word("\u200b", 0.0), *END], Full()))
    assert end.instance.source_length == 1
    assert end.instance.delays == []


def test_a_target_that_runs_away_is_cut_off_and_the_rest_goes_on(translator: Translator) -> None:
    """A random model writes without end; the words it did not read open the next segment."""
    text = " ".join(f"w{number}" for number in range(60))
    outputs = play(translator, [*words(text), *END], WaitK(1))
    found = ends(outputs)
    assert any(end.stopped for end in found)
    assert " ".join(end.instance.source or "" for end in found) == text
    assert all(end.instance.source_length > 0 for end in found)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lengths=st.lists(st.integers(0, 70), min_size=1, max_size=4), most=st.integers(8, 40), k=st.integers(1, 6))
def test_lines_out_are_lines_in_whatever_happens_in_them(
    translator: Translator, lengths: list[int], most: int, k: int
) -> None:
    """A random model is cut off again and again, and lines are longer than the segmenter lets pass."""
    lines = [" ".join(f"w{number}" for number in range(length)) for length in lengths]
    segmenter = Segmenter("line", max_units=most)
    stream = Stream(translator, WaitK(k), translator.decoder(), clock=lambda: 0.0, lines=True)
    for line in lines:
        events: list[Event] = [*(Word(word, 0.0) for word in line.split()), LineEnd(0.0, not line)]
        for event in events:
            for item in segmenter.push(event):
                stream.push(item)
    outputs = list(stream.outputs())
    found = ends(outputs)
    assert [end.instance.source for end in found] == lines
    assert [end.instance.index for end in found] == list(range(len(lines)))
    assert all(end.parts >= -(-length // most) for end, length in zip(found, lengths, strict=True))
    assert stream.source() == ([], 0)
    for end in found:
        emissions = [o for o in outputs if isinstance(o, Emission) and o.segment == end.instance.index]
        assert [emission.index for emission in emissions] == list(range(len(emissions)))
        assert [emission.delay for emission in emissions] == end.instance.delays == sorted(end.instance.delays)
        assert max(end.instance.delays, default=0) <= end.instance.source_length
        assert "".join(" " * o.space + o.text for o in emissions) == end.instance.prediction


@pytest.mark.parametrize("steps", [0, 1, 2, 5, 30, 10**6])
@pytest.mark.parametrize("rule", ["line", "auto"])
def test_an_interrupt_ends_what_was_begun(translator: Translator, rule: str, steps: int) -> None:
    """Whatever part of a long line is being translated, between two parts, and at the end of one."""
    segmenter = Segmenter(rule, max_units=8)  # type: ignore[arg-type]
    stream = Stream(translator, WaitK(2), translator.decoder(), clock=lambda: 0.0, lines=rule == "line")
    for number in range(20):
        for item in segmenter.push(Word(f"w{number}", 0.0)):
            stream.push(item)
    outputs: list[Output] = []
    for _ in range(steps):
        outputs += (step := stream.step()) or []
        if step is None:
            break
    dropped = stream.stop()
    outputs += stream.outputs()
    found = ends(outputs)
    assert sum(int(end.instance.source_length) for end in found) + dropped == 20
    emitted = Counter(output.segment for output in outputs if isinstance(output, Emission))
    assert emitted == Counter({end.instance.index: len(end.instance.delays) for end in found if end.instance.delays})
    assert len(found) == 1 or rule == "auto"
    assert stream.source() == ([], 0)


def test_only_parts_with_words_count(translator: Translator) -> None:
    items = [
        *words("one two three"),
        Break("length"),
        Break("line"),
        *words("four"),
        Break("length"),
        *words("five"),
        *END,
    ]
    stream = Stream(translator, Full(), translator.decoder(), clock=lambda: 0.0, lines=True)
    for item in items:
        stream.push(item)
    found = ends(list(stream.outputs()))
    assert [(end.instance.source, end.reason, end.parts) for end in found] == [
        ("one two three", "line", 1),
        ("four five", "end", 2),
    ]


def test_a_segment_too_long_for_the_model_is_ended(translator: Translator) -> None:
    limit = translator.limits.source
    text = " ".join(["longish"] * limit)
    found = ends(play(translator, [*words(text), *END], Full()))
    assert len(found) > 1
    assert {end.reason for end in found[:-1]} == {"length"}
    assert sum(end.instance.source_length for end in found) == limit


def test_a_whole_segment_is_never_ended_early(translator: Translator) -> None:
    segment = Segment(translator, Full(), whole=True)
    for word in words("longish " * (translator.limits.source // 3)):
        assert isinstance(word, Word)
        segment.feed(word)
    segment.close("end")
    decoder = translator.decoder()
    request = segment.advance()
    assert request is not None
    segment.take(decoder.run([request])[0])
    assert segment.read == len(segment.words)


def test_a_word_too_long_to_encode_is_shown_in_part(translator: Translator) -> None:
    (end,) = ends(play(translator, [Word("a" * 3000, 0.0), *END], Full()))
    assert end.truncated == 1
    assert end.instance.source == "a" * 3000


def test_times_are_in_the_instance(tmp_path: Path) -> None:
    shipped = load("en-de")
    moments = iter([10.0, 10.5, 11.0, 12.0])
    clock = iter(x / 10 for x in range(130, 1000))
    stream = Stream(shipped, WaitK(2), shipped.decoder(), clock=lambda: next(clock))
    for text in ("I", "see", "your", "cat."):
        stream.push(Word(text, next(moments)))
    stream.push(Break("sentence"))
    (end,) = ends(list(stream.outputs()))
    instance = end.instance
    assert instance.arrivals == [0.0, 500.0, 1000.0, 2000.0]
    assert instance.offset == 0.0
    assert instance.elapsed == sorted(instance.elapsed)
    assert instance.elapsed[0] >= 3000.0
    assert instance.delays[:3] == [2, 3, 4]
