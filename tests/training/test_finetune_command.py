"""`simulmt finetune` from command line to translation."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from families import FAMILIES, tiny_model, tiny_own_model
from safetensors.torch import load_file
from training_pairs import PAIRS, SENTENCES, TEXT, write_pairs

from simulmt.cli.main import run
from simulmt.errors import SimulmtError
from simulmt.model.catalog import Card
from simulmt.model.loading import Options, load
from simulmt.policy import WaitK
from simulmt.training.quality import translate_all

CPU = Options(device="cpu")
SMALL = ["--device", "cpu", "--precision", "float32", "--rank", "4", "--valid", "0"]
LEARN = [
    *("--k", "3", "--noise", "0", "--join", "0", "--valid", "0", "--device", "cpu", "--precision", "float32"),
    *("--epochs", "80", "--batch-tokens", "8192", "--lr", "1e-2", "--warmup", "5", "--decay", "0.5"),
    *("--label-smoothing", "0", "--weight-decay", "0"),
]


def own(folder: Path, **options: Any) -> Path:
    return tiny_own_model(folder / "base", sentences=SENTENCES, pieces=330, **options)


def log_of(output: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (output / "train.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("full", [False, True], ids=["lora", "full"])
@pytest.mark.parametrize("family", ["own", *FAMILIES])
def test_every_family_learns_32_pairs_by_heart(tmp_path: Path, family: str, full: bool) -> None:
    base = own(tmp_path, spread=0.3) if family == "own" else tiny_model(
        family, tmp_path / "base", "none", text=TEXT, spread=0.3
    )  # fmt: skip
    output = tmp_path / "out"
    command = ["finetune", str(write_pairs(tmp_path)), "--base", str(base), "--output", str(output), *LEARN]
    assert run([*command, "--from", "en", "--to", "de", *(["--full"] if full else [])]) == 0
    if full:
        translator = load(str(output), "en", "de", options=CPU)
    else:
        translator = load(str(base), "en", "de", adapter=str(output), options=CPU)
    hypotheses = translate_all(translator, [source for source, _ in PAIRS], WaitK(3))
    assert hypotheses == [target for _, target in PAIRS]


def test_the_result_says_what_it_is(tmp_path: Path) -> None:
    base, output = own(tmp_path), tmp_path / "out"
    command = ["finetune", str(write_pairs(tmp_path)), "--base", str(base), "--output", str(output)]
    assert (
        run([*command, "--max-steps", "4", "--valid", "0.2", "--log-every", "1", "--device", "cpu", "--rank", "4"]) == 0
    )
    card = Card.load(output)
    assert (card.source, card.target, card.phi, card.base) == ("en", "de", 0, str(base))
    assert card.fingerprint is not None
    assert card.extra["k"] == "1-10,full"
    assert card.extra["layout"] == "group"
    assert card.extra["units"] == {"source": "word", "target": "word"}
    assert card.extra["lora"] == {"rank": 4, "alpha": 8.0, "dropout": 0.0}
    assert set(card.extra["bleu"]) == {"1", "3", "5", "full"}
    assert card.extra["training_pairs"] + card.extra["validation_pairs"] == 32
    assert len(card.extra["data_sha256"]) == 64
    assert {"simulmt", "torch", "transformers", "peft"} <= card.extra["versions"].keys()
    assert sorted(path.name for path in output.iterdir()) == [
        "README.md", "adapter_config.json", "adapter_model.safetensors", "run.json", "simulmt.json", "train.jsonl",
    ]  # fmt: skip
    adapter = json.loads((output / "adapter_config.json").read_text())
    assert adapter["base_model_name_or_path"] == str(base)
    assert len(adapter["target_modules"]) == 7
    records = log_of(output)
    assert [record["step"] for record in records if "loss" in record] == [1, 2, 3, 4]
    assert records[-1]["event"] == "done"


def test_an_adapter_on_the_wrong_base(tmp_path: Path) -> None:
    base, other, output = own(tmp_path), own(tmp_path / "other", seed=1), tmp_path / "out"
    command = ["finetune", str(write_pairs(tmp_path)), "--base", str(base), "--output", str(output), *SMALL]
    assert run([*command, "--max-steps", "1"]) == 0
    load(str(base), adapter=str(output), options=CPU)
    with pytest.raises(SimulmtError, match="was trained on"):
        load(str(other), adapter=str(output), options=CPU)


def test_pairs_must_fit_a_sliding_window(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    base = tiny_model("gemma2", tmp_path / "base", "none", sliding_window=64)
    command = ["finetune", str(write_pairs(tmp_path)), "--base", str(base), "--output", str(tmp_path / "out"), *SMALL]
    assert run([*command, "--from", "en", "--to", "de", "--max-steps", "1"]) == 2
    assert "attention window holds 64; lower --max-length" in capfd.readouterr().err
    assert run([*command, "--from", "en", "--to", "de", "--max-steps", "1", "--max-length", "20"]) == 0


def test_a_validation_file_and_chat_templates(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    base = tiny_model("qwen2", tmp_path / "base", "system")
    valid = tmp_path / "valid.tsv"
    valid.write_text(f"{PAIRS[0][0]}\tetwas anderes\n")
    command = ["finetune", str(write_pairs(tmp_path)), "--base", str(base), "--output", str(tmp_path / "out")]
    options = ["--from", "en", "--to", "de", "--max-steps", "2", "--rank", "2", "--device", "cpu"]
    assert run([*command, *options, "--valid", str(valid), "--valid-every", "1"]) == 0
    error = capfd.readouterr().err
    assert "31 pairs train, 1 validate, 1 left out whose source is among these" in error
    assert [record["step"] for record in log_of(tmp_path / "out") if "valid_loss" in record] == [0, 1, 2]


def test_bad_lines_are_reported(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "bad.tsv"
    data.write_bytes(TEXT.encode() + b"no tab\n\xff\t\xff\n" + b"word " * 300 + b"\tWort\n")
    command = ["finetune", str(data), "--base", str(own(tmp_path)), "--output", str(tmp_path / "out"), *SMALL]
    assert run([*command, "--max-steps", "1"]) == 0
    error = capfd.readouterr().err
    for line, problem in ((33, "line without a tab"), (34, "line that is not UTF-8"), (35, "over-long pair")):
        assert f"1 × {problem} skipped ({data}:{line})" in error
    assert run([*command, "--max-steps", "1", "--overwrite", "--strict"]) == 1
    assert f"{data}:33: line without a tab; correct it" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ([], 2, "no data"),
        (["missing.tsv"], 1, "missing.tsv cannot be read: No such file"),
        (["empty.tsv"], 1, "empty.tsv holds no pair; the file is empty"),
        (["pairs.tsv", "--k", "0"], 2, "--k '0'"),
        (["pairs.tsv", "--valid", "2"], 2, "--valid must be at least 0 and below 1"),
        (["pairs.tsv", "--valid", "nothing.tsv"], 2, "neither a file nor a share"),
        (["pairs.tsv", "--max-steps", "-1"], 2, "--max-steps must be above 0"),
        (["pairs.tsv", "--rank", "0"], 2, "--rank must be at least 1"),
        (["pairs.tsv", "--source", "a"], 2, "--source and --target go together"),
        (["pairs.tsv", "--to", "fr"], 2, "translates en→de"),
        (["pairs.tsv", "--base", "nowhere"], 1, "no model 'nowhere'"),
        (["pairs.tsv", "--resume"], 2, "holds no run to resume"),
        (["pairs.tsv", "--optimizer", "muon"], 2, "--optimizer muon"),
        (["pairs.tsv", "--max-length", "2000"], 2, "the model has 1024 positions; lower --max-length"),
        (["pairs.tsv", "--shard", "--full"], 2, "--shard is for adapters"),
    ],
)
def test_wrong_use_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    arguments: list[str],
    status: int,
    message: str,
) -> None:
    own(tmp_path)
    write_pairs(tmp_path)
    (tmp_path / "empty.tsv").touch()
    monkeypatch.chdir(tmp_path)
    capfd.readouterr()
    assert run(["finetune", "--base", "base", "--output", "out", "--device", "cpu", *arguments]) == status
    lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith("simulmt: ")]
    assert len(lines) == 1
    assert message in lines[0]


def test_an_output_that_is_taken(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    base, data = own(tmp_path), write_pairs(tmp_path)
    command = ["finetune", str(data), "--base", str(base), *SMALL, "--max-steps", "1", "--output"]
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.txt").touch()
    assert run([*command, str(foreign)]) == 2
    assert run([*command, str(foreign), "--overwrite"]) == 2
    assert (foreign / "thesis.txt").exists()
    assert "was not made by a training run" in capfd.readouterr().err
    assert run([*command, str(tmp_path / "out")]) == 0
    assert run([*command, str(tmp_path / "out")]) == 2
    assert run(["finetune", "--resume", "--output", str(tmp_path / "out")]) == 2
    assert "is finished, there is nothing to resume" in capfd.readouterr().err
    assert run([*command, str(tmp_path / "out"), "--overwrite"]) == 0


def test_a_dry_run_trains_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    base, output = own(tmp_path), tmp_path / "out"
    command = ["finetune", str(write_pairs(tmp_path)), "--base", str(base), "--output", str(output), *SMALL]
    assert run([*command, "--dry-run", "--epochs", "3"]) == 0
    error = capfd.readouterr().err
    network = load(str(base), options=CPU).model
    assert f"{sum(weight.numel() for weight in network.parameters()):,}" not in error  # the adapter's come on top
    for part in ("are trained", "tokens per epoch", "tokens/s here", "in all", "of memory"):
        assert part in error
    assert not output.exists()


def test_killed_and_resumed_is_as_if_never_stopped(tmp_path: Path) -> None:
    """SIGKILL at some step after the first checkpoints, in a process of its own."""
    base, data = own(tmp_path), write_pairs(tmp_path)
    common = [
        *("finetune", str(data), "--base", str(base), "--device", "cpu", "--precision", "float32", "--threads", "1"),
        *("--max-steps", "60", "--dropout", "0.1", "--batch-tokens", "512", "--valid", "0.1", "--valid-every", "7"),
        *("--rank", "4", "--log-every", "5", "--lr", "1e-2"),
    ]
    assert run([*common, "--output", str(tmp_path / "whole")]) == 0
    killed = tmp_path / "killed"
    command = [sys.executable, "-m", "simulmt", *common, "--save-minutes", "0", "--output", str(killed)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        while not list(killed.glob("checkpoints/step-*[1-9]")):
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert not (killed / "adapter_model.safetensors").exists()
    assert run(["finetune", "--resume", "--output", str(killed)]) == 0
    ours, theirs = (load_file(folder / "adapter_model.safetensors") for folder in (killed, tmp_path / "whole"))
    assert ours.keys() == theirs.keys()
    for name in ours:
        torch.testing.assert_close(ours[name], theirs[name], atol=1e-6, rtol=0)
    losses = [
        [(r["step"], r["valid_loss"]) for r in log_of(f) if "valid_loss" in r] for f in (killed, tmp_path / "whole")
    ]
    assert losses[0] == losses[1]
    assert not (killed / "checkpoints").exists()


def test_a_full_disk_is_told_and_the_run_goes_on_when_there_is_space(
    small_disk: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    output = small_disk / "out"
    command = ["finetune", str(write_pairs(tmp_path)), "--base", str(own(tmp_path)), "--output", str(output), *SMALL]
    assert run([*command, "--full", "--max-steps", "6", "--save-minutes", "0", "--batch-tokens", "8192"]) == 1
    last = sorted((output / "checkpoints").iterdir())[-1]
    message = f"simulmt: no space left on the disk of {last.parent}; make space; {last} is whole, go on from it"
    assert message in capfd.readouterr().err
    subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], check=True)
    assert run(["finetune", "--resume", "--output", str(output)]) == 0
    assert f"resumed at step {int(last.name.removeprefix('step-'))}" in capfd.readouterr().err
    assert Card.load(output).extra["steps"] == 6


def test_interrupting_saves_and_exits_with_130(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "out"
    command = ["finetune", str(write_pairs(tmp_path)), "--base", str(own(tmp_path)), "--output", str(output), *SMALL]

    def interrupt() -> None:
        while not (output / "train.jsonl").exists() or '"step"' not in (output / "train.jsonl").read_text():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    assert run([*command, "--max-steps", "100000", "--log-every", "1"]) == 130
    thread.join()
    step = log_of(output)[-1]["step"]
    assert f"interrupted at step {step}; --resume goes on from there" in capfd.readouterr().err
    assert [place.name for place in (output / "checkpoints").iterdir()] == [f"step-{step:08d}"]
    assert run(["finetune", "--resume", "--output", str(output), "--max-steps", str(step + 1)]) == 0
    assert f"resumed at step {step}" in capfd.readouterr().err
    assert Card.load(output).extra["steps"] == step + 1


@pytest.mark.parametrize("shard", [[], ["--shard"]], ids=["copies", "shards"])
def test_two_processes_are_one_with_twice_the_batch(tmp_path: Path, shard: list[str]) -> None:
    base, data = own(tmp_path), write_pairs(tmp_path)
    common = [
        *("finetune", str(data), "--base", str(base), "--device", "cpu", "--precision", "float32", "--threads", "1"),
        *(
            "--max-steps",
            "6",
            "--valid",
            "0.1",
            "--valid-every",
            "3",
            "--rank",
            "4",
            "--log-every",
            "1",
            "--warmup",
            "0",
        ),
    ]
    one, two = tmp_path / "one", tmp_path / "two"
    assert run([*common, "--batch-tokens", "8192", "--output", str(one)]) == 0
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "29511", "-m", "simulmt"]
    command = [sys.executable, *launcher, *common, *shard, "--batch-tokens", "4096", "--output", str(two)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("pairs train") == 1  # one process talks
    for key in ("loss", "valid_loss", "tokens"):
        ours, theirs = ([record[key] for record in log_of(folder) if key in record] for folder in (one, two))
        assert ours == pytest.approx(theirs, rel=1e-4)
    for name, weight in load_file(one / "adapter_model.safetensors").items():
        other = load_file(two / "adapter_model.safetensors")[name]
        torch.testing.assert_close(weight, other, atol=1e-3, rtol=1e-2)
