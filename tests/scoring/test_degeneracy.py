"""The degeneracy test: steady and lumpy policies."""

from __future__ import annotations

import pytest

from simulmt.policy import WaitK
from simulmt.policy.base import scheduled_reads
from simulmt.scoring.degeneracy import degeneracy
from simulmt.scoring.timeline import Unavailable, unit_timeline


def test_steady_policy_is_not_degenerate() -> None:
    shares = degeneracy([unit_timeline(scheduled_reads(WaitK(3), 10, 10), 10, 10)])
    assert shares.swf == 70.0
    assert shares.efsw == pytest.approx(70.0)
    assert shares.dsptv == pytest.approx(0.0)
    assert not shares.degenerate


def test_one_early_word_and_the_rest_at_the_end_is_degenerate() -> None:
    shares = degeneracy([unit_timeline([1] + [10] * 9, 10, 10)])
    assert (shares.swf, shares.efsw) == (10.0, 90.0)
    assert shares.dsptv == 80.0
    assert shares.degenerate


def test_segments_are_pooled_and_those_without_yaal_left_out_of_efsw() -> None:
    shares = degeneracy([unit_timeline([5] * 5, 5, 5), unit_timeline([2, 3, 4, 5, 5], 5, 5)])
    assert shares.swf == 30.0
    assert shares.efsw == pytest.approx(100 * 3 / 5)


def test_full_sentences_have_no_expected_share() -> None:
    shares = degeneracy([unit_timeline([4, 4], 4, 2)])
    assert shares.swf == 0.0
    with pytest.raises(Unavailable, match="before its source ended"):
        _ = shares.degenerate


def test_no_output_has_no_shares() -> None:
    with pytest.raises(Unavailable, match="nothing was written"):
        degeneracy([])
