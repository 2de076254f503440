"""A talk in one log against its sentences."""

from __future__ import annotations

import pytest

from simulmt.errors import SimulmtError
from simulmt.instance import Instance
from simulmt.policy import WaitK
from simulmt.policy.base import scheduled_reads
from simulmt.scoring import ScoreOptions
from simulmt.scoring.longform import cut_talk, join_talk, score_talk

SOURCES = ["a b c d", "e f g", "h i j k l"]
REFERENCES = ["A B C D", "E F G", "H I J K L"]
TARGET = "A B C D E F G H I J K L"


def talk(k: int = 3, **keys: object) -> Instance:
    delays = [float(d) for d in scheduled_reads(WaitK(k), 12, 12)]
    return Instance(0, TARGET, delays, keys.pop("elapsed", []), 12, **keys)  # type: ignore[arg-type]


def test_wait_k_over_a_talk_lags_k_words() -> None:
    report = score_talk([talk()], [REFERENCES], SOURCES)
    # each sentence's first three-word view comes as in the talk; the last sentence ends with the source: 3, 3, 3
    assert report.value("StreamLAAL") == pytest.approx(3.0)
    assert report.value("LongYAAL") == pytest.approx(3.0)
    assert report.value("BLEU") == pytest.approx(100.0)
    assert "StreamLAAL_ms" not in report.scores


def test_segments_of_the_log_need_not_be_sentences() -> None:
    whole = talk()
    first = Instance(0, "A B C", whole.delays[:3], [], 5)
    rest = Instance(1, "D E F G H I J K L", [d - 5 for d in whole.delays[3:]], [], 7)
    one, two = (score_talk(log, [REFERENCES], SOURCES) for log in ([whole], [first, rest]))
    assert two.value("StreamLAAL") == one.value("StreamLAAL")
    assert two.value("LongYAAL") == one.value("LongYAAL")


def test_words_after_the_end_of_a_sentence_count_in_full_only_for_long_yaal() -> None:
    late = Instance(0, TARGET, [4.0] * 4 + [12.0] * 8, [], 12)
    report = score_talk([late], [REFERENCES], SOURCES)
    assert report.scores["StreamLAAL"].per_segment == [4.0, 8.0, 5.0]
    assert report.scores["LongYAAL"].per_segment == [pytest.approx((4 + 3 + 2 + 1) / 4), None, None]


def test_clock_times_come_side_by_side() -> None:
    arrivals = [500.0 * i for i in range(12)]
    elapsed = [500.0 * (d - 1) + 40 for d in talk().delays]
    report = score_talk([talk(arrivals=arrivals, offset=2000.0, elapsed=elapsed)], [REFERENCES], SOURCES)
    ideal, computed = report.value("StreamLAAL_ms"), report.value("StreamLAAL_ms_CA")
    assert ideal is not None
    assert computed == pytest.approx(ideal + 40)
    assert report.value("LongYAAL_ms_CA") == pytest.approx(float(report.value("LongYAAL_ms") or 0) + 40)


def test_sentence_without_words_is_counted() -> None:
    log = Instance(0, "A B C D H I J K L", [float(d) for d in (3, 4, 5, 6, 10, 11, 12, 12, 12)], [], 12)
    report = score_talk([log], [REFERENCES], SOURCES)
    assert report.counts["empty_hypotheses"] == 1
    assert report.scores["StreamLAAL"].without_value == 1
    assert report.value("StreamLAAL") == pytest.approx(3.0)


def test_characters_are_units_where_the_language_says_so() -> None:
    log = Instance(0, "我们走他来", [2.0, 3.0, 4.0, 5.0, 5.0], [], 5)
    report = score_talk([log], [["我们走", "他来"]], ["we go now", "he comes"], ScoreOptions(language="zh"))
    assert report.hypotheses == ["我们走", "他来"]
    assert report.value("StreamLAAL") == pytest.approx(2.0)


def test_counts_that_do_not_fit_are_errors() -> None:
    joined = join_talk([talk()], "word")
    with pytest.raises(SimulmtError, match="2 source sentences but 3 reference sentences"):
        cut_talk(joined, [REFERENCES], SOURCES[:2], "word")
    with pytest.raises(SimulmtError, match=r"12 source units but the source sentences have 11 words"):
        cut_talk(joined, [REFERENCES], ["a b c", *SOURCES[1:]], "word")
    with pytest.raises(SimulmtError, match="instance 0 has 2 target units"):
        join_talk([Instance(0, "A B", [1.0], [], 2)], "word")
