"""Quality scores: equal to the sacrebleu command, right tokenizers, clear words when something is missing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from simulmt.errors import SimulmtError, UsageError
from simulmt.scoring.parallel import in_parts
from simulmt.scoring.quality import (
    QualityScore,
    check_tokenizer,
    comet,
    corpus_quality,
    default_tokenizer,
    sacrebleu_metric,
)
from simulmt.scoring.reading import text_lines
from simulmt.scoring.timeline import Unavailable

HYPOTHESIS = (
    "Die Katze schläft auf der Matte.\r\n"
    "\n"
    "Ein  Haus  mit zwei Leerzeichen steht dort .  \n"
    "Er ging gestern in die Stadt und kaufte Brot\t\n"
    "\u00a0Ein geschütztes Leerzeichen\u2028und ein Zeilentrenner\u00a0\n"
    "Der letzte Satz hat kein Zeilenende"
)
REFERENCE = (
    "Die Katze schläft auf einer Matte.\n"
    "Diese Zeile fehlt im Text.\n"
    "Ein Haus  mit zwei Leerzeichen stand dort.\r\n"
    "Gestern ging er in die Stadt, und er kaufte Brot.\n"
    "Ein geschütztes Leerzeichen und ein Zeilentrenner\n"
    "Der letzte Satz hat kein Zeilenende."
)
REFERENCE_2 = "\n".join(["Die Katze liegt auf der Matte.", "", "", "Er kaufte Brot.", "Ein Trenner", "Satz"]) + "\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, text in {"hyp": HYPOTHESIS, "ref": REFERENCE, "ref2": REFERENCE_2}.items():
        (tmp_path / name).write_bytes(text.encode())
    return tmp_path


def lines(folder: Path, name: str) -> list[str]:
    return text_lines((folder / name).read_bytes(), name)


def sacrebleu_command(folder: Path, references: list[str], *options: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "sacrebleu", *references, "-i", "hyp", "-m", "bleu", "chrf", "ter", "-w", "10"]
    done = subprocess.run([*command, *options], cwd=folder, capture_output=True, text=True, check=True)
    printed = json.loads(done.stdout)
    return printed if isinstance(printed, list) else [printed]


@pytest.mark.parametrize("references", [["ref"], ["ref", "ref2"]])
def test_scores_and_signatures_are_those_of_the_sacrebleu_command(files: Path, references: list[str]) -> None:
    expected = sacrebleu_command(files, references)
    streams = [lines(files, name) for name in references]
    for name, theirs in zip(("BLEU", "chrF2", "TER"), expected, strict=True):
        ours = corpus_quality(name, lines(files, "hyp"), streams)
        assert f"{ours.value:.10f}" == f"{theirs['score']:.10f}"
        assert ours.signature == theirs["signature"]


def test_confidence_is_that_of_the_sacrebleu_command(files: Path) -> None:
    expected = sacrebleu_command(files, ["ref"], "--confidence", "--confidence-n", "50")
    ours = corpus_quality("BLEU", lines(files, "hyp"), [lines(files, "ref")], bootstrap=50)
    assert ours.mean == pytest.approx(expected[0]["confidence_mean"], abs=1e-9)
    assert ours.half_width == pytest.approx(expected[0]["confidence_var"], abs=1e-9)


def test_reading_in_parts_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    hypotheses = [f"satz nummer {i} ist {'lang' * (i % 3)}" for i in range(60)]
    references = [[f"satz nummer {i + i % 2} war lang" for i in range(60)]]
    whole = [corpus_quality(name, hypotheses, references) for name in ("BLEU", "chrF2", "TER")]
    monkeypatch.setattr("simulmt.scoring.parallel.WORTH_IT_FROM", 20)
    monkeypatch.setattr("simulmt.scoring.parallel._cores", lambda: 3)
    assert [corpus_quality(name, hypotheses, references) for name in ("BLEU", "chrF2", "TER")] == whole


def test_parts_are_really_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simulmt.scoring.parallel.WORTH_IT_FROM", 4)
    monkeypatch.setattr("simulmt.scoring.parallel._cores", lambda: 2)
    monkeypatch.setattr("simulmt.scoring.parallel._may_fork", lambda: sys.platform == "linux")
    rows = in_parts(part_sizes, list("abcdef"), [list("uvwxyz")])
    assert rows == ([3] * 6 if sys.platform == "linux" else [6] * 6)


def part_sizes(hypotheses: Any, references: Any) -> list[int]:
    assert len(references[0]) == len(hypotheses)
    return [len(hypotheses)] * len(hypotheses)


@pytest.mark.parametrize(
    ("language", "tokenizer"),
    [
        (None, "13a"),
        ("de", "13a"),
        ("pt-BR", "13a"),
        ("zh", "zh"),
        ("zh-CN", "zh"),
        ("zho_Hans", "zh"),
        ("ja", "ja-mecab"),
        ("ko", "ko-mecab"),
        ("th", "char"),
        ("lo", "char"),
        ("km", "char"),
        ("my", "char"),
    ],
)
def test_default_tokenizer_of_a_language(language: str | None, tokenizer: str) -> None:
    assert default_tokenizer(language) == tokenizer


def test_chinese_is_scored_by_characters() -> None:
    score = corpus_quality("BLEU", ["我们今天去公园散步"], [["我们今天去公园玩"]], tokenizer="zh")
    assert "tok:zh" in score.signature
    assert score.value > 50


def test_tokenizer_without_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(**_: object) -> None:
        raise RuntimeError("\nJapanese tokenization requires extra dependencies\n")

    monkeypatch.setattr("sacrebleu.metrics.BLEU", missing)
    with pytest.raises(Unavailable, match=r"ja-mecab cannot be loaded .*pip install 'sacrebleu\[ja\]'"):
        sacrebleu_metric("BLEU", "ja-mecab")


def test_unknown_tokenizer_lists_the_known() -> None:
    with pytest.raises(UsageError, match=r"unknown tokenizer 'moses'; choose one of: .*13a"):
        check_tokenizer("moses")


def test_no_segments_have_no_score() -> None:
    with pytest.raises(Unavailable, match="no segments"):
        corpus_quality("BLEU", [], [[]])


def test_comet_that_is_not_installed_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "comet", None)
    with pytest.raises(SimulmtError, match="needs the package unbabel-comet"):
        comet("model.ckpt", ["a"], ["b"], ["c"])


def test_comet_gets_source_hypothesis_and_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, str]] = []

    class Model:
        def predict(self, samples: list[dict[str, str]], **_: object) -> SimpleNamespace:
            seen.extend(samples)
            return SimpleNamespace(system_score=0.75)

    fake = ModuleType("comet")
    fake.load_from_checkpoint = lambda path: Model()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "comet", fake)
    assert comet("model.ckpt", ["a"], ["b"], ["c"]) == QualityScore(0.75, "model:model.ckpt")
    assert seen == [{"src": "a", "mt": "b", "ref": "c"}]


def test_comet_model_that_cannot_be_read_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: str) -> None:
        raise OSError("no such file")

    fake = ModuleType("comet")
    fake.load_from_checkpoint = fail  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "comet", fake)
    with pytest.raises(SimulmtError, match=r"COMET model nowhere\.ckpt cannot be loaded: no such file"):
        comet("nowhere.ckpt", ["a"], ["b"], ["c"])
