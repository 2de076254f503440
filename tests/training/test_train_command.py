"""`simulmt train` from command line to a model folder."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from training_pairs import PAIRS, write_pairs

from simulmt.cli.main import run
from simulmt.model.catalog import Card
from simulmt.model.loading import Options, load
from simulmt.policy import WaitK
from simulmt.text.tokenizers import SuffixTokenizer
from simulmt.training import fresh
from simulmt.training.fresh import Size
from simulmt.training.quality import translate_all

QUICK = ["--device", "cpu", "--precision", "float32", "--no-compile", "--log-every", "1"]


@pytest.fixture(autouse=True)
def _small_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(fresh.SIZES, "tiny", Size(2, 64, 400))


def log_of(output: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (output / "train.jsonl").read_text().splitlines()]


def test_from_nothing_to_a_model_that_translates(tmp_path: Path) -> None:
    output = tmp_path / "en-de"
    command = ["train", str(write_pairs(tmp_path)), "--from", "English", "--to", "de", "--size", "tiny"]
    learn = ["--k", "3", "--noise", "0", "--join", "0", "--valid", "0", "--epochs", "100", "--batch-tokens", "8192"]
    rates = ["--lr", "1e-2", "--warmup", "10", "--decay", "0.5", "--label-smoothing", "0"]
    assert run([*command, "--output", str(output), *QUICK, *learn, *rates]) == 0
    assert sorted(path.name for path in output.iterdir()) == [
        "README.md", "checkpoints", "config.json", "model.safetensors", "run.json", "sentencepiece.model",
        "simulmt.json", "train.jsonl",
    ]  # fmt: skip
    card = Card.load(output)
    assert (card.source, card.target, card.phi, card.base) == ("en", "de", 0, None)
    assert all(weight.dtype == torch.bfloat16 for weight in load_file(output / "model.safetensors").values())
    translator = load(str(output), options=Options(device="cpu", dtype="float32"))
    hypotheses = translate_all(translator, [source for source, _ in PAIRS], WaitK(3))
    assert sum(a == b for a, (_, b) in zip(hypotheses, PAIRS, strict=True)) >= 30

    onwards = tmp_path / "onwards"
    assert run([*command, "--init", str(output), "--output", str(onwards), *QUICK, "--max-steps", "2"]) == 0
    assert (onwards / "sentencepiece.model").read_bytes() == (output / "sentencepiece.model").read_bytes()
    first = next(record for record in log_of(onwards) if "loss" in record)
    assert first["loss"] < log_of(output)[0]["loss"] / 2


def test_the_vocabulary_marks_ends_of_words(tmp_path: Path) -> None:
    output = tmp_path / "out"
    command = [
        "train",
        str(write_pairs(tmp_path)),
        "--from",
        "en",
        "--to",
        "de",
        "--size",
        "tiny",
        "--vocabulary",
        "330",
    ]
    assert run([*command, "--output", str(output), *QUICK, "--max-steps", "1", "--valid", "0"]) == 0
    tokenizer = SuffixTokenizer(output / "sentencepiece.model")
    assert tokenizer.size <= 330
    for text in ("cat", "2014", "猫"):
        tokens = tokenizer.encode(text, True)
        assert tokenizer.decode(tokens) == text
        assert [tokenizer.ends_unit(token) for token in tokens] == [False] * (len(tokens) - 1) + [True]
    assert len(tokenizer.encode("2014", True)) >= 4  # a digit is a piece of its own
    ids = [tokenizer.model.unk_id(), tokenizer.model.bos_id(), tokenizer.model.eos_id(), tokenizer.model.pad_id()]
    assert ids == [0, 1, 2, 3]


def test_resumed_training_is_as_if_never_stopped(tmp_path: Path) -> None:
    command = ["train", str(write_pairs(tmp_path)), "--from", "en", "--to", "de", "--size", "tiny", *QUICK]
    options = ["--batch-tokens", "512", "--max-steps", "8", "--save-minutes", "0"]
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert run([*command, *options, "--output", str(whole)]) == 0
    monkey = pytest.MonkeyPatch()
    with monkey.context() as patch:
        patch.setattr("simulmt.training.trainer.Trainer._advance", _fails_at_step(5))
        with pytest.raises(RuntimeError, match="power cut"):
            run([*command, *options, "--output", str(parts)])
    assert run(["train", "--resume", "--output", str(parts)]) == 0
    ours, theirs = (load_file(folder / "model.safetensors") for folder in (parts, whole))
    for name in ours:
        assert torch.equal(ours[name], theirs[name]), name
    assert [r["loss"] for r in log_of(parts) if "loss" in r] == [r["loss"] for r in log_of(whole) if "loss" in r]


def _fails_at_step(step: int) -> Any:
    from simulmt.training.trainer import Trainer

    advance = Trainer._advance

    def failing(self: Trainer, *arguments: Any) -> None:
        advance(self, *arguments)
        if self.progress.step == step:
            raise RuntimeError("power cut")

    return failing


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the languages are missing"),
        (["--from", "en", "--to", "klingonisch"], "klingonisch"),
        (["--from", "en", "--to", "de", "--init", "nowhere"], "is not a model of `simulmt train`"),
        (["--from", "en", "--to", "de", "--device", "abacus"], "--device 'abacus' cannot be used"),
    ],
)
def test_wrong_use_is_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    data = write_pairs(tmp_path)
    capfd.readouterr()
    assert run(["train", str(data), "--output", str(tmp_path / "out"), *arguments]) == 2
    lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith("simulmt: ")]
    assert len(lines) == 1
    assert message in lines[0]


def test_sizes_are_about_what_the_help_says() -> None:
    with torch.device("meta"):
        counts = {
            name: sum(weight.numel() for weight in fresh.new_model(size, size.pieces).parameters())
            for name, size in {
                "small": fresh.SIZES["small"],
                "base": fresh.SIZES["base"],
                "6": Size(4, 256, 8_000),
            }.items()
        }
    assert {name: round(count / 1e6) for name, count in counts.items()} == {"small": 20, "base": 53, "6": 5}
