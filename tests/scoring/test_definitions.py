"""Every number shown can be explained."""

from __future__ import annotations

import pytest

from simulmt.errors import UsageError
from simulmt.instance import Instance
from simulmt.scoring import ScoreOptions, score_instances
from simulmt.scoring.definitions import LATENCY_NAMES, OTHER_NAMES, QUALITY_NAMES, STREAM_NAMES, definition

ALL = (*QUALITY_NAMES, *LATENCY_NAMES, *STREAM_NAMES, *OTHER_NAMES)


@pytest.mark.parametrize("name", ALL)
def test_explanation_has_formula_unit_source_and_edges(name: str) -> None:
    text = definition(name).explain()
    assert text.startswith(f"{name}: ")
    for part in ("formula", "unit", "better", "source", "edge"):
        assert f"\n  {part} " in text


@pytest.mark.parametrize("suffix", ["", "_ms", "_ms_CA", "_CA"])
@pytest.mark.parametrize("name", LATENCY_NAMES)
def test_clock_variants_have_their_own(name: str, suffix: str) -> None:
    assert definition(name + suffix).name == name + suffix
    assert definition((name + suffix).lower()).name == name + suffix


def test_units_of_variants() -> None:
    assert definition("AL").unit == "source units"
    assert definition("AL_ms").unit == "ms"
    assert "proportion" in definition("AP_ms_CA").unit
    assert "elapsed" in definition("AL_CA").formula


@pytest.mark.parametrize("name", ["FOO", "BLEU_ms", "NE_CA", "", "_ms"])
def test_unknown_name_lists_the_known(name: str) -> None:
    with pytest.raises(UsageError, match=r"unknown metric .*choose one of: BLEU, chrF2"):
        definition(name)


def test_every_score_of_a_report_is_defined() -> None:
    case = Instance(0, "a b", [1, 2], [30.0, 540.0], 2, "x y", "a b", arrivals=[0.0, 500.0], offset=0.0)
    record = score_instances([case], options=ScoreOptions(metrics=ALL)).to_dict()
    for name in (*QUALITY_NAMES, *LATENCY_NAMES, "AL_ms", "ATD_ms_CA", *OTHER_NAMES):
        assert name in record
        assert record["definitions"][name]
