"""Sinks: plain text, JSON lines, captions, log, statistics, summary."""

from __future__ import annotations

import io
import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulmt.emission import Emission, SegmentEnd
from simulmt.errors import SimulmtError
from simulmt.instance import Instance, read_log
from simulmt.output.base import Sink
from simulmt.output.captions import LINE_WIDTH, LINES, CaptionSink
from simulmt.output.jsonl import JsonlSink
from simulmt.output.log import LogSink
from simulmt.output.plain import PlainSink
from simulmt.output.statistics import SAMPLE, Quantiles, Statistics
from simulmt.output.summary import summary


def play(sink: Sink, segments: list[list[str]], *, gap: float = 0.5, unspaced: bool = False) -> None:
    """Give a sink some segments: unit i of the stream arrives at i·gap seconds and is written 0.1 s later."""
    moment = 0.0
    for number, units in enumerate(segments):
        for index, unit in enumerate(units):
            sink.emit(Emission(unit, number, index, index + 1, moment, moment + 0.1, index > 0 and not unspaced))
            moment += gap
        count = len(units)
        text = ("" if unspaced else " ").join(units)
        instance = Instance(number, text, [*range(1, count + 1)], [100.0] * count, max(count, 1), source=text)
        sink.end(SegmentEnd(instance, "sentence", None, moment))
    sink.close()


def test_plain_flushes_each_word() -> None:
    class Watch(io.StringIO):
        flushes = 0

        def flush(self) -> None:
            self.flushes += 1

    stream = Watch()
    play(PlainSink(stream), [["Guten", "Tag."], [], ["Ja."]])
    assert stream.getvalue() == "Guten Tag.\n\nJa.\n"
    assert stream.flushes == 6


def test_characters_are_not_spaced() -> None:
    stream = io.StringIO()
    play(PlainSink(stream), [["你", "好"]], unspaced=True)
    assert stream.getvalue() == "你好\n"


def test_jsonl_has_a_line_for_each_word_and_segment() -> None:
    stream = io.StringIO()
    play(JsonlSink(stream), [["Guten", "Tag."], ["Ja."]])
    records = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [record["type"] for record in records] == ["word", "word", "segment", "word", "segment"]
    assert records[1] == {
        "type": "word",
        "text": "Tag.",
        "segment": 0,
        "index": 1,
        "delay": 2,
        "arrival_ms": 500.0,
        "emission_ms": 600.0,
    }
    assert records[2]["text"] == "Guten Tag."


def test_srt() -> None:
    stream = io.StringIO()
    play(CaptionSink(stream, "srt"), [["Guten", "Tag."], ["Ja."]])
    assert stream.getvalue() == (
        "1\n00:00:00,100 --> 00:00:01,100\nGuten Tag.\n\n2\n00:00:01,100 --> 00:00:02,100\nJa.\n\n"
    )


def test_vtt_escapes_markup() -> None:
    stream = io.StringIO()
    play(CaptionSink(stream, "vtt"), [["<b>", "&"]])
    assert stream.getvalue() == "WEBVTT\n\n00:00:00.100 --> 00:00:01.100\n&lt;b&gt; &amp;\n\n"


WORDS = st.lists(st.lists(st.text("abcdefgh", min_size=1, max_size=100), max_size=40), max_size=5)


@given(segments=WORDS, gap=st.floats(0.01, 3))
def test_captions_keep_every_word_in_bounds(segments: list[list[str]], gap: float) -> None:
    stream = io.StringIO()
    play(CaptionSink(stream, "srt"), segments, gap=gap)
    cues = [cue.split("\n") for cue in stream.getvalue().split("\n\n") if cue]
    words = [word for cue in cues for line in cue[2:] for word in line.split()]
    assert "".join(words) == "".join(word for units in segments for word in units)
    if all(len(word) <= LINE_WIDTH for units in segments for word in units):
        assert words == [word for units in segments for word in units]
    times = []
    for cue in cues:
        assert 1 <= len(cue[2:]) <= LINES
        assert all(len(line) <= LINE_WIDTH for line in cue[2:])
        begin, end = (seconds(stamp) for stamp in cue[1].split(" --> "))
        assert begin < end
        times += [begin, end]
    assert times == sorted(times)


def test_a_cue_is_written_when_its_second_is_over() -> None:
    stream = io.StringIO()
    sink = CaptionSink(stream, "vtt")
    assert stream.getvalue() == ""  # nothing before there is something to show
    sink.emit(Emission("Ja.", 0, 0, 1, 2.0, 2.5, False))
    sink.end(SegmentEnd(Instance(0, "Ja.", [1], [0.0], 1), "sentence", None, 2.5))
    sink.passed(3.4)
    assert stream.getvalue() == ""
    sink.passed(3.5)
    assert stream.getvalue() == "WEBVTT\n\n00:00:02.500 --> 00:00:03.500\nJa.\n\n"


