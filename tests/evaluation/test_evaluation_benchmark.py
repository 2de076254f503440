"""The benchmark decodes both ways and compares what they give."""

from pathlib import Path

from families import tiny_own_model

from simulmt.evaluation.benchmark import measure
from simulmt.evaluation.corpus import Sentence
from simulmt.model.loading import load
from simulmt.policy import WaitK


def test_both_ways_are_timed_and_agree(tmp_path: Path) -> None:
    translator = load(str(tiny_own_model(tmp_path / "model")))
    sentences = [Sentence(n, "the cat sleeps " * (1 + n % 3)) for n in range(20)]
    speed = measure(translator, sentences, WaitK(3), rows=5, sample=6)
    assert (speed.sentences, speed.single_sentences, speed.differing) == (20, 6, 0)
    assert speed.batched > 0
    assert speed.single > 0
    assert speed.ratio == speed.batched / speed.single
