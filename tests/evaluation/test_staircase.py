"""The READ/WRITE staircase."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulmt.errors import SimulmtError
from simulmt.evaluation.staircase import actions, draw_staircase, find, staircase, units_of
from simulmt.instance import Instance

INSTANCE = Instance(4, "Die Katze schläft", [2, 3, 3], [0.0] * 3, 3, "The cat sleeps")


def test_actions() -> None:
    assert actions([2, 3, 3], 3) == "RRWRWW"
    assert actions([1], 3) == "RWRR"
    assert actions([], 2) == "RR"


@given(st.lists(st.integers(0, 9)), st.integers(0, 9))
def test_actions_read_up_to_each_delay(increments: list[int], more: int) -> None:
    delays = [sum(increments[: number + 1]) for number in range(len(increments))]
    length = (delays[-1] if delays else 0) + more
    letters = actions(delays, length)
    assert letters.count("R") == length
    read_at_write = [letters[:place].count("R") for place, letter in enumerate(letters) if letter == "W"]
    assert read_at_write == delays


def test_the_staircase_shows_what_was_read_for_each_word() -> None:
    lines = staircase(INSTANCE, *units_of(INSTANCE)).splitlines()
    assert lines[0] == "sentence 4: 3 source units, 3 target units"
    assert lines[1] == "actions  RRWRWW"
    assert [line.split()[1:] for line in lines[4:7]] == [["The"], ["cat"], ["sleeps"]]
    assert [line.split() for line in lines[-3:]] == [
        ["2", "Die", "██·"],
        ["3", "Katze", "░░█"],
        ["3", "schläft", "░░░"],
    ]


def test_units_are_those_that_the_log_counts() -> None:
    chinese = Instance(0, "猫在睡觉", [1, 2, 2, 2], [], 2, "cat sleeps")
    assert units_of(chinese) == (["cat", "sleeps"], ["猫", "在", "睡", "觉"])
    with pytest.raises(SimulmtError, match="1 as word"):
        units_of(chinese, "word")


def test_one_sentence_of_a_log(tmp_path: Path) -> None:
    log = tmp_path / "instances.log"
    log.write_text(INSTANCE.to_json() + "\n", encoding="utf-8")
    assert find(log, 4) == find(log, None) == INSTANCE
    with pytest.raises(SimulmtError, match="has no sentence 5"):
        find(log, 5)


def test_speech_has_no_words_to_show() -> None:
    with pytest.raises(SimulmtError, match="no source text"):
        units_of(Instance(0, "a", [1], [], 1))


def test_the_drawing(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    draw_staircase(INSTANCE, *units_of(INSTANCE), tmp_path / "s.svg")
    assert (tmp_path / "s.svg").stat().st_size > 1000
    with pytest.raises(SimulmtError, match="cannot be written"):
        draw_staircase(INSTANCE, *units_of(INSTANCE), tmp_path / "s.nonsense")
