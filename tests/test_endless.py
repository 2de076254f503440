"""An endless stream: memory and time per word stay flat.

By default some two thousand words go through a real process; `SIMULMT_ENDLESS_WORDS=200000` makes it a night's work.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from families import tiny_own_model

WORDS = int(os.environ.get("SIMULMT_ENDLESS_WORDS", "2000"))


def resident(pid: int) -> int:
    """Return a process's resident memory in KiB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError("no VmRSS")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads memory from /proc")
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("punctuated", [True, False], ids=["sentences", "no punctuation"])
def test_memory_and_time_stay_flat(tmp_path: Path, punctuated: bool) -> None:
    model = tiny_own_model(tmp_path / "model", seed=33)  # a seed whose targets are short
    log = LogReader(tmp_path / "log")
    command = [
        sys.executable,
        "-m",
        "simulmt",
        "translate",
        "--model",
        str(model),
        "--display",
        "off",
        "--log",
        str(log.path),
    ]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stdin is not None
    choose = random.Random(0)
    text = "the cat sleeps on a warm stove and we read one word of it today but not tomorrow"
    vocabulary = text.split()
    chunk = WORDS // 10
    memory, times = [], []
    for number in range(10):
        words = [choose.choice(vocabulary) for _ in range(chunk)]
        if punctuated:
            words = [word + "." if place % 12 == 11 else word for place, word in enumerate(words)]
        start = time.monotonic()
        process.stdin.write((" ".join(words) + "\n").encode())
        process.stdin.flush()
        wait_for_words(process, log, (number + 1) * chunk - 80)
        times.append((time.monotonic() - start) / chunk)
        memory.append(resident(process.pid))
    process.stdin.close()
    assert process.wait(120) == 0
    assert log.update() == 10 * chunk
    assert memory[-1] <= memory[0] * 1.05, memory
    # A busy machine may double a time; growth with the length of the stream would do far more.
    assert sorted(times[5:])[2] <= 2.0 * sorted(times[1:5])[1], times


class LogReader:
    """Counts the words of a growing log; reads each line once."""

    def __init__(self, path: Path) -> None:
        self.path, self.place, self.words = path, 0, 0

    def update(self) -> int:
        if self.path.exists():
            with self.path.open(encoding="utf-8") as lines:
                lines.seek(self.place)
                whole = lines.read().rpartition("\n")[0]
            self.place += len(whole.encode()) + 1 if whole else 0
            self.words += sum(int(json.loads(line)["source_length"]) for line in whole.splitlines())
        return self.words


def wait_for_words(process: subprocess.Popen[bytes], log: LogReader, count: int) -> None:
    while log.update() < count:
        assert process.poll() is None
        time.sleep(0.2)
