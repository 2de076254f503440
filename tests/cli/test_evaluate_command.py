"""`simulmt evaluate` from end to end, on a tiny model."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from families import tiny_own_model

from simulmt.cli.main import run
from simulmt.evaluation import progress
from simulmt.evaluation.folder import CONFIG, LOG, RUN
from simulmt.instance import read_log

PAIRS = [
    ("The cat sleeps on the warm stove.", "Die Katze schläft auf dem warmen Ofen."),
    ("Where is the station, please?", "Wo ist bitte der Bahnhof?"),
    ("We read a word and write a word.", "Wir lesen ein Wort und schreiben ein Wort."),
    ("Yes.", "Ja."),
    ("It is raining today, but tomorrow the sun will shine.", "Heute regnet es, aber morgen scheint die Sonne."),
    ("My sister bought three red apples.", "Meine Schwester hat drei rote Äpfel gekauft."),
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_own_model(tmp_path_factory.mktemp("model")))


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS), encoding="utf-8")
    return path


@pytest.fixture
def evaluate(model: str, corpus: Path, tmp_path: Path):
    """Call the command with the corpus and the model; return its status."""

    def call(*options: str, output: str = "run") -> int:
        common = ["--data", str(corpus), "--model", model, "--device", "cpu", "--output", str(tmp_path / output)]
        return run(["evaluate", *common, *options])

    return call


def files(folder: Path) -> dict[str, str]:
    """The logs and scores of a sweep."""
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.name in (LOG, "scores.json")
    }


def test_a_sweep_leaves_a_folder_a_setting_and_prints_a_row_each(evaluate, tmp_path: Path, capsys) -> None:
    assert evaluate("--k", "1,3,full", "--compare", "full", "--samples", "20") == 0
    captured = capsys.readouterr()
    rows = captured.out.splitlines()
    assert [row.split()[0] for row in rows[:4]] == ["setting", "k1", "k3", "full"]
    assert "paired bootstrap" in captured.out
    assert "k3: 6 sentences" in captured.err
    for name in ("k1", "k3", "full"):
        folder = tmp_path / "run" / name
        assert sorted(path.name for path in folder.iterdir()) == [CONFIG, LOG, RUN, "scores.json", "scores.tsv"]
        instances = list(read_log(folder / LOG))
        assert [instance.index for instance in instances] == list(range(6))
        assert [(instance.source, instance.reference) for instance in instances] == PAIRS
    delays = [instance.delays for instance in read_log(tmp_path / "run" / "k3" / LOG)]
    lengths = [len(source.split()) for source, _ in PAIRS]
    assert all(
        values == [min(3 + place, length) for place in range(len(values))]
        for values, length in zip(delays, lengths, strict=True)
    )
    assert (tmp_path / "run" / "scores.tsv").read_text().count("\n") == 4


def test_parallel_files_give_what_pairs_give(evaluate, model: str, tmp_path: Path, capsys) -> None:
    evaluate("--k", "3")
    (tmp_path / "en").write_text("".join(f"{source}\n" for source, _ in PAIRS), encoding="utf-8")
    (tmp_path / "de").write_text("".join(f"{target}\n" for _, target in PAIRS), encoding="utf-8")
    paths = ["--source", str(tmp_path / "en"), "--reference", str(tmp_path / "de")]
    assert (
        run(["evaluate", *paths, "--model", model, "--k", "3", "--output", str(tmp_path / "two"), "--rows", "1"]) == 0
    )
    assert files(tmp_path / "two") == files(tmp_path / "run")


def test_a_run_that_was_stopped_and_cut_goes_on_and_ends_the_same(
    evaluate, tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert evaluate("--k", "2", "--quiet", output="whole") == 0
    advance = progress.Silent.advance
    seen: list[int] = []

    def stop(self: progress.Silent) -> None:
        seen.append(1)
        if len(seen) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(progress.Silent, "advance", stop)
    assert evaluate("--k", "2", "--quiet") == 130
    assert "goes on from there" in capsys.readouterr().err
    log = tmp_path / "run" / "k2" / LOG
    log.write_bytes(log.read_bytes()[:-9])  # as a kill would leave it
    monkeypatch.setattr(progress.Silent, "advance", advance)
    assert evaluate("--k", "2") == 0
    assert "k2: 3 of 6 sentences were done before" in capsys.readouterr().err
    assert files(tmp_path / "run" / "k2") == files(tmp_path / "whole" / "k2")


def test_a_finished_run_is_not_done_again(evaluate, tmp_path: Path, capsys) -> None:
    evaluate("--k", "2")
    first = capsys.readouterr().out
    assert evaluate("--k", "2,4") == 0
    captured = capsys.readouterr()
    assert "k2: 6 of 6 sentences were done before" in captured.err
    assert captured.out.splitlines()[:2] == first.splitlines()[:2]


def test_results_of_another_corpus_are_refused_and_overwritten_only_on_demand(
    evaluate, corpus: Path, tmp_path: Path, capsys
) -> None:
    evaluate("--k", "2")
    corpus.write_text("another\tanderer\n")
    capsys.readouterr()
    assert evaluate("--k", "2") == 2
    error = capsys.readouterr().err
    assert "holds a run with corpus" in error
    assert "--overwrite" in error
    assert evaluate("--k", "2", "--overwrite") == 0
    assert len(list(read_log(tmp_path / "run" / "k2" / LOG))) == 1


def test_without_references_there_is_latency_and_no_curve(model: str, tmp_path: Path, capsys) -> None:
    (tmp_path / "en").write_text("one two three\n\nfour\n")
    arguments = ["--source", str(tmp_path / "en"), "--model", model, "--k", "1", "--output", str(tmp_path / "run")]
    assert run(["evaluate", *arguments, "--format", "json"]) == 0
    captured = capsys.readouterr()
    scores = json.loads(captured.out)["settings"]["k1"]
    assert scores["BLEU"] is None
    assert scores["AL"] is not None
    assert "1 of 3 sources are blank" in captured.err
    assert "no curve" in captured.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--k", "x"], "--k 'x'"),
        (["--k", "0"], "at least 1"),
        (["--k", "3", "--compare", "full"], "choose one of: k3"),
        (["--policy", "nonsense"], "unknown policy"),
        (["--reference", "de"], "or --data"),
        (["--tokenize", "nonsense"], "unknown tokenizer"),
        (["--resume", "--overwrite"], "exclude"),
        (["--to", "fr"], "translates en→de"),
        (["another.tsv"], "each option takes one file"),
    ],
)
def test_wrong_usage_is_one_line_and_leaves_nothing(
    evaluate, tmp_path: Path, capsys, options: list[str], said: str
) -> None:
    assert evaluate(*options) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_counts_that_differ_are_told(model: str, tmp_path: Path, capsys) -> None:
    (tmp_path / "en").write_text("one\ntwo\n")
    (tmp_path / "de").write_text("eins\n")
    paths = ["--source", str(tmp_path / "en"), "--reference", str(tmp_path / "de")]
    assert run(["evaluate", *paths, "--model", model, "--output", str(tmp_path / "run")]) == 1
    assert "has 2 lines but" in capsys.readouterr().err


def test_plot_and_staircase_of_what_is_done(evaluate, tmp_path: Path, capsys) -> None:
    evaluate("--k", "1,3,full", "--quiet")
    evaluate("--k", "2", "--quiet", output="other")
    capsys.readouterr()
    assert (
        run(["evaluate", "plot", str(tmp_path / "run"), str(tmp_path / "other"), "--output", str(tmp_path / "p")]) == 0
    )
    captured = capsys.readouterr()
    assert "o run: k1 k3  - full" in captured.out
    assert "x other: k2" in captured.out
    assert (tmp_path / "p" / "curve.svg").exists() or "need matplotlib" in captured.err
    assert run(["evaluate", "staircase", str(tmp_path / "run" / "k3" / LOG), "--index", "1"]) == 0
    assert "1  Where" in capsys.readouterr().out
    assert run(["evaluate", "plot", str(tmp_path / "none")]) == 2


def test_without_matplotlib_one_line_says_so(evaluate, tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert evaluate("--k", "1,2", "--quiet") == 0
    assert "matplotlib" in capsys.readouterr().err
    assert not (tmp_path / "run" / "curve.svg").exists()


def test_output_belongs_behind_the_subcommand(tmp_path: Path, capsys) -> None:
    assert run(["evaluate", "--output", str(tmp_path), "plot", str(tmp_path)]) == 2
    assert "give it after" in capsys.readouterr().err


def test_help_plot_and_staircase_start_without_torch(evaluate, tmp_path: Path) -> None:
    evaluate("--k", "3", "--quiet")
    log = str(tmp_path / "run" / "k3" / LOG)
    code = (
        "import sys; from simulmt.cli.main import run;"
        f"status = [run(['evaluate', '--help']), run(['evaluate', 'plot', {str(tmp_path / 'run')!r}]),"
        f" run(['evaluate', 'staircase', {log!r}])];"
        "sys.exit(any(status) or 'torch' in sys.modules or 'transformers' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_later_sweep_keeps_the_settings_of_earlier_ones(evaluate, tmp_path: Path) -> None:
    assert evaluate("--k", "1,full") == 0
    assert evaluate("--k", "3") == 0
    rows = (tmp_path / "run" / "scores.tsv").read_text().splitlines()
    assert [row.split("\t")[0] for row in rows] == ["system", "full", "k1", "k3"]
