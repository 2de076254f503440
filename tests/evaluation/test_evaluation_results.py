"""Results over all settings."""

import json

import pytest

from simulmt.errors import UsageError
from simulmt.evaluation.results import as_json, compare, printed, table
from simulmt.instance import Instance
from simulmt.scoring.report import Report
from simulmt.scoring.scorer import score_instances

REFERENCES = ["der Hund läuft schnell nach Haus", "die Katze liegt auf dem Ofen", "wir lesen heute ein altes Buch"]


def report(system: str, hypotheses: list[str], k: int) -> Report:
    instances = []
    for index, (text, reference) in enumerate(zip(hypotheses, REFERENCES, strict=True)):
        delays = [float(min(k + place, 6)) for place in range(len(text.split()))]
        instances.append(Instance(index, text, delays, [0.0] * len(delays), 6, "a b c d e f", reference))
    return score_instances(instances, system=system)


REPORTS = [report("k2", ["der Hund"] * 3, 2), report("full", REFERENCES, 6)]


def test_one_row_a_setting() -> None:
    lines = table(REPORTS).splitlines()
    assert lines[0].split()[:5] == ["setting", "BLEU", "chrF2", "AL", "LAAL"]
    assert lines[1].split()[0] == "k2"
    assert lines[2].split()[:2] == ["full", "100.00"]
    assert any(line.startswith("BLEU  nrefs:1|case:mixed") for line in lines)


def test_paired_bootstrap_against_one_setting() -> None:
    comparisons = compare(REPORTS, "full", samples=50)
    assert set(comparisons) == {"k2"}
    item = comparisons["k2"]["BLEU"]
    assert item.baseline == pytest.approx(100.0)
    assert item.difference < -50
    assert "Δ BLEU" in table(REPORTS, comparisons)
    record = json.loads(as_json(REPORTS, comparisons))
    assert record["compared"]["k2"]["BLEU"]["p_value"] == item.p_value
    with pytest.raises(UsageError, match="choose one of: k2, full"):
        compare(REPORTS, "k9")


def test_json_and_tsv_hold_every_setting() -> None:
    assert list(json.loads(printed(REPORTS, None, "json"))["settings"]) == ["k2", "full"]
    rows = printed(REPORTS, None, "tsv").splitlines()
    assert [row.split("\t")[0] for row in rows] == ["system", "k2", "full"]
