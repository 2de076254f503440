"""`simulmt score` from the outside: output, messages, exit status."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from simulmt.cli.main import run
from simulmt.instance import Instance

WORDS = "eins zwei drei vier fünf sechs sieben acht neun zehn"
DELAYS = [3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 10.0, 10.0]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write("hyp", WORDS)
    write("ref", WORDS)
    write("src", "one two three four five six seven eight nine ten")
    write("k3.log", *(instance(i).to_json() for i in range(3)))
    write("ref3", WORDS, WORDS, WORDS)
    return tmp_path


def write(name: str, *lines: str) -> None:
    Path(name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def instance(index: int, **keys: Any) -> Instance:
    values: dict[str, Any] = {"delays": DELAYS, "elapsed": [0.0] * 10, "source_length": 10, "reference": WORDS}
    return Instance(index, WORDS, **(values | keys))


def score(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    assert run(["score", *arguments]) == status
    captured = capsys.readouterr()
    return captured.out if status == 0 else captured.err


def record(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(score(capsys, *arguments, "--format", "json"))
    return values


def latencies(values: dict[str, Any]) -> list[float]:
    return [values[name] for name in ("AL", "LAAL", "AP", "DAL", "YAAL")]


def test_wait_3_with_a_log_and_without(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = pytest.approx([3.0, 3.0, 0.72, 3.0, 3.0], abs=1e-12)
    assert latencies(record(capsys, "k3.log")) == expected
    assert latencies(record(capsys, "hyp", "ref", "--source", "src", "--k", "3")) == expected


def test_json_has_metrics_signatures_and_definitions(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = record(capsys, "k3.log", "ref3")
    assert values["BLEU"] == pytest.approx(100.0)
    assert values["chrF2"] == pytest.approx(100.0)
    assert "TER" not in values
    assert values["signature"]["BLEU"].startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert "d_i" in values["definitions"]["AL"]
    assert values["counts"]["segments"] == 3
    assert values["degenerate"] is False


def test_table_shows_score_signature_and_definition(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = score(capsys, "hyp", "ref", "--source", "src", "--k", "3")
    assert "BLEU          100.00\n" in out
    assert "AL            3.000  assumed: wait-k(k=3)" in out
    assert "nrefs:1|case:mixed" in out
    assert "(1/τ) Σ" in out


def test_plain_text_says_why_there_is_no_latency(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = record(capsys, "hyp", "ref")
    assert values["AL"] is None
    assert "--source FILE and --k N" in values["unavailable"]["AL"]


def test_tsv_is_a_header_and_a_row_for_each_system(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("k5.log", *(instance(i, delays=[5.0, 6.0, 7.0, 8.0, 9.0] + [10.0] * 5).to_json() for i in range(3)))
    out = score(capsys, "k3.log", "--paired", "k5.log", "-m", "BLEU,AL", "--format", "tsv")
    assert out == "system\tBLEU\tAL\nk3.log\t100.00000000000004\t3.0\nk5.log\t100.00000000000004\t5.0\n"


def test_paired_systems_are_compared(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("k5.log", *(instance(i, delays=[5.0, 6.0, 7.0, 8.0, 9.0] + [10.0] * 5).to_json() for i in range(3)))
    values = record(capsys, "k3.log", "ref3", "--paired", "k5.log", "--samples", "50")
    (pair,) = values["paired"]
    assert pair["system"] == "k5.log"
    assert pair["AL"]["difference"] == 2.0
    assert pair["AL"]["p_value"] == pytest.approx(1 / 51)
    assert "paired  k5.log against k3.log" in score(capsys, "k3.log", "--paired", "k5.log", "--samples", "50")


def test_only_the_metrics_asked_for_are_shown(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = record(capsys, "k3.log", "--metric", "ter", "-m", "al", "--width", "3")
    assert values["TER"] == 0.0
    assert values["AL"] == 3.0
    assert "BLEU" not in values


def test_confidence_is_shown(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = record(capsys, "k3.log", "--confidence", "--samples", "20", "-m", "BLEU,AL")
    assert values["confidence"]["AL"] == {"mean": 3.0, "half_width": 0.0, "level": 0.95}
    assert "bs:20" in values["signature"]["BLEU"]
    assert "± " in score(capsys, "k3.log", "--confidence", "--samples", "20")


def test_two_references(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("other", "etwas anderes")
    assert "nrefs:2" in record(capsys, "hyp", "other", "ref")["signature"]["BLEU"]


def test_longform_cuts_the_talk(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("talk.log", instance(0).to_json())
    write("refs", *(" ".join(WORDS.split()[i : i + 5]) for i in (0, 5)))
    write("srcs", "one two three four five", "six seven eight nine ten")
    values = record(capsys, "talk.log", "refs", "--source", "srcs", "--longform")
    assert values["StreamLAAL"] == pytest.approx(3.0)
    assert values["LongYAAL"] == pytest.approx(3.0)
    assert values["counts"]["segments"] == 2


def test_simuleval_log_with_a_cut_line_and_an_offset(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [instance(i, reference=WORDS + "\n").to_json() for i in (7, 8, 9)]
    Path("slice.log").write_text("\n".join(lines)[:-50], encoding="utf-8")
    values = record(capsys, "slice.log")
    assert values["counts"]["segments"] == 2
    assert latencies(values) == pytest.approx([3.0, 3.0, 0.72, 3.0, 3.0], abs=1e-12)
    assert any("last line is cut" in note for note in values["notes"])


def test_simuleval_compatible_counts_double_spaces(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("double", WORDS.replace("zwei ", "zwei  "))
    values = record(capsys, "hyp", "double", "--source", "src", "--k", "3")
    compatible = record(capsys, "hyp", "double", "--source", "src", "--k", "3", "--simuleval-compatible")
    assert values["AP"] == pytest.approx(0.72)
    assert compatible["AP"] == pytest.approx(72 / 110)


def test_target_language_decides_tokenizer_and_unit(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("zh", "我们今天去公园散步")
    values = record(capsys, "zh", "zh", "--source", "src", "--k", "2", "--to", "zh-CN")
    assert values["unit"] == "char"
    assert "tok:zh" in values["signature"]["BLEU"]
    assert values["counts"]["hypothesis_units"] == 9


def test_source_language_decides_the_units_read(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("zh", "我们今天去公园散步吧")
    values = record(capsys, "hyp", "ref", "--source", "zh", "--k", "3", "--from", "zh")
    assert values["AL"] == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["hyp", "ref3"], 1, "hyp has 1 line but ref3 has 3 lines"),
        (["k3.log", "ref"], 1, "k3.log has 3 segments but ref has 1 line;"),
        (["hyp", "ref", "--source", "ref3", "--k", "3"], 1, "hyp has 1 line but ref3 has 3 lines"),
        (["nowhere", "ref"], 1, "nowhere cannot be read: No such file or directory"),
        (["empty", "ref"], 1, "empty holds no segments"),
        (["hyp"], 2, "plain text needs REF"),
        (["hyp", "ref", "--k", "3"], 2, "--k 3 needs --source FILE"),
        (["hyp", "ref", "--source", "src", "--k", "0"], 2, "k must be at least 1, not 0"),
        (["k3.log", "--source", "ref3", "--k", "3"], 2, "--k 3 is for plain text"),
        (["k3.log", "--metric", "ROUGE"], 2, "unknown metric 'ROUGE'"),
        (["k3.log", "--metric", "AL_ms"], 2, "AL_ms is not chosen by itself"),
        (["k3.log", "--tokenize", "moses"], 2, "unknown tokenizer 'moses'"),
        (["hyp", "ref", "--to", "german!"], 2, "unknown language 'german!'; try German (de)"),
        (["hyp", "ref", "--to", "xx"], 2, "unknown language 'xx'"),
        (["k3.log", "--longform"], 2, "--longform needs REF and --source FILE"),
        (["-", "-"], 2, "standard input (-) can be read only once"),
        (["--explain", "ROUGE"], 2, "unknown metric 'ROUGE'"),
    ],
)
def test_wrong_input_is_one_line_and_a_status(
    files: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, message: str
) -> None:
    Path("empty").touch()
    errors = score(capsys, *arguments, status=status)
    assert message in errors
    assert errors.count("\n") == 1


@pytest.mark.parametrize("form", ["table", "json", "tsv"])
def test_a_metric_asked_for_by_name_that_has_no_value_fails_after_the_scores(
    files: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    assert run(["score", "hyp", "ref", "-m", "chrF2,AL", "--format", form]) == 1
    out, err = capsys.readouterr()
    assert "chrF2" in out
    assert err.startswith("simulmt: hyp: AL is not available; plain text has no delays")
    assert err.count("\n") == 1


def test_scores_without_a_value_share_a_line_with_those_of_the_same_reason(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = score(capsys, "hyp", "ref")
    assert out.count("plain text has no delays") == 1
    assert "AL, LAAL," in out


def test_explain_needs_no_files(capsys: pytest.CaptureFixture[str]) -> None:
    out = score(capsys, "--explain", "al")
    assert out.startswith("AL: average lagging\n")
    assert "aclanthology.org/P19-1289" in out


def test_hypothesis_from_standard_input(files: Path) -> None:
    command = [sys.executable, "-m", "simulmt", "score", "-", "ref", "--format", "json"]
    for name in ("hyp", "k3.log"):
        reference = "ref" if name == "hyp" else "ref3"
        command[5] = reference
        done = subprocess.run(command, input=Path(name).read_bytes(), capture_output=True, check=True)
        assert json.loads(done.stdout)["BLEU"] == pytest.approx(100.0)


def test_starts_without_torch_and_scores_ten_thousand_sentences_in_time(files: Path) -> None:
    words = WORDS.split()
    write("many", *(" ".join([*words[i % 7 :], str(i)]) for i in range(10_000)))
    write("refs", *(" ".join([*words[i % 5 :], str(i)]) for i in range(10_000)))
    code = (
        "import sys; from simulmt.cli.main import run; status = run(['score', 'many', 'refs', '--format', 'tsv']);"
        "assert not {'torch', 'transformers'} & set(sys.modules), 'heavy import'; sys.exit(status)"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("system\tBLEU")
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 5.0
