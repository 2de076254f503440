"""`simulmt translate` as people use it: real processes, real pipes, a pseudo-terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
import sacrebleu
from families import tiny_model, tiny_own_model

from simulmt.cli.main import run as simulmt_run

TALK = "Last year I showed these two slides. I see your cat in the garden. Thank you."
DATA = Path(__file__).parent.parent / "data"
COMMAND = [sys.executable, "-m", "simulmt", "translate"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_own_model(tmp_path_factory.mktemp("tiny") / "tiny-en-de"))


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("talk") / "talk.txt"
    path.write_text(TALK)
    return str(path)


def run(*options: str, text: bytes | str = TALK, model: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run `simulmt translate` on `text`; output is decoded with surrogates for what is not UTF-8."""
    data = text.encode() if isinstance(text, str) else text
    model_options = ["--model", model] if model else []
    done = subprocess.run([*COMMAND, *model_options, *options], input=data, capture_output=True, timeout=200)
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(errors="surrogateescape"), done.stderr.decode(errors="replace")
    )


def run_here(
    capsys: pytest.CaptureFixture[str], *options: str, model: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `simulmt translate` in this process: the same code, without a second's start."""
    arguments = ["translate", *(["--model", model] if model else []), *options]
    capsys.readouterr()
    status = simulmt_run(arguments)
    captured = capsys.readouterr()
    return subprocess.CompletedProcess(arguments, status, captured.out, captured.err)


def log_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def words_read(path: Path) -> str:
    return " ".join(str(record["source"]) for record in log_of(path))


def read_until(descriptor: int, wanted: int, seconds: float) -> bytes:
    """Read until `wanted` bytes came or the time is over."""
    data, end = b"", time.monotonic() + seconds
    while len(data) < wanted and time.monotonic() < end:
        if select.select([descriptor], [], [], 0.1)[0]:
            piece = os.read(descriptor, 4096)
            if not piece:
                break
            data += piece
    return data


class TestTimeliness:
    def test_first_word_comes_before_the_last_is_read(self) -> None:
        process = subprocess.Popen([*COMMAND, "--k", "3"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"one two three four five six ")
        early = read_until(process.stdout.fileno(), 1, 60)
        assert early.strip()
        process.stdin.write(b"seven.\n")
        process.stdin.close()
        rest = process.stdout.read()
        assert process.wait(60) == 0
        assert (early + rest).endswith(b"\n")

    def test_same_through_a_pseudo_terminal(self) -> None:
        parent, child = pty.openpty()
        process = subprocess.Popen(
            [*COMMAND, "--k", "3", "--display", "off"],
            stdin=subprocess.PIPE,
            stdout=child,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        assert process.stdin is not None
        os.close(child)
        process.stdin.write(b"one two three four five six ")
        assert read_until(parent, 1, 60).strip()
        process.stdin.write(b"seven.\n")
        process.stdin.close()
        assert process.wait(60) == 0
        os.close(parent)

    def test_same_in_the_panel(self) -> None:
        parent, child = pty.openpty()
        environment = os.environ | {"TERM": "xterm-256color"}
        process = subprocess.Popen(
            [*COMMAND, "--k", "3"], stdin=subprocess.PIPE, stdout=child, stderr=child, env=environment, bufsize=0
        )
        os.close(child)
        assert process.stdin is not None
        process.stdin.write(b"one two three four five six ")
        screen, end = "", time.monotonic() + 60
        while not re.search(r"target +\w", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen)):
            assert time.monotonic() < end, screen
            screen += read_until(parent, 1, 1).decode(errors="replace")
        process.stdin.write(b"seven.\n")
        process.stdin.close()
        until(parent, "7 words read")
        assert process.wait(60) == 0
        os.close(parent)

    def test_a_finished_line_is_never_held_back(self) -> None:
        process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"Thank you.\n")
        output = b""
        while not output.endswith(b"\n"):
            piece = read_until(process.stdout.fileno(), 1, 60)
            assert piece
            output += piece
        process.stdin.close()
        assert process.wait(60) == 0

    def test_idle_ends_the_segment(self) -> None:
        process = subprocess.Popen(
            [*COMMAND, "--idle", "0.3", "--k", "9"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"I see your cat")
        assert read_until(process.stdout.fileno(), 1, 60).strip()
        process.stdin.close()
        assert process.wait(60) == 0


class TestResult:
    def test_real_sentences(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The shipped model translates everyday sentences well, by a score: which words it chooses may change."""
        pairs = [line.split("\t") for line in (DATA / "sentences.en-de.tsv").read_text(encoding="utf-8").splitlines()]
        (tmp_path / "source").write_text("".join(f"{source}\n" for source, _ in pairs), encoding="utf-8")
        done = run_here(capsys, str(tmp_path / "source"), "--k", "5", "--segment", "line")
        assert done.returncode == 0
        lines = done.stdout.splitlines()
        assert len(lines) == len(pairs)
        assert sacrebleu.corpus_bleu(lines, [[reference for _, reference in pairs]]).score > 28
        assert sacrebleu.corpus_chrf(lines, [[reference for _, reference in pairs]]).score > 52

    def test_what_is_written_is_what_the_log_and_the_summary_say(self, tmp_path: Path) -> None:
        log = tmp_path / "talk.log"
        done = run("--k", "3", "--to", "de", "--log", str(log))
        assert done.returncode == 0
        lines = done.stdout.splitlines()
        assert len(lines) == 3
        assert not any(mark in done.stdout for mark in ("▁", "</s>", "<|", "<eos>"))
        records = log_of(log)
        assert [record["prediction"] for record in records] == lines
        assert words_read(log) == TALK
        for record in records:
            delays, length = record["delays"], record["source_length"]
            due = [min(3 + i, length) for i in range(len(delays))]  # type: ignore[call-overload,arg-type]
            # A predicted end of the target while source is left READs once more, so a word may come later.
            assert all(at <= delay <= length for at, delay in zip(due, delays, strict=True))  # type: ignore[call-overload]
            assert len(record["delays"]) == len(record["elapsed"]) == record["prediction_length"]  # type: ignore[arg-type]
        assert "3 segments, 16 words read" in done.stderr
        assert "AL" in done.stderr

    def test_short_sentences_are_translated_in_full(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "short").write_text("Thank you.\nYes.\n\nNo.")
        done = run_here(capsys, str(tmp_path / "short"), "--k", "5")
        assert [bool(line.strip()) for line in done.stdout.splitlines()] == [True] * 3

    def test_lines_out_are_lines_in(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        long = (
            "When I was a child, my father took me to the sea in the summer, and we went out in a small boat, "
            "my mother stayed at home with my sister, who was still very young, and in the evening we came back, "
            "tired and hungry, with a few fish, which my mother cooked for us, and then we sat in the garden, "
            "my father told us old stories, and we fell asleep at the table, one after another, until it was dark."
        )
        assert len(long.split()) > 70
        (tmp_path / "lines").write_text(f"\n{long}\n\nThank you.\n\n")
        log = tmp_path / "log"
        done = run_here(capsys, str(tmp_path / "lines"), "--segment", "line", "--log", str(log))
        assert done.stdout.count("\n") == 5
        assert [record["source"] for record in log_of(log)] == ["", long, "", "Thank you.", ""]
        assert "2 segments" in done.stderr
        done = run_here(capsys, str(tmp_path / "lines"), "--segment", "line", "--max-words", "80")
        assert done.stdout.count("\n") == 5
        assert "1 × line translated in parts" in done.stderr

    def test_wait_k_does_not_depend_on_how_the_words_come(
        self, talk: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        fast = run_here(capsys, talk, "--k", "3", "--log", str(tmp_path / "fast"))
        slow = run_here(capsys, talk, "--k", "3", "--log", str(tmp_path / "slow"), "--pace", "600")
        assert fast.stdout == slow.stdout
        assert [r["delays"] for r in log_of(tmp_path / "fast")] == [r["delays"] for r in log_of(tmp_path / "slow")]
        assert "real-time factor" in slow.stderr

    def test_jsonl(self, tiny: str, talk: str, capsys: pytest.CaptureFixture[str]) -> None:
        done = run_here(capsys, talk, "--format", "jsonl", model=tiny)
        records = [json.loads(line) for line in done.stdout.splitlines()]
        words = [record for record in records if record["type"] == "word"]
        ends = [record for record in records if record["type"] == "segment"]
        assert {"text", "segment", "index", "delay", "arrival_ms", "emission_ms"} <= words[0].keys()
        assert [end["segment"] for end in ends] == list(range(len(ends)))
        assert " ".join(end["source"] for end in ends) == TALK

    def test_vtt(self, talk: str, capsys: pytest.CaptureFixture[str]) -> None:
        done = run_here(capsys, talk, "--format", "vtt")
        assert done.stdout.startswith("WEBVTT\n\n")
        assert done.stdout.count("-->") >= 3

    def test_dry_run_says_what_would_run(self, tiny: str, capsys: pytest.CaptureFixture[str]) -> None:
        done = run_here(capsys, "--dry-run", "--k", "7", "--catchup", "0.2", model=tiny)
        assert done.returncode == 0
        assert "wait-k(k=7,catchup=0.2)" in done.stdout
        assert "English → German" in done.stdout

    def test_display_off_is_silent(self, tiny: str, talk: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert run_here(capsys, talk, "--display", "off", model=tiny).stderr == ""


BAD_INPUTS = {
    "empty": b"",
    "only white space": b" \n\t\r\n ",
    "no final newline": b"one two",
    "invalid bytes": b"one \xff\xfe two \xc3",
    "byte order mark": b"\xef\xbb\xbfone two",
    "crlf": b"one two\r\nthree four\r\n",
    "nul and control": b"o\x00ne t\x07wo \x1b three",
    "zero width": "one\u200b two \u200b three".encode(),
    "tabs": b"one\ttwo\t\tthree",
    "emoji and cjk": "名字 😀 word".encode(),
    "long word": b"a" * 10_000 + b" end",
    "no punctuation": b"word " * 200,
}


@pytest.mark.parametrize("name", BAD_INPUTS)
def test_no_input_is_too_odd(name: str, tiny: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, source = tmp_path / "log", tmp_path / "source.txt"
    source.write_bytes(BAD_INPUTS[name])
    done = run_here(capsys, str(source), "--log", str(log), model=tiny)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    text = BAD_INPUTS[name].decode("utf-8-sig", errors="replace")
    for character in "\x00\x07\x1b\u200b":
        text = text.replace(character, "")
    read = words_read(log) if log.exists() else ""
    assert read.replace(" ", "") == "".join(text.split())
    if name == "invalid bytes":
        assert "not UTF-8" in done.stderr


class TestEnds:
    def test_a_reader_that_closes_early(self, tiny: str) -> None:
        shell = f"yes 'one two three.' | head -2000 | {' '.join(COMMAND)} --model {tiny} | head -1"
        done = subprocess.run(["bash", "-c", f"set -o pipefail; {shell}"], capture_output=True, timeout=100, text=True)
        assert done.stdout.count("\n") == 1
        assert "Traceback" not in done.stderr
        assert "Broken" not in done.stderr

    @pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
    def test_interrupt_ends_the_sentence(self, number: int, status: int) -> None:
        process = subprocess.Popen(
            [*COMMAND, "--k", "3"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        )
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"I see your cat in the")
        early = read_until(process.stdout.fileno(), 1, 60)
        process.send_signal(number)
        rest = process.stdout.read()
        assert process.wait(60) == status
        assert (early + rest).endswith(b"\n")
        errors = process.stderr.read().decode()
        assert "1 segment, 5 words read" in errors
        assert "1 × word that waited when the run was interrupted" in errors
        assert "Traceback" not in errors

    def test_interrupt_on_a_file_leaves_the_rest(self, tmp_path: Path) -> None:
        (tmp_path / "long.txt").write_text("I see your cat in the garden today.\n" * 3000)
        process = subprocess.Popen(
            [*COMMAND, str(tmp_path / "long.txt")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        )
        assert process.stdout is not None
        assert process.stderr is not None
        early = read_until(process.stdout.fileno(), 1, 60)
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        assert process.wait(60) == 130
        assert (early + rest).endswith(b"\n")
        assert (early + rest).count(b"\n") < 1000
        assert "interrupted, not translated" in process.stderr.read().decode()

    @pytest.mark.parametrize(
        ("redirect", "status", "words"),
        [("> /dev/full", 1, "cannot be written"), (">&-", 0, ""), ("2>&-", 0, ""), ("| true", 0, "")],
    )
    def test_output_that_cannot_be_written(self, redirect: str, status: int, words: str, tiny: str, talk: str) -> None:
        shell = f"set -o pipefail; {' '.join(COMMAND)} --model {tiny} {talk} {redirect}"
        done = subprocess.run(["bash", "-c", shell], capture_output=True, timeout=100, text=True)
        assert done.returncode == status, done.stderr
        assert words in done.stderr
        assert "Traceback" not in done.stderr

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
    def test_a_log_that_cannot_be_written_is_named_after_the_summary(self, tiny: str, talk: str, capsys) -> None:
        done = run_here(capsys, talk, "--log", "/dev/full", model=tiny)
        assert done.returncode == 1
        assert done.stderr.count("/dev/full cannot be written") == 1
        assert "segment, " in done.stderr

    def test_nothing_is_written_before_the_model_is_there(self, talk: str, tmp_path: Path, capsys) -> None:
        model = tiny_own_model(tmp_path / "broken")
        (model / "model.safetensors").write_bytes(b"no weights")
        done = run_here(capsys, talk, "--format", "vtt", model=str(model))
        assert (done.returncode, done.stdout) == (1, "")

    def test_any_character_can_be_written_in_any_locale(self, talk: str) -> None:
        environment = os.environ | {
            "LC_ALL": "C",
            "PYTHONIOENCODING": "",
            "PYTHONUTF8": "0",
            "PYTHONCOERCECLOCALE": "0",
        }
        done = subprocess.run([*COMMAND, talk], capture_output=True, timeout=100, env=environment)
        assert done.returncode == 0, done.stderr
        done.stdout.decode("utf-8")


class TestTerminal:
    """Both on one pseudo-terminal: the panel and the text do not mix."""

    def play(self, *options: str, environment: dict[str, str] | None = None) -> str:
        parent, child = pty.openpty()
        process = subprocess.Popen(
            [*COMMAND, *options], stdin=subprocess.DEVNULL, stdout=child, stderr=child, env=environment, close_fds=True
        )
        os.close(child)
        data = b""
        while True:
            try:
                piece = os.read(parent, 65536)
            except OSError:
                break
            if not piece:
                break
            data += piece
        os.close(parent)
        assert process.wait(60) == 0
        return data.decode()

    def test_finished_segments_scroll_above_the_panel(self, talk: str) -> None:
        screen = self.play(talk, environment=os.environ | {"TERM": "xterm-256color"})
        assert "loading the model" in screen
        assert "behind" in screen
        assert "3 segments" in screen
        assert screen.count("\x1b[?25l") == screen.count("\x1b[?25h")  # the cursor is back

    def test_plain_on_a_dumb_terminal_and_for_records(self, talk: str) -> None:
        dumb = self.play(talk, environment=os.environ | {"TERM": "dumb"})
        assert "\x1b" not in dumb
        plain = self.play(talk, environment=os.environ | {"TERM": "xterm-256color", "NO_COLOR": "1"})
        assert "\x1b" not in plain
        records = self.play(talk, "--format", "jsonl", environment=os.environ | {"TERM": "xterm-256color"})
        assert "\x1b" not in records
        assert all(line.startswith("{") for line in records.splitlines()[:5])


def test_text_and_panel_on_two_terminals(tiny: str, talk: str) -> None:
    (text, text_end), (panel, panel_end) = pty.openpty(), pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color"}
    process = subprocess.Popen(
        [*COMMAND, "--model", tiny, talk], stdin=subprocess.DEVNULL, stdout=text_end, stderr=panel_end, env=environment
    )
    os.close(text_end)
    os.close(panel_end)
    shown = {text: b"", panel: b""}
    while shown:
        for descriptor in select.select([*shown], [], [], 60)[0]:
            try:
                shown[descriptor] += os.read(descriptor, 65536)
            except OSError:  # the end, from a terminal
                if descriptor == text:
                    assert shown[text].strip()
                    assert b"\x1b" not in shown[text]
                else:
                    assert b"behind" in shown[panel]
                del shown[descriptor]
                os.close(descriptor)
    assert process.wait(60) == 0


def test_the_panel_follows_the_size_of_its_terminal(tiny: str) -> None:
    parent, child = pty.openpty()
    set_columns(parent, 60)
    process = subprocess.Popen(
        [*COMMAND, "--model", tiny, "--k", "3"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=child,
        env=os.environ | {"TERM": "xterm-256color"},
        bufsize=0,
    )
    os.close(child)
    assert process.stdin is not None
    process.stdin.write(b"one two three four ")
    assert "╮" in (narrow := until(parent, "behind").decode())
    set_columns(parent, 100)
    wide = until(parent, "─" * 70).decode()
    process.stdin.close()
    until(parent, "4 words read")
    assert process.wait(60) == 0
    os.close(parent)
    assert "─" * 70 not in narrow
    assert max(map(len, re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\n", wide).splitlines())) == 98


def set_columns(terminal: int, columns: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


def until(descriptor: int, wanted: str) -> bytes:
    """Read until `wanted` came."""
    data, end = b"", time.monotonic() + 60
    while wanted.encode() not in data:
        assert time.monotonic() < end, data
        if select.select([descriptor], [], [], 0.1)[0]:
            data += os.read(descriptor, 4096)
    return data


def bad_adapter(folder: Path) -> Path:
    folder.mkdir()
    (folder / "adapter_config.json").write_text('{"peft_type": "LORA", "r": 4, "target_modules": ["q_proj"]}')
    return folder


WRONG_USAGE = [
    (["--to", "klingonish"], 2, "klingonish"),
    (["--to", "fr"], 2, "en→de"),
    (["--k", "0"], 2, "k must be at least 1"),
    (["--k", "many"], 2, "many"),
    (["--catchup", "1.5"], 2, "catchup"),
    (["--k", "full", "--catchup", "0.5"], 2, "--catchup belongs to wait-k"),
    (["--k", "full", "--policy", "wait-k"], 2, "--k full is not wait-k"),
    (["--policy", "telepathy"], 2, "telepathy"),
    (["--model", "./no-such-folder"], 1, "no-such-folder"),
    (["no-such-file.txt"], 1, "no-such-file.txt"),
]


@pytest.mark.parametrize(("options", "status", "words"), WRONG_USAGE, ids=lambda value: str(value))
def test_wrong_usage_is_one_line(
    options: list[str], status: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    done = run_here(capsys, *options)
    assert done.returncode == status
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    import torch

    root = tmp_path_factory.mktemp("broken")
    good = tiny_model("llama", root / "good")
    pickle = tiny_model("llama", root / "pickle")
    (pickle / "model.safetensors").unlink()
    torch.save({}, pickle / "pytorch_model.bin")
    cut = tiny_own_model(root / "cut")
    data = (cut / "model.safetensors").read_bytes()
    (cut / "model.safetensors").write_bytes(data[: len(data) // 2])
    empty = root / "empty"
    empty.mkdir()
    languages = ["--from", "en", "--to", "de"]
    return {
        "pickle": ["--model", str(pickle), *languages],
        "cut": ["--model", str(cut)],
        "empty folder": ["--model", str(empty), *languages],
        "adapter without weights": ["--model", str(good), "--adapter", str(bad_adapter(root / "adapter")), *languages],
        "adapter that is none": ["--model", str(good), "--adapter", str(empty), *languages],
        "no language": ["--model", str(good)],
    }


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("pickle", "pickle"),
        ("cut", "cannot be loaded"),
        ("empty folder", "config.json"),
        ("adapter without weights", "adapter"),
        ("adapter that is none", "adapter_config.json"),
        ("no language", "--to"),
    ],
)
def test_broken_models_are_one_line(
    broken: dict[str, list[str]], case: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    done = run_here(capsys, *broken[case])
    assert done.returncode == (2 if case == "no language" else 1), done.stderr
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert any(line.startswith("simulmt: ") and words in line for line in lines), done.stderr
    assert "Traceback" not in done.stderr