def test_a_cue_that_lasted_long_enough_is_written_with_its_segment() -> None:
    stream = io.StringIO()
    sink = CaptionSink(stream, "srt")
    for index, word in enumerate(["Guten", "Tag."]):
        sink.emit(Emission(word, 0, index, index + 1, 0.0, index * 1.5, index > 0))
    sink.end(SegmentEnd(Instance(0, "Guten Tag.", [1, 2], [0.0, 1500.0], 2), "sentence", None, 1.5))
    assert stream.getvalue() == "1\n00:00:00,000 --> 00:00:01,500\nGuten Tag.\n\n"


def test_captions_of_nothing() -> None:
    stream = io.StringIO()
    CaptionSink(stream, "vtt").close()
    assert stream.getvalue() == "WEBVTT\n\n"


@given(text=st.text("ab", min_size=1, max_size=400), moment=st.floats(0, 10_000))
def test_pieces_of_a_very_long_word_are_all_shown(text: str, moment: float) -> None:
    stream = io.StringIO()
    sink = CaptionSink(stream, "srt")
    sink.emit(Emission(text, 0, 0, 1, 0.0, moment, False))
    sink.emit(Emission("next", 1, 0, 2, 0.0, moment, False))
    sink.close()
    times = [
        seconds(stamp) for line in stream.getvalue().splitlines() if "-->" in line for stamp in line.split(" --> ")
    ]
    assert all(begin < end for begin, end in zip(times[::2], times[1::2], strict=True))
    assert times == sorted(times)


def seconds(stamp: str) -> float:
    found = re.fullmatch(r"(\d\d):(\d\d):(\d\d),(\d{3})", stamp)
    assert found
    hours, minutes, whole, ms = map(int, found.groups())
    return hours * 3600 + minutes * 60 + whole + ms / 1000


def test_log_can_be_read_back(tmp_path: Path) -> None:
    path = tmp_path / "log"
    for _ in range(2):  # a second run appends
        play(LogSink(path), [["Guten", "Tag."], []])
    instances = list(read_log(path))
    assert [instance.prediction for instance in instances] == ["Guten Tag.", "", "Guten Tag.", ""]
    assert [instance.index for instance in instances] == [0, 1, 2, 3]
    assert instances[0].delays == [1, 2]


def test_log_goes_on_after_a_run_that_was_killed(tmp_path: Path) -> None:
    path = tmp_path / "log"
    play(LogSink(path), [["Guten", "Tag."], ["Ja."]])
    path.write_text(path.read_text()[:-20])
    play(LogSink(path), [["Nein."]])
    assert [(instance.index, instance.prediction) for instance in read_log(path)] == [(0, "Guten Tag."), (1, "Nein.")]


@pytest.mark.parametrize("text", ["first line\nsecond line", "one line", "{}", '{"index": 1}\nrest'])
def test_a_file_that_is_no_log_stays_as_it_is(tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(text)
    with pytest.raises(SimulmtError, match=r"notes.txt:1: not an instance of a log"):
        LogSink(path)
    assert path.read_text() == text


@pytest.mark.parametrize("cut", [1, 5, 9, 40, 61])
def test_a_log_cut_anywhere_is_mended(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "log"
    play(LogSink(path), [["Ja."], ["Schön", "grün."]])
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + second[:cut])
    play(LogSink(path), [["Nein."]])
    assert [instance.prediction for instance in read_log(path)] == ["Ja.", "Nein."]


def test_a_pipe_can_take_the_log(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    play(LogSink(path), [["Ja."]])
    assert json.loads(os.read(reader, 4096))["prediction"] == "Ja."
    os.close(reader)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_log_on_a_full_disk_says_so_at_every_step() -> None:
    log = LogSink(Path("/dev/full"))
    with pytest.raises(SimulmtError, match="/dev/full cannot be written: No space left on device"):
        play(log, [["Ja."]])
    with pytest.raises(SimulmtError, match="/dev/full cannot be written: No space left on device"):
        log.close()


def test_log_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(SimulmtError, match="cannot be written"):
        LogSink(tmp_path / "no" / "log")


def test_statistics_and_summary() -> None:
    statistics = Statistics()
    play(statistics, [["a"] * 10, [], ["b"]])
    assert (statistics.segments, statistics.read, statistics.written, statistics.empty) == (3, 12, 11, 1)
    assert statistics.lagging("AL") == pytest.approx(1.0)
    text = summary(statistics, {"invalid_bytes": 2, "nul": 0}, 5.5, 2.25)
    assert "3 segments, 12 words read, 11 words written" in text
    assert "AL 1.00, LAAL 1.00, DAL 1.00" in text
    assert "2 × bytes that are not UTF-8" in text
    assert "NUL" not in text
    assert "1 × segment without a translation" in text
    assert "real-time factor" in text
    assert "loaded in 2.2 s" in text


def test_summary_of_nothing() -> None:
    assert summary(Statistics(), {}) == "0 segments, 0 words read, 0 words written"


def test_quantiles_keep_bounded_memory() -> None:
    quantiles = Quantiles()
    assert quantiles.at(0.5) is None
    for value in range(20 * SAMPLE):
        quantiles.add(float(value))
    assert len(quantiles.sample) == SAMPLE
    assert quantiles.at(0.5) == pytest.approx(10 * SAMPLE, rel=0.1)
    assert quantiles.at(0.95) == pytest.approx(19 * SAMPLE, rel=0.1)
