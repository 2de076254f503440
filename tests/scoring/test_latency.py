"""The latency formulas against values of SimulEval 1.1.4 and OmniSTEval 0.1.10, and at the edges."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulmt.policy import WaitK
from simulmt.policy.base import scheduled_reads
from simulmt.scoring.latency import (
    average_lagging,
    average_proportion,
    average_token_delay,
    differentiable_average_lagging,
    length_adaptive_average_lagging,
    speech_average_token_delay,
    yet_another_average_lagging,
)
from simulmt.scoring.timeline import Timeline, Unavailable, unit_timeline

FORMULAS = {
    "AL": average_lagging,
    "LAAL": length_adaptive_average_lagging,
    "AP": average_proportion,
    "DAL": differentiable_average_lagging,
    "YAAL": yet_another_average_lagging,
}
GOLDEN = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "data" / "golden_latency.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]

# Delays and ATD by SimulEval 1.1.4's ATDScorer, given text instances and (second table) log instances, i.e. speech.
TEXT_ATD = [
    ([3, 4, 5, 6, 7, 8, 9, 10, 10, 10], 3.0),
    ([2, 2], 2.0),
    ([3, 4, 5, 5, 5, 5, 5, 5, 5], 4.111111111111111),
    ([1, 1, 1, 4, 4, 4, 5], 2.5714285714285716),
    ([5, 5, 5, 5, 5], 5.0),
    ([2, 4, 6, 8], 3.5),
    ([0, 0, 1, 2], 1.75),
    ([1, 3, 3, 3, 3, 7], 2.6666666666666665),
    ([1, 1, 2, 3, 4, 5, 6, 6, 8, 9], 2.1),
    ([3, 4, 4, 4, 7, 9], 3.1666666666666665),
]
SPEECH_ATD = [
    ([1000.0, 1000.0, 2100.0, 2950.0], 1062.5),
    ([320.0, 640.0, 640.0, 1280.0], 250.0),
    ([250.0], 0.0),
    ([900.0, 900.0, 900.0, 900.0, 2000.5], 340.1),
]


def value(name: str, timeline: Timeline) -> float | None:
    try:
        return FORMULAS[name](timeline)
    except Unavailable:
        return None


def test_golden_file_has_what_its_note_says() -> None:
    assert len(GOLDEN) == 301
    assert {record["policy"] for record in GOLDEN[1:]} >= {"full", "waitk"}


@pytest.mark.parametrize("name", FORMULAS)
def test_every_golden_instance(name: str) -> None:
    for record in GOLDEN[1:]:
        timeline = unit_timeline(record["delays"], record["source_length"], record["reference_length"])
        assert value(name, timeline) == pytest.approx(record["expected"][name], abs=1e-9), record["index"]


@pytest.mark.parametrize(("delays", "expected"), TEXT_ATD)
def test_atd_of_text(delays: list[float], expected: float) -> None:
    assert average_token_delay(unit_timeline(delays, 10, 10)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("delays", "expected"), SPEECH_ATD)
def test_atd_of_speech(delays: list[float], expected: float) -> None:
    assert speech_average_token_delay(unit_timeline(delays, 3000, 4)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("delays", "source", "reference", "expected"),
    [
        pytest.param(
            [3, 4, 5, 6, 7, 8, 9, 10, 10, 10], 10, 10, (3.0, 3.0, 0.72, 3.0, 3.0), id="wait-3 on 10 to 10 words"
        ),
        pytest.param([2, 2], 2, 2, (2.0, 2.0, 1.0, 2.0, None), id="k at least S"),
        pytest.param([3, 4] + [5] * 7, 5, 5, (3.0, 31 / 9, 1.68, 101 / 27, 29 / 9), id="over-long output"),
        pytest.param([5, 5], 2, 2, (5.0, 5.0, 2.5, 5.0, None), id="delay above S"),
        pytest.param([1, 2], 2, 0, (None, 1.0, None, 1.0, 1.0), id="empty reference"),
        pytest.param([1, 2], 2, 1, (0.5, 1.0, 1.5, 1.0, 1.0), id="empty reference as SimulEval counts it"),
        pytest.param([1, 2], 4, None, (0.5, 0.5, 0.375, 1.0, 0.5), id="no reference: hypothesis length"),
    ],
)
def test_edge_cases(
    delays: list[float], source: float, reference: int | None, expected: tuple[float | None, ...]
) -> None:
    timeline = unit_timeline(delays, source, reference)
    for name, number in zip(FORMULAS, expected, strict=True):
        assert value(name, timeline) == pytest.approx(number, abs=1e-9), name


@pytest.mark.parametrize(
    ("delays", "source", "reason"), [([], 5, "nothing was written"), ([0, 0], 0, "the source is empty")]
)
def test_no_output_or_no_source_has_no_timeline(delays: list[float], source: float, reason: str) -> None:
    with pytest.raises(Unavailable, match=reason):
        unit_timeline(delays, source, 3)


def test_reasons_name_the_cause() -> None:
    with pytest.raises(Unavailable, match="the reference is empty"):
        average_lagging(unit_timeline([1, 2], 2, 0))
    with pytest.raises(Unavailable, match="before the source ended"):
        yet_another_average_lagging(unit_timeline([2, 2], 2, 2))


@given(k=st.integers(1, 12), length=st.integers(1, 30))
def test_wait_k_lags_k_behind_when_lengths_agree(k: int, length: int) -> None:
    timeline = unit_timeline(scheduled_reads(WaitK(k), length, length), length, length)
    for name in ("AL", "LAAL", "DAL"):
        assert value(name, timeline) == pytest.approx(min(k, length))
    assert average_token_delay(timeline) == pytest.approx(min(k, length))


@given(
    delays=st.lists(st.integers(1, 20), min_size=1, max_size=30).map(sorted),
    extra=st.integers(0, 5),
    reference=st.integers(1, 40),
)
def test_relations_between_metrics(delays: list[float], extra: int, reference: int) -> None:
    timeline = unit_timeline(delays, delays[-1] + extra, reference)
    assert length_adaptive_average_lagging(timeline) >= average_lagging(timeline) - 1e-9
    assert differentiable_average_lagging(timeline) >= delays[0] - 1e-9
    assert average_proportion(timeline) <= len(delays) / reference + 1e-9


@given(delays=st.lists(st.integers(1, 9), min_size=2, max_size=20).map(sorted), where=st.integers(0, 18))
def test_waiting_longer_for_a_unit_never_lowers_ap_or_dal(delays: list[int], where: int) -> None:
    position = min(where, len(delays) - 1)
    later = [max(delay, delays[position] + 1) if i >= position else delay for i, delay in enumerate(delays)]
    before, after = unit_timeline(delays, 10, 10), unit_timeline(later, 10, 10)
    assert average_proportion(after) > average_proportion(before)
    assert differentiable_average_lagging(after) > differentiable_average_lagging(before) - 1e-9
