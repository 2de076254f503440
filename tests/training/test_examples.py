import pytest
from families import tiny_tokenizer
from hypothesis import given
from hypothesis import strategies as st

from simulmt.errors import UsageError
from simulmt.model.layout import Frame
from simulmt.policy import Full, WaitK
from simulmt.policy.base import scheduled_reads
from simulmt.text import parse
from simulmt.text.tokenizers import HubTokenizer
from simulmt.training.examples import FULL, ExampleMaker, Lags, caption_noise, peeking, wait_k_reads

lengths = st.integers(1, 40)


@given(k=st.integers(0, 15), source=lengths, target=lengths)
def test_reads_are_those_of_the_policy(k: int, source: int, target: int) -> None:
    policy = Full() if k == FULL else WaitK(k)
    assert wait_k_reads(k, source, target) == scheduled_reads(policy, source, target + 1)


@pytest.mark.parametrize(
    ("text", "values", "full", "shown"),
    [
        ("3", (3,), 0.0, "3"),
        ("1-4", (1, 2, 3, 4), 0.2, "1-4,full"),
        ("1,3,5", (1, 3, 5), 0.2, "1,3,5,full"),
        ("3,full", (3, FULL), 0.0, "3,full"),
        ("full", (FULL,), 0.0, "full"),
        ("1-3, 7", (1, 2, 3, 7), 0.2, "1,2,3,7,full"),
    ],
)
def test_lags(text: str, values: tuple[int, ...], full: float, shown: str) -> None:
    lags = Lags.parse(text)
    assert (lags.values, lags.full_share, str(lags)) == (values, full, shown)
    assert Lags.parse(text, 0.5).full_share == 0.5


@pytest.mark.parametrize("text", ["", "0", "x", "5-3", "1-", "-2", "1.5"])
def test_wrong_lags(text: str) -> None:
    with pytest.raises(UsageError, match="--k"):
        Lags.parse(text)


def test_noise_looks_like_captions() -> None:
    assert (
        caption_noise("“Well,” he said, it's a well-known fact – isn't it?")
        == "well he said it's a well-known fact isn't it"
    )
    assert caption_noise("3.5 %") == "35"
    assert caption_noise("?!") == "?!"  # nothing would be left


@given(st.text())
def test_noise_has_no_case_and_is_stable(text: str) -> None:
    once = caption_noise(text)
    assert caption_noise(once) == once


def test_peeking_hides_what_is_read_after_a_unit() -> None:
    tokenizer = HubTokenizer(tiny_tokenizer("none"))
    frame = Frame((5,), (6,), (7, 8), 2)
    maker = ExampleMaker(frame, tokenizer, parse("en"), parse("de"))
    plain, peek = maker.make("a b c d", "xyz w", 1), maker.make("a b c d", "xyz w", 1, peek=True)
    first = len(tokenizer.encode("xyz", True))
    assert plain.reads == [1, *[1] * first, 2, *[2] * (len(plain.reads) - first - 3), 3]
    assert peek.reads == [1, *[1] * first, 1, *[2] * (len(plain.reads) - first - 3), 2]
    assert (plain.target, plain.labels) == (peek.target, peek.labels)
    assert peeking(plain, 2, maker.target_units("xyz w"), [1, 2, 3]) == peek
