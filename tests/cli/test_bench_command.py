"""`simulmt bench`: what it compares, and that group decoding forwards nothing twice."""

from __future__ import annotations

import json

import pytest
from families import tiny_own_model

from simulmt.benchmark.decoding import compare
from simulmt.benchmark.text import TEXT
from simulmt.cli.main import run
from simulmt.model.loading import load


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_own_model(tmp_path_factory.mktemp("model") / "own"))


def test_only_the_baseline_encodes_again() -> None:
    translator = load("en-de")  # random weights hardly write more than one word
    rows = list(compare(translator, lengths=(12,), ks=(2, 5), repeats=1))
    measures = {(row.method, row.policy): row.measure for row in rows}
    frame = translator.prompt.frame
    source = sum(
        len(translator.tokenizer.encode(word, number == 0, "word")) for number, word in enumerate(TEXT.split()[:12])
    )
    for policy in ("wait-k(k=2)", "wait-k(k=5)"):
        group, again = measures["group", policy], measures["re-encoding", policy]
        assert group.words == len(group.word_times) > 5
        once = len((*frame.source_head, *frame.source_end, *frame.target_head)) + source + group.tokens
        # Encoded again, target words see source that came after them, so the two need not write the same. An end of
        # target predicted while source was left costs one token more.
        assert group.forwarded <= once + 12
        assert again.forwarded > 1.5 * once
    whole, generated = measures["group", "full"], measures["generate()", "full"]
    assert whole.tokens == generated.tokens
    assert whole.forwarded <= generated.forwarded + 1


def test_table_and_records(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["bench", "--model", model, "--lengths", "9", "--k", "3", "--repeats", "1"]
    assert run([*arguments, "--format", "json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [row["method"] for row in record["rows"]] == ["group", "re-encoding", "group", "generate()"]
    assert all(row["words_per_second"] > 0 and row["segment_words"] == 9 for row in record["rows"])
    assert len(record["ratios"]) == 2
    assert run(arguments) == 0
    out = capsys.readouterr().out
    assert "re-encoding" in out
    assert out.count(" ×  ") == 2


@pytest.mark.parametrize("option", [["--lengths", "x"], ["--k", "0"], ["--lengths", ""]])
def test_wrong_numbers(option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", *option]) == 2
    assert "is not a list of numbers" in capsys.readouterr().err
