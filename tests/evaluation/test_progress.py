"""Progress where there is no terminal."""

import io

import pytest

from simulmt.evaluation.progress import Lines, duration, progress_for


def test_lines_come_now_and_then_with_rate_and_time_left() -> None:
    now = [0.0]
    stream = io.StringIO()
    lines = Lines(stream, lambda: now[0])
    with lines as progress:
        progress.start("k3", 100, 20)
        for _ in range(30):
            now[0] += 0.5
            progress.advance()
        progress.finish()
    assert stream.getvalue().splitlines() == [
        "k3: 20 of 100 sentences were done before",
        "k3: 40 of 100 sentences, 2.0 a second, 30 s left",
        "k3: 50 sentences, 2.0 a second, 15 s",
    ]


def test_a_setting_that_was_done_says_so_only() -> None:
    stream = io.StringIO()
    lines = Lines(stream)
    lines.start("k3", 5, 5)
    lines.finish()
    assert stream.getvalue() == "k3: 5 of 5 sentences were done before\n"


def test_no_terminal_no_bar() -> None:
    assert isinstance(progress_for(io.StringIO()), Lines)


@pytest.mark.parametrize(("seconds", "text"), [(42.4, "42 s"), (185, "3 min 05 s"), (7800, "2 h 10 min")])
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text
