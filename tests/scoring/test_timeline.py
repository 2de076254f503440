"""Timelines on the clock: what counts as lag, and that computation never lowers it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulmt.instance import Instance
from simulmt.scoring import ScoreOptions, score_instances
from simulmt.scoring.latency import (
    average_lagging,
    average_proportion,
    average_token_delay,
    differentiable_average_lagging,
    length_adaptive_average_lagging,
    yet_another_average_lagging,
)
from simulmt.scoring.timeline import Unavailable, computation_timeline, elapsed_timeline, ideal_timeline

CLOCKED = ("AL", "LAAL", "AP", "DAL", "YAAL", "ATD")


def instance(delays: list[float], elapsed: list[float], arrivals: list[float] | None, **keys: float) -> Instance:
    words = " ".join(f"w{i}" for i in range(len(delays)))
    length = keys.get("source_length", len(arrivals or ()))
    return Instance(0, words, delays, elapsed, length, reference=words, arrivals=arrivals, offset=0.0)


def test_ideal_times_are_arrivals_of_the_last_unit_read() -> None:
    timeline = ideal_timeline(instance([1, 2, 4, 4], [5, 405, 1300, 1310], [0.0, 400.0, 900.0, 1200.0]), 4)
    assert list(timeline.times) == [0.0, 400.0, 1200.0, 1200.0]
    assert timeline.source_length == 1200.0
    assert average_lagging(timeline) == pytest.approx((0 + (400 - 300) + (1200 - 600)) / 3)


def test_computation_times_are_elapsed() -> None:
    timeline = computation_timeline(instance([1, 2, 4, 4], [5, 405, 1300, 1310], [0.0, 400.0, 900.0, 1200.0]), 4)
    assert average_lagging(timeline) == pytest.approx((5 + (405 - 300) + (1300 - 600)) / 3)
    assert average_token_delay(timeline) == pytest.approx((5 + 5 + 400 + 110) / 4)


def test_all_units_at_once_has_no_proportion_but_a_lag() -> None:
    timeline = computation_timeline(instance([3, 3], [40.0, 60.0], [0.0, 0.0, 0.0]), 2)
    assert average_lagging(timeline) == 40.0
    assert length_adaptive_average_lagging(timeline) == 40.0
    assert differentiable_average_lagging(timeline) == 50.0
    with pytest.raises(Unavailable, match="all at once"):
        average_proportion(timeline)
    with pytest.raises(Unavailable, match="before the source ended"):
        yet_another_average_lagging(timeline)


@pytest.mark.parametrize(
    ("arrivals", "elapsed", "reason"),
    [
        (None, [1.0, 2.0], "no arrival times"),
        ([0.0], [1.0, 2.0], "1 arrival times are logged for 2 source units"),
        ([0.0, 5.0], [1.0], "1 elapsed times are logged for 2 target units"),
    ],
)
def test_times_that_do_not_fit_give_a_reason(arrivals: list[float] | None, elapsed: list[float], reason: str) -> None:
    with pytest.raises(Unavailable, match=reason):
        computation_timeline(instance([1, 2], elapsed, arrivals, source_length=2), 2)


def test_elapsed_of_zero_is_no_time() -> None:
    with pytest.raises(Unavailable, match="elapsed is 0"):
        elapsed_timeline(instance([1, 2], [0, 0], None, source_length=2), 2)


@st.composite
def clocked_logs(draw: st.DrawFn) -> Instance:
    gaps = draw(st.lists(st.floats(0, 900), min_size=1, max_size=12))
    arrivals = [sum(gaps[1 : i + 1]) for i in range(len(gaps))]
    delays = sorted(draw(st.lists(st.integers(1, len(gaps)), min_size=1, max_size=15)))
    elapsed: list[float] = []
    for delay in delays:  # each unit takes some time, after the last was done and its source was there
        start = max(arrivals[delay - 1], elapsed[-1] if elapsed else 0.0)
        elapsed.append(start + draw(st.floats(0, 700)))
    made = instance([float(delay) for delay in delays], elapsed, arrivals)
    made.reference = " ".join(["r"] * draw(st.integers(1, 15)))
    return made


@given(logs=st.lists(clocked_logs(), min_size=1, max_size=4))
def test_computation_never_lowers_a_latency(logs: list[Instance]) -> None:
    report = score_instances(logs, options=ScoreOptions(metrics=CLOCKED))
    for name in CLOCKED:
        ideal, computed = report.scores[f"{name}_ms"], report.scores[f"{name}_ms_CA"]
        assert ideal.without_value == computed.without_value
        if ideal.value is not None and computed.value is not None:
            assert computed.value >= ideal.value - 1e-6
