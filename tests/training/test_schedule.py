import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulmt.errors import UsageError
from simulmt.training.schedule import Limits, Schedule


def test_warm_up_stable_decay() -> None:
    schedule = Schedule(peak=1.0, warmup=4, decay=0.25)
    assert [schedule.rate(step, step / 20) for step in (0, 1, 3, 10, 15)] == [0.25, 0.5, 1.0, 1.0, 1.0]
    assert schedule.rate(19, 0.95) == pytest.approx(0.2)
    assert schedule.rate(20, 1.0) == 0.0
    assert [schedule.decaying(share) for share in (0.74, 0.75)] == [False, True]


@pytest.mark.parametrize(
    ("limits", "shares"),
    [
        (Limits(steps=10), [0.0, 0.5, 1.0]),
        (Limits(epochs=4), [0.0, 0.25, 0.5]),
        (Limits(seconds=50), [0.0, 0.6, 1.2]),
        (Limits(epochs=4, steps=10, seconds=50), [0.0, 0.6, 1.2]),
    ],
)
def test_the_first_limit_counts(limits: Limits, shares: list[float]) -> None:
    places = [(0.0, 0, 0.0), (1.0, 5, 30.0), (2.0, 10, 60.0)]
    assert [limits.progress(*place) for place in places] == shares


@given(step=st.integers(0, 10_000), progress=st.floats(0, 1.5), warmup=st.integers(0, 500), decay=st.floats(0, 1))
def test_the_rate_is_never_outside(step: int, progress: float, warmup: int, decay: float) -> None:
    assert 0 <= Schedule(2.0, warmup, decay).rate(step, progress) <= 2.0


def test_wrong_limits() -> None:
    with pytest.raises(UsageError, match="no end"):
        Limits()
    with pytest.raises(UsageError, match="--max-minutes must be above 0"):
        Limits(epochs=1, seconds=-5)
    with pytest.raises(UsageError, match="--decay"):
        Schedule(1.0, decay=1.5)
