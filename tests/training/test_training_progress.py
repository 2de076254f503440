import sys

import pytest

from simulmt.training import progress
from simulmt.training.progress import Display, counted


def test_long_counting_shows_lines_that_say_how_far(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    moments = iter(range(0, 10_000, 6))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(moments)))
    items = list(Display().track(range(2000), "tokenizing", 2000))
    assert items == list(range(2000))
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines[0].startswith("tokenizing: 256 of 2,000 pairs, ")
    assert len(lines) == 4  # the clock moves 6 seconds a look, so every second look is 10 seconds after a line
    assert all("ETA" in line for line in lines)


def test_short_and_quiet_counting_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(Display().track(range(3000), "reading x.tsv")) == list(range(3000))
    assert list(Display(quiet=True).track(range(3000), "reading x.tsv")) == list(range(3000))
    assert capsys.readouterr() == ("", "")


def test_a_terminal_shows_a_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    assert list(Display().track(range(600), "tokenizing", 600)) == list(range(600))
    assert "tokenizing: 512 of 600 pairs" in capsys.readouterr().err


def test_what_counting_says() -> None:
    assert counted("tokenizing", 1200, 5000, 3.0) == "tokenizing: 1,200 of 5,000 pairs, 400 a second, ETA 0:10"
    assert counted("reading x", 1200, None, 3.0) == "reading x: 1,200 pairs, 400 a second"
    assert counted("tokenizing", 0, 5, 0.0).endswith("ETA ?")
