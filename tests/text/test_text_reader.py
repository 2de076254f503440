"""The live reader over real pipes and files: timely, complete, bounded."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulmt.errors import SimulmtError, UsageError
from simulmt.text.events import End, Event, LineEnd, Pause, Word
from simulmt.text.reader import LiveReader, open_source
from simulmt.text.units import split_units


class Chunks(io.RawIOBase):
    """A source whose reads return the given pieces one by one."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = iter(pieces)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return next(self._pieces, b"")


def read_all(reader: LiveReader) -> list[Event]:
    events: list[Event] = []
    while not events or not isinstance(events[-1], End):
        event = reader.get(timeout=10)
        assert event is not None
        events.append(event)
    return events


def texts(events: list[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Word)]


def shape(events: list[Event]) -> list[object]:
    """The events without their times."""
    return [
        (e.text, e.space) if isinstance(e, Word) else e.blank if isinstance(e, LineEnd) else type(e) for e in events
    ]


def read_pieces(pieces: list[bytes], **options: object) -> tuple[list[object], object]:
    reader = LiveReader(Chunks([piece for piece in pieces if piece]), **options)  # type: ignore[arg-type]
    return shape(read_all(reader)), reader.counts


@pytest.fixture
def pipe() -> tuple[int, Callable[[str], None], Callable[[], None]]:
    """The reading end of a pipe, a function that writes into it and one that closes it."""
    read_end, write_end = os.pipe()
    return read_end, lambda text: os.write(write_end, text.encode()) and None, lambda: os.close(write_end)


ODD = st.text(
    st.one_of(
        st.characters(), st.sampled_from(" \n\r\t\0\ufeff\u200b\u200c\u200d\u00a0ก้คำ你。e\u0301\u3099🇩👍🏽\ufe0f")
    )
)
BYTES = st.one_of(
    ODD.map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.binary(),
    st.lists(st.sampled_from([b"\xe4", b"\xbd", b"\xa0", b"\xf0\x9f", b"\r", b"\n", b" ", b"a", b"\xcc\x81"])).map(
        b"".join
    ),
)


@settings(max_examples=150, deadline=None)
@given(BYTES, st.lists(st.integers(0, 60), max_size=8), st.sampled_from(["word", "char"]))
def test_how_the_bytes_are_cut_makes_no_difference(data: bytes, cuts: list[int], unit: str) -> None:
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    pieces = [data[a:b] for a, b in pairwise(places)]
    whole = read_pieces([data], unit=unit)
    assert read_pieces(pieces, unit=unit) == whole
    assert read_pieces([data[i : i + 1] for i in range(len(data))], unit=unit) == whole


@settings(max_examples=150, deadline=None)
@given(ODD, st.sampled_from(["word", "char"]))
def test_reader_and_split_units_agree(text: str, unit: str) -> None:
    data = text.encode("utf-8", "replace")
    reader = LiveReader(io.BytesIO(data), unit=unit)  # type: ignore[arg-type]
    units = texts(read_all(reader))
    assert units == split_units(data.decode(), unit)  # type: ignore[arg-type]
    assert reader.counts.words == len(units)
    assert reader.counts.bytes_read == len(data)


def test_invalid_bytes_are_replaced_as_python_does() -> None:
    data = bytes(range(256)) * 3 + "ü你".encode()[:-1]
    reader = LiveReader(io.BytesIO(data))
    replaced = data.decode("utf-8", "replace")
    assert "".join(texts(read_all(reader))).count("\ufffd") == replaced.count("\ufffd")
    assert reader.counts.invalid_bytes == replaced.count("\ufffd")


def test_a_word_is_handed_out_as_soon_as_white_space_follows(pipe) -> None:
    source, write, close = pipe
    reader = LiveReader(source)
    write("one tw")
    before = time.monotonic()
    assert texts([reader.get(timeout=5)]) == ["one"]  # type: ignore[list-item]
    assert reader.get(timeout=0.05) is None
    write("o\n")
    second = reader.get(timeout=5)
    assert isinstance(second, Word)
    assert second.text == "two"
    assert before + 0.05 <= second.arrival <= time.monotonic()
    assert isinstance(reader.get(timeout=5), LineEnd)
    write("three")
    close()
    assert texts(read_all(reader)) == ["three"]
    assert isinstance(reader.get(), End)
    assert isinstance(reader.get(), End)


def test_an_ideograph_is_handed_out_at_once(pipe) -> None:
    source, write, close = pipe
    reader = LiveReader(source, unit="char")
    write("你")
    first = reader.get(timeout=5)
    assert isinstance(first, Word)
    assert first.text == "你"
    write("ก")
    assert reader.get(timeout=0.05) is None
    write("\u0e49")  # its tone mark
    write("ก")
    assert texts([reader.get(timeout=5)]) == ["ก\u0e49"]  # type: ignore[list-item]
    close()
    assert texts(read_all(reader)) == ["ก"]


