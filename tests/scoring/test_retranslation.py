"""Erasure, and logs of systems that take words back."""

from __future__ import annotations

import json

import pytest

from simulmt.errors import SimulmtError
from simulmt.scoring import ScoreOptions, Unavailable, score_instances
from simulmt.scoring.erasure import normalised_erasure
from simulmt.scoring.reading import parse_hypotheses


def step(heard: float, deleted: list[str], generated: list[str], recording: str = "0", computing: float = 0.25) -> str:
    record = {"id": recording, "total_audio_processed": heard, "computation_time": computing}
    return json.dumps(record | {"deleted_tokens": deleted, "generated_tokens": generated})


LOG = "\n".join(
    [
        json.dumps({"id": "0", "metadata": {"wav_name": "talk.wav"}}),
        step(1.0, [], ["▁Die", "▁Kat"]),
        step(2.0, ["▁Kat"], ["▁Kat", "ze", "▁liegt"]),
        step(3.0, ["▁liegt"], ["▁schläft", "."]),
        "",
    ]
)


def test_erasure_is_deleted_over_final() -> None:
    assert normalised_erasure([3, 1], [10, 10]) == 0.2
    with pytest.raises(Unavailable, match="final output is empty"):
        normalised_erasure([3], [0])


def test_replay_gives_the_final_words_and_their_last_change() -> None:
    read = parse_hypotheses(LOG.encode(), "log")
    assert read.instances is not None
    (instance,) = read.instances
    assert instance.prediction == "Die Katze schläft."
    assert instance.delays == [1000.0, 2000.0, 3000.0]
    assert instance.elapsed == [1250.0, 2250.0, 3250.0]
    assert instance.source_length == 3000.0
    assert read.erasure == (2, 7)
    assert read.speech


def test_erasure_in_a_report() -> None:
    read = parse_hypotheses(LOG.encode(), "log")
    assert read.instances is not None
    report = score_instances(read.instances, [["Die Katze schläft."]], ScoreOptions(speech=True, erasure=read.erasure))
    assert report.value("NE") == pytest.approx(2 / 5)
    assert report.value("AL_CA") == pytest.approx(float(report.value("AL") or 0) + 250)


def test_recordings_are_kept_apart() -> None:
    text = "\n".join([step(1, [], ["eins"], "a"), step(1, [], ["zwei"], "b"), step(2, [], ["drei"], "a")])
    read = parse_hypotheses(text.encode(), "log")
    assert [instance.prediction for instance in read.instances or ()] == ["eins drei", "zwei"]


def test_deleting_what_is_not_there_is_an_error() -> None:
    text = "\n".join([step(1, [], ["eins"]), step(2, ["zwei"], []), ""])
    with pytest.raises(SimulmtError, match=r"log:2: .*deletes \['zwei'\]"):
        parse_hypotheses(text.encode(), "log")


def test_missing_key_is_named() -> None:
    line = json.dumps({"id": "0", "total_audio_processed": 1, "computation_time": 1, "generated_tokens": []})
    with pytest.raises(SimulmtError, match=r"log:1: .*key 'deleted_tokens' is missing"):
        parse_hypotheses(f"{line}\n".encode(), "log")
