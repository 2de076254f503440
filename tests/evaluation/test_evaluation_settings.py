"""Lists of k."""

import pytest

from simulmt.errors import UsageError
from simulmt.evaluation.settings import Setting, parse_settings


def test_a_list_of_numbers_ranges_and_full() -> None:
    settings = parse_settings("1, 3-5,full,4")
    assert [setting.label for setting in settings] == ["k1", "k3", "k4", "k5", "full"]
    assert [setting.make().name for setting in settings][:2] == ["wait-k(k=1)", "wait-k(k=3)"]
    assert settings[-1].make().name == "full"


def test_catchup_is_part_of_the_label() -> None:
    assert [setting.label for setting in parse_settings("3,full", 0.25)] == ["k3-c0.25", "full"]


@pytest.mark.parametrize("text", ["0", "x", "", "5-3", "1,,2", "-1", "2.5", "1-9999999"])
def test_what_is_no_list_of_k(text: str) -> None:
    with pytest.raises(UsageError):
        parse_settings(text)


def test_unknown_policies_are_refused() -> None:
    with pytest.raises(UsageError, match="unknown policy"):
        Setting("nonsense").make()
