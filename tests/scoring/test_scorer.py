"""Reports: what is counted, what is said, and that nothing is dropped in silence."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulmt.errors import SimulmtError
from simulmt.instance import Instance
from simulmt.scoring import Report, ScoreOptions, score_instances
from simulmt.scoring.scorer import assume_wait_k

NAMES = ("AL", "LAAL", "AP", "DAL", "YAAL", "ATD", "SWF", "EFSW", "DSPTV", "length_ratio", "NE")
GOLDEN = Path(__file__).parent.parent / "data" / "golden_latency.jsonl"


def instance(index: int, hypothesis: str, delays: list[float], source_length: float, reference: str | None) -> Instance:
    return Instance(index, hypothesis, delays, [0.0] * len(delays), source_length, "quelle", reference)


def words(count: int) -> str:
    return " ".join(f"w{i}" for i in range(count))


def golden_instances() -> tuple[dict[str, float], list[Instance]]:
    head, *records = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]
    return head["corpus"], [
        instance(
            record["index"],
            words(len(record["delays"])),
            record["delays"],
            record["source_length"],
            words(record["reference_length"]),
        )
        for record in records
    ]


def test_corpus_means_of_the_golden_file() -> None:
    expected, instances = golden_instances()
    report = score_instances(instances)
    for name, value in expected.items():
        assert report.value(name) == pytest.approx(value, abs=1e-9), name
    assert report.scores["YAAL"].without_value == 73


def test_wait_3_on_ten_words_through_a_report() -> None:
    delays = [3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 10.0, 10.0]
    report = score_instances([instance(0, words(10), delays, 10, words(10))])
    values = [report.value(name) for name in ("AL", "LAAL", "AP", "DAL", "YAAL", "ATD")]
    assert values == pytest.approx([3.0, 3.0, 0.72, 3.0, 3.0, 3.0], abs=1e-12)
    assert report.value("NE") == 0.0
    assert report.value("length_ratio") == 1.0


def test_wait_3_assumed_for_plain_text_is_the_same() -> None:
    instances = assume_wait_k([words(10)], [words(10)], 3, "word")
    report = score_instances(instances, [[words(10)]], ScoreOptions(assumed="wait-k(k=3)"))
    values = [report.value(name) for name in ("AL", "LAAL", "AP", "DAL", "YAAL")]
    assert values == pytest.approx([3.0, 3.0, 0.72, 3.0, 3.0], abs=1e-12)
    assert report.to_dict()["assumed"] == "wait-k(k=3)"
    assert any("assumed" in note for note in report.notes)
    assert report.value("NE") is None


def test_empty_hypotheses_are_counted_and_shown() -> None:
    full = instance(0, "ein Haus", [1, 2], 2, "ein Haus")
    report = score_instances([full, instance(1, "", [], 2, "kein Haus")])
    assert report.counts["empty_hypotheses"] == 1
    assert report.value("AL") == 1.0
    assert report.scores["AL"].per_segment == [1.0, None]
    assert report.to_dict()["counts"]["without_value"]["AL"] == 1
    assert any("1 of 2 hypotheses are empty" in note for note in report.notes)
    alone = score_instances([full]).value("chrF2")
    assert alone == pytest.approx(100.0)
    assert float(report.value("chrF2") or 0) < 90


def test_only_empty_hypotheses_give_reasons_not_errors() -> None:
    report = score_instances([instance(i, "", [], 2, "ein Haus") for i in range(2)])
    assert report.value("BLEU") == 0.0
    for name in ("AL", "LAAL", "AP", "DAL", "YAAL", "ATD", "SWF", "EFSW", "DSPTV"):
        assert report.value(name) is None
        assert report.to_dict()["unavailable"][name] == "nothing was written"


def test_empty_reference_has_a_documented_result() -> None:
    case = instance(0, "a b", [1, 2], 2, "")
    report = score_instances([case])
    assert report.value("AL") is None
    assert report.scores["AL"].reason == "the reference is empty"
    assert report.value("LAAL") == 1.0
    assert report.counts["empty_references"] == 1
    compatible = score_instances([case], options=ScoreOptions(simuleval_compatible=True))
    assert compatible.value("AL") == 0.5
    assert compatible.value("AP") == 1.5


@pytest.mark.parametrize(
    ("reference", "unit", "expected", "compatible"),
    [("a  b c", "word", 3, 4), ("a b c ", "word", 3, 4), ("ab c", "char", 3, 4), (" ab c ", "char", 3, 4)],
)
def test_reference_length_proper_and_as_simuleval(reference: str, unit: str, expected: int, compatible: int) -> None:
    case = Instance(0, "abc" if unit == "char" else "a b c", [1, 2, 3], [], 4, None, reference)
    for flag, length in ((False, expected), (True, compatible)):
        report = score_instances([case], options=ScoreOptions(unit=unit, simuleval_compatible=flag))  # type: ignore[arg-type]
        assert report.value("AP") == pytest.approx(6 / (4 * length))


def test_no_references_leave_quality_out_and_say_so() -> None:
    report = score_instances([instance(0, "a b", [1, 2], 2, None)])
    assert report.scores["BLEU"].reason == "there are no references"
    assert report.value("AL") == 1.0
    assert any("hypothesis length stands in" in note for note in report.notes)


def test_no_delays_leave_latency_out_and_say_why() -> None:
    report = score_instances([Instance(0, "a", [], [], 0)], [["a"]], ScoreOptions(no_delays="plain text"))
    assert report.to_dict()["unavailable"]["AL"] == "plain text"
    assert report.value("chrF2") == 100.0


def test_odd_logs_are_noted() -> None:
    odd = [instance(0, "a b c", [1, 2], 2, "a"), instance(1, "a b", [3, 1], 2, "a")]
    notes = " / ".join(score_instances(odd).notes)
    assert "1 of 2 segments have another number of delays" in notes
    assert "1 of 2 segments have delays above" in notes
    assert "1 of 2 segments have delays that fall" in notes


def test_elapsed_of_zero_gives_no_computation_aware_column() -> None:
    assert "AL_CA" not in score_instances([instance(0, "a b", [1, 2], 2, "a b")]).scores


def test_elapsed_without_arrivals_is_scored_as_simuleval_does() -> None:
    case = Instance(0, "a b", [1000.0, 2000.0], [1100.0, 2300.0], 2000.0, None, "a b")
    report = score_instances([case], options=ScoreOptions(speech=True))
    assert report.value("AL") == pytest.approx((1000 + 1000) / 2)
    assert report.value("AL_CA") == pytest.approx((1100 + 1300) / 2)
    assert report.value("ATD_CA") is None


def test_both_clocks_stand_side_by_side() -> None:
    case = Instance(0, "a b", [1, 2], [30.0, 540.0], 2, "x y", "a b", arrivals=[0.0, 500.0], offset=0.0)
    report = score_instances([case])
    assert report.value("AL") == 1.0
    assert report.value("AL_ms") == pytest.approx((0 + 500 - 250) / 2)
    assert report.value("AL_ms_CA") == pytest.approx((30 + 540 - 250) / 2)


def test_other_counts_of_references_are_an_error() -> None:
    with pytest.raises(SimulmtError, match="1 hypotheses but 2 references"):
        score_instances([instance(0, "a", [1], 1, None)], [["a", "b"]])


def test_characters_are_units_of_chinese() -> None:
    report = score_instances(
        [Instance(0, "我们 走", [1, 2, 3], [], 3, None, "我们走")], options=ScoreOptions(language="zh")
    )
    assert report.unit == "char"
    assert report.value("AL") == 1.0
    assert "tok:zh" in str(report.scores["BLEU"].signature)
    assert not any("another number of delays" in note for note in report.notes)


def test_confidence_interval_of_a_mean() -> None:
    cases = [instance(i, "a b", [1 + i % 2, 2], 2, "a b") for i in range(40)]
    score = score_instances(cases, options=ScoreOptions(metrics=("AL",), bootstrap=200)).scores["AL"]
    assert score.value == 1.5
    assert score.mean == pytest.approx(1.5, abs=0.05)
    assert 0.05 < float(score.half_width or 0) < 0.3


delays_of_any_kind = st.lists(st.integers(0, 8), max_size=8)


@given(
    cases=st.lists(
        st.tuples(delays_of_any_kind, st.integers(0, 6), st.one_of(st.none(), st.text("ab ", max_size=8))), max_size=4
    ),
    unit=st.sampled_from(["word", "char"]),
    compatible=st.booleans(),
)
def test_any_log_gives_json_without_nan(
    cases: list[tuple[list[float], int, str | None]], unit: str, compatible: bool
) -> None:
    instances = [instance(i, words(len(d)), d, length, ref) for i, (d, length, ref) in enumerate(cases)]
    options = ScoreOptions(unit=unit, simuleval_compatible=compatible, metrics=NAMES)  # type: ignore[arg-type]
    record = json.loads(score_instances(instances, options=options).to_json(), parse_constant=pytest.fail)
    for name in NAMES:
        value = record[name]
        assert (value is None) == (name in record["unavailable"])
        assert value is None or math.isfinite(value)


def test_report_of_nothing_is_still_a_report() -> None:
    report = score_instances([])
    assert isinstance(report, Report)
    assert report.scores["BLEU"].reason == "there are no segments"
    assert report.scores["AL"].reason == "there are no segments"
