"""Makes examples/live-display.svg: the live panel in the middle of a talk, drawn by the program itself.

Run it from anywhere: `python examples/live_display.py`. It translates examples/talk.txt with the shipped model and stops
after a number of words.
"""

from __future__ import annotations

import io
import time
from pathlib import Path

from rich.console import Console

from simulmt.emission import Emission, SegmentEnd
from simulmt.model.loading import load
from simulmt.output.panel import PanelSink
from simulmt.output.statistics import Statistics
from simulmt.policy import WaitK
from simulmt.stream import Stream
from simulmt.text.events import Word
from simulmt.text.segmenter import Segmenter

HERE = Path(__file__).parent
WORDS = 46
PACE = 0.1


def main() -> None:
    shown = Console(width=96, file=io.StringIO(), force_terminal=True)
    finished: list[str] = []
    translator = load("en-de")
    statistics = Statistics()
    panel = PanelSink(shown, "en-de · wait-k(k=5)", statistics, owns_text=True)
    stream = Stream(translator, WaitK(5), translator.decoder())
    panel.attach(stream)
    segmenter = Segmenter()
    for word in (HERE / "talk.txt").read_text(encoding="utf-8").split()[:WORDS]:
        time.sleep(PACE)
        now = time.monotonic()
        for item in segmenter.push(Word(word, now)):
            stream.push(item)
        panel.heard(1, now)
        for output in stream.outputs():
            for sink in (statistics, panel):
                if isinstance(output, Emission):
                    sink.emit(output)
                else:
                    sink.end(output)
            if isinstance(output, SegmentEnd):
                finished.append(output.instance.prediction)
    paper = Console(record=True, width=96, file=io.StringIO(), force_terminal=True)
    for line in finished:
        paper.print(line)
    paper.print(panel)
    panel.close()
    paper.save_svg(str(HERE / "live-display.svg"), title="tail -f talk.txt | simulmt translate --k 5 --to de")


if __name__ == "__main__":
    main()