def test_a_character_split_across_two_reads() -> None:
    first, second = b"K\xc3", b"\xb6ln "
    assert texts(read_all(LiveReader(Chunks([first, second])))) == ["Köln"]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("data", "events"),
    [
        (b"", [End]),
        (b"\n", [True, End]),
        (b"a", [("a", True), End]),
        (b"\xef\xbb\xbfa\r\n\r\nb\rc\n", [("a", True), False, True, ("b", True), False, ("c", True), False, End]),
        (b"a\tb\x0cc", [("a", True), ("b", True), ("c", True), End]),
        (b"a\0b \0 c", [("ab", True), ("c", True), End]),
        (b"\0\n", [True, End]),
    ],
)
def test_lines_and_oddities(data: bytes, events: list[object]) -> None:
    assert read_pieces([data])[0] == events


def test_space_is_told_for_characters() -> None:
    assert read_pieces(["你好 世\n界".encode()], unit="char")[0] == [
        ("你", True), ("好", False), ("世", True), False, ("界", True), End,
    ]  # fmt: skip


def test_one_pause_per_silence_and_only_after_a_word(pipe) -> None:
    source, write, close = pipe
    reader = LiveReader(source, idle=0.05)
    assert reader.get(timeout=0.15) is None
    write("one ")
    word, pause = reader.get(timeout=5), reader.get(timeout=5)
    assert isinstance(word, Word)
    assert isinstance(pause, Pause)
    assert pause.arrival == pytest.approx(word.arrival + 0.05)
    assert reader.get(timeout=0.15) is None
    write("two ")
    close()
    assert [type(event) for event in read_all(reader)] in ([Word, End], [Word, Pause, End])


def test_a_pause_completes_the_word_before_it(pipe) -> None:
    source, write, close = pipe
    reader = LiveReader(source, idle=0.1)
    write("one two")
    events = [reader.get(timeout=5) for _ in range(3)]
    assert [type(event) for event in events] == [Word, Word, Pause]
    assert texts(events[:2]) == ["one", "two"]
    assert events[1].arrival + 0.1 == pytest.approx(events[2].arrival)
    write(" three")
    close()
    rest = read_all(reader)
    assert texts(rest) == ["three"]
    assert rest[0].space


def test_a_slow_consumer_sees_the_words_that_pauses_completed() -> None:
    times = iter([0.0, 0.1, 5.0, 9.0, 9.0, 9.0])
    chunks = Chunks([b"a b", b"c", b"d\n"])  # "bc" came in one go, "d" after the silence
    reader = LiveReader(chunks, idle=2.0, clock=lambda: next(times, 9.0))  # type: ignore[arg-type]
    reader._thread.join(5)
    events = read_all(reader)
    assert [type(event) for event in events] == [Word, Word, Pause, Word, LineEnd, Pause, End]
    assert texts(events) == ["a", "bc", "d"]


def test_a_slow_consumer_sees_the_same_pauses() -> None:
    times = iter([0.0, 5.0, 5.1, 9.0, 9.0, 9.0])

    reader = LiveReader(Chunks([b"a ", b"b ", b"c\n"]), idle=2.0, clock=lambda: next(times, 9.0))  # type: ignore[arg-type]
    reader._thread.join(5)
    assert [type(event) for event in read_all(reader)] == [Word, Pause, Word, Word, LineEnd, Pause, End]


def test_pace_is_exact_and_never_early() -> None:
    started = time.monotonic()
    events = read_all(LiveReader(io.BytesIO(b"a b\nc d"), pace=60 / 0.03))
    words = [event for event in events if isinstance(event, Word)]
    assert [word.arrival - words[0].arrival for word in words] == pytest.approx([0, 0.03, 0.06, 0.09])
    assert time.monotonic() - started >= 0.09
    assert shape(events)[2] is False


def test_pace_does_not_release_what_was_not_read_yet(pipe) -> None:
    source, write, close = pipe
    reader = LiveReader(source, pace=60_000)
    write("a ")
    first = reader.get(timeout=5)
    time.sleep(0.1)
    write("b ")
    second = reader.get(timeout=5)
    close()
    assert isinstance(first, Word)
    assert isinstance(second, Word)
    assert second.arrival - first.arrival >= 0.1


def test_back_pressure_keeps_the_queue_bounded_and_loses_nothing() -> None:
    words = [str(i) for i in range(5_000)]
    reader = LiveReader(io.BytesIO(" ".join(words).encode()), capacity=7)
    time.sleep(0.05)
    seen: list[Event] = []
    most = 0
    while not seen or not isinstance(seen[-1], End):
        most = max(most, reader.backlog)
        event = reader.get(timeout=5)
        assert event is not None
        seen.append(event)
    assert texts(seen) == words
    assert most == 7
    assert reader.backlog == 0


