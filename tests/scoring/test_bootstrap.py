"""Paired tests: as sacrebleu's for quality, the same procedure for latency."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from simulmt.errors import SimulmtError
from simulmt.instance import Instance
from simulmt.scoring import Report, ScoreOptions, paired_bootstrap, score_instances
from simulmt.scoring.scorer import assume_wait_k

REFERENCES = [f"satz {i} hat ein paar worte und endet hier mit {i % 7}" for i in range(40)]


def system(seed: int, drop: float, k: int = 3) -> Report:
    chance = random.Random(seed)
    hypotheses = [" ".join(w for w in text.split() if chance.random() > drop) for text in REFERENCES]
    instances = assume_wait_k(hypotheses, REFERENCES, k, "word")
    return score_instances(instances, [REFERENCES], ScoreOptions(metrics=("BLEU", "chrF2", "AL", "AP")), f"s{seed}")


def test_quality_is_compared_as_by_the_sacrebleu_command(tmp_path: Path) -> None:
    reports = [system(1, 0.1), system(2, 0.3)]
    for name, lines in (("ref", REFERENCES), ("a", reports[0].hypotheses), ("b", reports[1].hypotheses)):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "sacrebleu", "ref", "-i", "a", "b", "-m", "bleu", "chrf", "--paired-bs", "-w", "8"]
    command += ["--paired-bs-n", "100", "-f", "text", "-q", "-nc"]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    scores = re.findall(r"(\d+\.\d{8}) \(", next(line for line in printed.splitlines() if "b" in line.split()))
    p_values = re.findall(r"p = (\d\.\d{4})", printed)
    compared = paired_bootstrap(reports[0], reports[1], samples=100)
    for name, score, p_value in zip(("BLEU", "chrF2"), scores, p_values, strict=True):
        assert f"{compared[name].system:.8f}" == score
        assert f"{compared[name].p_value:.4f}" == p_value


def test_a_clear_difference_in_latency_is_significant() -> None:
    compared = paired_bootstrap(system(1, 0.1, k=2), system(1, 0.1, k=5), samples=200)
    assert compared["AL"].difference == pytest.approx(3.0, abs=0.5)
    assert compared["AL"].p_value == pytest.approx(1 / 201)
    assert compared["BLEU"].difference == 0.0


def test_a_system_against_itself_has_no_difference() -> None:
    compared = paired_bootstrap(system(1, 0.1), system(1, 0.1), samples=50)
    assert compared["AL"].difference == 0.0
    assert compared["AL"].p_value == pytest.approx(1 / 51)  # sacrebleu's rule: equal differences do not count


def test_segments_without_a_value_in_either_are_left_out() -> None:
    first = score_instances([Instance(i, "a b", [1, 2], [], 2, None, "a b") for i in range(3)])
    second = score_instances(
        [Instance(0, "", [], [], 2, None, "a b"), *(Instance(i, "a b", [2, 2], [], 2, None, "a b") for i in (1, 2))]
    )
    compared = paired_bootstrap(first, second, samples=20)
    assert (compared["AL"].segments, compared["BLEU"].segments) == (2, 3)
    assert compared["AL"].difference == 1.0


def test_other_segments_cannot_be_paired() -> None:
    shorter = score_instances([Instance(0, "a", [1], [], 1, None, "a")])
    with pytest.raises(SimulmtError, match="s1 has 40 segments, hypothesis has 1"):
        paired_bootstrap(system(1, 0.1), shorter)


def test_other_references_cannot_be_paired() -> None:
    first, second = (score_instances([Instance(0, "a", [1], [], 1, None, text)]) for text in ("a", "b"))
    with pytest.raises(SimulmtError, match="not scored against the same references"):
        paired_bootstrap(first, second)
