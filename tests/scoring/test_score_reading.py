"""Reading hypotheses: plain text or log, whole or cut, and which references belong to them."""

from __future__ import annotations

import json

import pytest

from simulmt.errors import SimulmtError
from simulmt.scoring.reading import match_references, parse_hypotheses, read_bytes, text_lines


def log_line(index: int, prediction: str = "ein Haus", **keys: object) -> str:
    record = {
        "index": index,
        "prediction": prediction,
        "delays": list(range(1, 1 + len(prediction.split()))),
        "elapsed": [0] * len(prediction.split()),
        "prediction_length": len(prediction.split()),
        "reference": "ein Haus\n",
        "source": "a house",
        "source_length": 2,
    }
    return json.dumps(record | keys)


def test_lines_are_cut_as_sacrebleu_cuts_them() -> None:
    assert text_lines(b"a b \r\n\n  c\xc2\xa0\nd\xe2\x80\xa8e\rf", "x") == ["a b", "", "  c", "d\u2028e\rf"]


def test_a_byte_order_mark_is_kept_and_noted() -> None:
    read = parse_hypotheses("\ufeffeins\nzwei\n".encode(), "hyp")
    assert read.lines == ["\ufeffeins", "zwei"]
    assert "byte order mark" in read.notes[0]


def test_bytes_that_are_not_utf8_are_named_by_line() -> None:
    with pytest.raises(SimulmtError, match=r"hyp:2: not UTF-8 \(byte 0xff\)"):
        text_lines(b"gut\n\xff\n", "hyp")


def test_file_that_is_not_there_is_named() -> None:
    with pytest.raises(SimulmtError, match="nowhere cannot be read"):
        read_bytes("nowhere")


@pytest.mark.parametrize("text", ["ein Haus\n", "{eine Klammer}\n", "\n\n", '["a"]\n', ""])
def test_text_is_not_a_log(text: str) -> None:
    assert parse_hypotheses(text.encode(), "hyp").instances is None


def test_log_is_told_by_content_also_after_blank_lines() -> None:
    read = parse_hypotheses(("\n" + log_line(0) + "\n\n" + log_line(1) + "\n").encode(), "hyp")
    assert read.instances is not None
    assert [instance.index for instance in read.instances] == [0, 1]
    assert read.instances[0].reference == "ein Haus"
    assert not read.cut


def test_cut_last_line_is_left_out_and_noted() -> None:
    read = parse_hypotheses((log_line(0) + "\n" + log_line(1)[:40]).encode(), "out.log")
    assert len(read) == 1
    assert read.cut
    assert read.notes == ["out.log:2: the last line is cut and left out"]


def test_whole_last_line_without_line_feed_counts() -> None:
    read = parse_hypotheses((log_line(0) + "\n" + log_line(1)).encode(), "out.log")
    assert (len(read), read.cut) == (2, False)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (log_line(1)[:40], "not a record of a log"),
        (log_line(1, delays="no"), "key 'delays' is 'no'"),
        (log_line(1, delays=[1, float("nan")]), "key 'delays' holds a number that is not finite"),
        (log_line(0), "index 0 was already on line 1"),
    ],
)
def test_bad_line_is_named(line: str, reason: str) -> None:
    with pytest.raises(SimulmtError, match=f"out.log:2: .*{reason}|out.log:2: {reason}"):
        parse_hypotheses((log_line(0) + "\n" + line + "\n" + log_line(2) + "\n").encode(), "out.log")


def test_list_as_source_is_speech() -> None:
    read = parse_hypotheses((log_line(0, source=["a.wav", "samplerate: 16000"]) + "\n").encode(), "out.log")
    assert read.speech


def test_references_of_a_log_that_is_a_slice_go_by_index() -> None:
    read = parse_hypotheses((log_line(7) + "\n" + log_line(8) + "\n").encode(), "out.log")
    assert match_references(read, [[f"r{i}" for i in range(10)]], ["ref"]) == [["r7", "r8"]]
    assert read.notes == ["2 of 10 lines of ref are scored, those the log's indices name"]
    assert match_references(read, [["x", "y"]], ["ref"]) == [["x", "y"]]


def test_references_of_a_cut_log_go_by_index() -> None:
    read = parse_hypotheses((log_line(0) + "\n" + log_line(1)[:30]).encode(), "out.log")
    assert match_references(read, [["r0", "r1"]], ["ref"]) == [["r0"]]


@pytest.mark.parametrize("data", [b"eins\nzwei\n", (log_line(0) + "\n" + log_line(1) + "\n").encode()])
def test_other_counts_are_an_error_with_both(data: bytes) -> None:
    with pytest.raises(SimulmtError, match=r"hyp has 2 (lines|segments) but ref has 3 lines"):
        match_references(parse_hypotheses(data, "hyp"), [["a", "b", "c"]], ["ref"])


def test_log_that_was_finished_out_of_order_is_sorted() -> None:
    read = parse_hypotheses((log_line(2) + "\n" + log_line(0) + "\n" + log_line(1) + "\n").encode(), "out.log")
    assert [instance.index for instance in read.instances or ()] == [0, 1, 2]
