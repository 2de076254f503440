"""Policies: the schedule of wait-k, catch-up, whole segments, and policies of other packages."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.metadata import EntryPoint

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulmt.errors import SimulmtError, UsageError
from simulmt.policy import Action, Full, View, WaitK, available, create
from simulmt.policy.base import scheduled_reads


def test_wait_3_on_ten_words() -> None:
    assert scheduled_reads(WaitK(3), 10, 10) == [3, 4, 5, 6, 7, 8, 9, 10, 10, 10]


def test_catch_up_writes_two_words_now_and_then() -> None:
    assert scheduled_reads(WaitK(3, 0.5), 10, 8) == [3, 3, 4, 4, 5, 5, 6, 6]


@pytest.mark.parametrize(("catchup", "i", "whole"), [(0.58, 50, 29), (0.29, 100, 29), (0.7, 90, 63), (0.1, 30, 3)])
def test_catch_up_is_reckoned_in_decimals(catchup: float, i: int, whole: int) -> None:
    assert WaitK(100, catchup).required(i) == 100 + i - 1 - whole


def test_full_reads_everything_first() -> None:
    assert scheduled_reads(Full(), 4, 3) == [4, 4, 4]


@given(k=st.integers(1, 12), catchup=st.floats(0, 0.99), length=st.integers(1, 30), written=st.integers(1, 30))
def test_schedule_is_the_formula(k: int, catchup: float, length: int, written: int) -> None:
    expected, highest = [], 0
    for i in range(1, written + 1):
        highest = max(highest, min(max(1, k + i - 1 - math.floor(catchup * i)), length))
        expected.append(highest)
    assert scheduled_reads(WaitK(k, catchup), length, written) == expected


@pytest.mark.parametrize("options", [{"k": 0}, {"k": -1}, {"catchup": 1.0}, {"catchup": -0.1}, {"catchup": math.nan}])
def test_out_of_range_is_usage(options: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        create("wait-k", **options)


def test_names() -> None:
    assert WaitK(3).name == "wait-k(k=3)"
    assert WaitK(3, 0.25).name == "wait-k(k=3,catchup=0.25)"
    assert {"wait-k", "full"} <= set(available())


def test_unknown_policy_names_the_known() -> None:
    with pytest.raises(UsageError, match="wait-k"):
        create("telepathy")
    with pytest.raises(UsageError, match="options"):
        create("full", k=3)


@dataclass(frozen=True)
class Alternate:
    """A policy of another package: two reads, then write."""

    name: str = "alternate"

    def action(self, view: View) -> Action:
        return Action.WRITE if view.ended or view.read >= 2 * (view.written + 1) else Action.READ


def test_a_registered_policy_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("alternate", f"{__name__}:Alternate", "simulmt.policies")
    broken = EntryPoint("broken", "no.such.module:Policy", "simulmt.policies")
    monkeypatch.setattr("simulmt.policy.registry._plugins", lambda: {"alternate": point, "broken": broken})
    assert scheduled_reads(create("alternate"), 5, 3) == [2, 4, 5]
    with pytest.raises(SimulmtError, match="cannot be loaded"):
        create("broken")
