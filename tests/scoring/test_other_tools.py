"""OmniSTEval, where it is installed, reads our logs and finds the same numbers."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from simulmt.scoring import score_instances
from simulmt.scoring.scorer import assume_wait_k

SOURCES = ["one two three four five six", "a short one", "seven words are in this source sentence"]
TARGETS = ["eins zwei drei vier fünf", "ein kurzer Satz hier", "sieben Wörter stehen in diesem Satz"]
REFERENCES = ["eins zwei drei vier fünf sechs", "ein kurzer", "sieben Wörter hat dieser Satz der Quelle"]


def test_omnisteval_agrees_on_our_log(tmp_path: Path) -> None:
    pytest.importorskip("omnisteval")
    instances = assume_wait_k(TARGETS, SOURCES, 2)
    for instance, reference in zip(instances, REFERENCES, strict=True):
        instance.reference = reference
        instance.elapsed = [40.0 * (i + 1) for i in range(len(instance.delays))]
        instance.arrivals, instance.offset = [10.0 * i for i in range(int(instance.source_length))], 0.0
    (tmp_path / "log").write_text("".join(instance.to_json() + "\n" for instance in instances), encoding="utf-8")
    (tmp_path / "ref").write_text("\n".join(REFERENCES) + "\n", encoding="utf-8")
    command = [sys.executable, "-c", "from omnisteval.cli import main; main()", "shortform", "--word_level"]
    command += ["--hypothesis_file", "log", "--ref_sentences_file", "ref"]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    report = score_instances(instances)
    ours = {f"{name} (CU)": report.value(name) for name in ("AL", "LAAL", "AP", "DAL", "YAAL")}
    ours |= {"BLEU": report.value("BLEU"), "Degeneracy Test Value": report.value("DSPTV")}
    for label, value in ours.items():
        found = re.search(rf"^\s+{re.escape(label)}\s+(-?\d+\.\d{{4}})", printed, re.MULTILINE)
        assert found is not None, label
        assert float(found[1]) == pytest.approx(value, abs=6e-5), label
