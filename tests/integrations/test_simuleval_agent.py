"""SimulEval runs our agent: its hypotheses and delays are those of `simulmt evaluate`; it and OmniSTEval read our logs.

SimulEval needs packages that clash with newer ones, so it lives in an environment of its own, together with simulmt's
dependencies and, for one test, OmniSTEval; SIMULMT_SIMULEVAL_PYTHON names the Python of that environment.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from families import tiny_own_model

from simulmt.cli.main import run

PYTHON = os.environ.get("SIMULMT_SIMULEVAL_PYTHON", "")
ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(
    not PYTHON, reason="SIMULMT_SIMULEVAL_PYTHON is not set: give the Python of an environment that has simuleval"
)

SOURCES = [
    "The cat sleeps on the warm stove.",
    "Yes.",
    "Where is the station, please?",
    "It is raining today, but tomorrow the sun will shine.",
]
REFERENCES = [
    "Die Katze schläft auf dem warmen Ofen.",
    "Ja.",
    "Wo ist bitte der Bahnhof?",
    "Heute regnet es, aber morgen scheint die Sonne.",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model and a corpus."""
    place = tmp_path_factory.mktemp("simuleval")
    tiny_own_model(place / "model")
    (place / "en").write_text("".join(f"{line}\n" for line in SOURCES), encoding="utf-8")
    (place / "de").write_text("".join(f"{line}\n" for line in REFERENCES), encoding="utf-8")
    return place


def simuleval(folder: Path, *options: str) -> str:
    """Run SimulEval in its own environment; return what it prints."""
    done = subprocess.run(
        [PYTHON, "-m", "simuleval.cli", *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def ours(folder: Path, k: str) -> Path:
    output = folder / "ours"
    files = ["--source", str(folder / "en"), "--reference", str(folder / "de")]
    assert run(["evaluate", *files, "--model", str(folder / "model"), "--k", k, "--output", str(output), "-q"]) == 0
    return next(path for path in output.iterdir() if path.name in (f"k{k}", k))


@pytest.mark.parametrize("k", ["1", "3", "full"])
@pytest.mark.parametrize("way", ["--agent", "--agent-class"])
def test_the_agent_gives_what_evaluate_gives(folder: Path, k: str, way: str) -> None:
    agent = str(ROOT / "simulmt/integrations/simuleval.py")
    place = agent if way == "--agent" else "simulmt.integrations.simuleval.SimulmtAgent"
    output = folder / f"theirs{way}{k}"
    files = ["--source", str(folder / "en"), "--target", str(folder / "de"), "--output", str(output)]
    simuleval(folder, way, place, "--model", str(folder / "model"), "--k", k, *files)
    expected = [json.loads(line) for line in (ours(folder, k) / "instances.log").read_text().splitlines()]
    found = [json.loads(line) for line in (output / "instances.log").read_text().splitlines()]
    keys = ("index", "prediction", "delays", "prediction_length", "source", "source_length")
    assert [[record[key] for key in keys] for record in found] == [[record[key] for key in keys] for record in expected]


def test_simuleval_scores_our_log_as_we_do(folder: Path) -> None:
    place = ours(folder, "3")
    scores = json.loads((place / "scores.json").read_text())
    header, row = simuleval(folder, "--score-only", "--output", str(place)).strip().splitlines()[-2:]
    theirs = dict(zip(header.split(), row.split()[1:], strict=True))
    for name in ("BLEU", "AL", "LAAL", "AP", "DAL"):
        assert float(theirs[name]) == pytest.approx(scores[name], abs=5.01e-4)


def test_omnisteval_scores_our_log_as_we_do(folder: Path) -> None:
    if subprocess.run([PYTHON, "-c", "import omnisteval"], capture_output=True).returncode:
        pytest.skip("that environment has no omnisteval")
    place = ours(folder, "3")
    scores = json.loads((place / "scores.json").read_text())
    files = ["--hypothesis_file", str(place / "instances.log"), "--ref_sentences_file", str(folder / "de")]
    command = [str(Path(PYTHON).parent / "omnisteval"), "shortform", *files, "--word_level"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name in ("AL", "LAAL", "AP", "DAL", "YAAL"):
        (theirs,) = re.findall(rf"^ *{name} \(CU\) +(\S+)", done.stdout, re.MULTILINE)
        assert float(theirs) == pytest.approx(scores[name], abs=5.01e-5)
