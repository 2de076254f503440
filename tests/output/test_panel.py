"""The live panel: what it shows, and that it does not mix with the text."""

from __future__ import annotations

import io

from rich.console import Console

from simulmt.emission import Emission, SegmentEnd
from simulmt.instance import Instance
from simulmt.output.panel import PanelSink
from simulmt.output.statistics import Statistics


class Talk:
    """A stream that has read seven of eight words."""

    backlog = 3

    def __init__(self, words: list[str]) -> None:
        self.words = words

    def source(self) -> tuple[list[str], int]:
        return self.words, len(self.words) - 1


def drawn(width: int, words: list[str], written: list[str]) -> str:
    console = Console(file=io.StringIO(), width=width, height=12, force_terminal=True)
    panel = PanelSink(console, "en-de · wait-k(k=5)", Statistics(), owns_text=False)
    panel.attach(Talk(words))
    for index, word in enumerate(written):
        panel.emit(Emission(word, 0, index, index + 1, 0.0, float(index), index > 0))
    paper = Console(file=io.StringIO(), width=width, height=12)
    paper.print(panel)
    panel.close()
    assert isinstance(paper.file, io.StringIO)
    return paper.file.getvalue()


def test_shows_source_target_and_lag() -> None:
    picture = drawn(90, ["I", "see", "your", "cat", "in", "the", "garden", "today"], ["Ich", "sehe"])
    assert "I see your cat in the garden today" in picture
    assert "Ich sehe" in picture
    assert "behind 5" in picture
    assert "backlog 3" in picture


def test_fits_narrow_windows_and_wide_characters() -> None:
    for width in (20, 40, 80):
        picture = drawn(width, ["名字"] * 200, ["Wort"] * 300)
        lines = picture.splitlines()
        assert all(Console().render_str(line).cell_len <= width for line in lines)
        assert len(lines) < 20


def test_finished_segments_scroll_above_when_the_panel_owns_the_text() -> None:
    screen = io.StringIO()
    panel = PanelSink(Console(file=screen, width=60, force_terminal=True), "label", Statistics(), owns_text=True)
    panel.emit(Emission("Ja.", 0, 0, 1, 0.0, 0.0, False))
    panel.end(SegmentEnd(Instance(0, "Ja.", [1], [0.0], 1), "sentence", None, 0.0))
    panel.emit(Emission("Halb", 1, 0, 1, 0.0, 0.0, False))
    panel.close()
    panel.close()
    text = screen.getvalue()
    assert text.count("Ja.\n") >= 1 or "Ja.\r\n" in text
    assert "Halb" in text