def test_drain_takes_what_waits_and_does_not_block(pipe) -> None:
    source, write, close = pipe
    reader = LiveReader(source)
    assert reader.drain() == []
    write("a b c")
    assert texts([reader.get(timeout=5)]) == ["a"]  # type: ignore[list-item]
    assert texts(reader.drain()) == ["b"]
    close()
    reader._thread.join(5)
    assert shape(reader.drain()) == [("c", True), End]


def test_a_very_long_word_is_read_in_linear_time() -> None:
    started = time.monotonic()
    reader = LiveReader(io.BytesIO(b"x" * 10_000_000))
    events = read_all(reader)
    assert sum(map(len, texts(events))) == 10_000_000
    assert reader.counts.cut_words == 1
    assert time.monotonic() - started < 15


def test_words_are_read_fast_enough() -> None:
    data = b"a line of seven quite ordinary words\n" * 20_000
    started = time.monotonic()
    assert len(texts(read_all(LiveReader(io.BytesIO(data))))) == 140_000
    assert time.monotonic() - started < 15


def test_a_source_that_has_nothing_yet(pipe) -> None:
    source, write, close = pipe
    os.set_blocking(source, False)
    reader = LiveReader(source)
    assert reader.get(timeout=0.05) is None
    write("late ")
    assert texts([reader.get(timeout=5)]) == ["late"]  # type: ignore[list-item]
    close()
    assert texts(read_all(reader)) == []


def test_a_terminal() -> None:
    keyboard, terminal = os.openpty()
    reader = LiveReader(terminal)
    os.write(keyboard, b"one two\n")
    assert shape([reader.get(timeout=5) for _ in range(3)]) == [("one", True), ("two", True), False]  # type: ignore[misc]
    os.write(keyboard, b"three\x04\x04")  # end of input twice: after an unfinished line, then on an empty one
    assert shape(read_all(reader)) == [("three", True), End]
    os.close(keyboard)
    os.close(terminal)


def test_a_descriptor_that_is_not_open() -> None:
    source, other = os.pipe()
    os.close(other)
    os.close(source)
    with pytest.raises(SimulmtError, match=r"descriptor \d+\): Bad file descriptor"):
        LiveReader(source).get(timeout=5)


def test_a_buffered_pipe_is_read_without_waiting_for_a_full_buffer() -> None:
    read_end, write_end = os.pipe()
    with open(read_end, "rb") as source:
        reader = LiveReader(source)
        os.write(write_end, b"now ")
        assert texts([reader.get(timeout=5)]) == ["now"]  # type: ignore[list-item]
        os.close(write_end)
        assert texts(read_all(reader)) == []


def test_close_ends_a_waiting_reader(pipe) -> None:
    source, write, close = pipe
    with LiveReader(source) as reader:
        write("a ")
        assert isinstance(reader.get(timeout=5), Word)
        threading.Timer(0.05, reader.close).start()
        assert isinstance(reader.get(timeout=5), End)
    close()


def test_reading_errors_come_after_what_was_read(tmp_path: Path) -> None:
    class Broken(Chunks):
        def read(self, size: int = -1) -> bytes:
            data = super().read(size)
            if not data:
                raise OSError(5, "Input/output error")
            return data

    reader = LiveReader(Broken([b"one two "]))  # type: ignore[arg-type]
    assert texts([reader.get(timeout=5), reader.get(timeout=5)]) == ["one", "two"]  # type: ignore[list-item]
    for _ in range(2):
        with pytest.raises(SimulmtError, match="Input/output error"):
            reader.get(timeout=5)
    folder = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(SimulmtError, match="descriptor"):
        LiveReader(folder).get(timeout=5)
    os.close(folder)


def test_open_source(tmp_path: Path) -> None:
    file = tmp_path / "talk.txt"
    file.write_bytes(b"good morning")
    source = open_source(str(file))
    assert texts(read_all(LiveReader(source))) == ["good", "morning"]
    source.close()  # type: ignore[union-attr]
    assert open_source("-") == 0
    for bad in (tmp_path, tmp_path / "none.txt", "a\0b"):
        with pytest.raises(SimulmtError, match="cannot read"):
            open_source(str(bad))


@pytest.mark.parametrize(
    "options", [{"idle": 0.0}, {"idle": -1.0}, {"pace": 0.0}, {"capacity": 0}, {"pace": float("nan")}]
)
def test_bad_options(options: dict[str, float]) -> None:
    with pytest.raises(UsageError, match=next(iter(options))):
        LiveReader(io.BytesIO(b""), **options)  # type: ignore[arg-type]


def test_the_thread_does_not_keep_the_process_alive() -> None:
    code = "import sys; from simulmt.text.reader import LiveReader; LiveReader(sys.stdin.buffer); print('out')"
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.wait(timeout=20) == 0  # with its standard input still open
    assert process.communicate() == (b"out\n", b"")


def test_importing_text_does_not_import_torch() -> None:
    code = "import sys, simulmt.text; assert not {'torch', 'transformers', 'sentencepiece'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=20)
