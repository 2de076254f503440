"""Cutting a talk by least word errors."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulmt.scoring.resegmentation import resegment


def edit_distance(first: list[str], second: list[str]) -> int:
    row = list(range(len(second) + 1))
    for i, unit in enumerate(first, 1):
        above, row = row, [i]
        for j, other in enumerate(second, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (unit != other)))
    return row[-1]


def cost(hypothesis: list[str], references: list[list[list[str]]], cuts: list[int]) -> int:
    parts = [hypothesis[a:b] for a, b in itertools.pairwise(cuts)]
    return sum(min(edit_distance(part, stream[i]) for stream in references) for i, part in enumerate(parts))


def test_surplus_words_between_sentences_go_to_the_first() -> None:
    assert resegment(["a", "b", "X", "c", "d"], [[["a", "b"], ["c", "d"]]]) == [0, 3, 5]


@pytest.mark.parametrize(
    ("hypothesis", "cuts"),
    [("a b c d e f", [0, 2, 4, 6]), ("a b e f", [0, 2, 2, 4]), ("", [0, 0, 0, 0]), ("b c d f", [0, 1, 3, 4])],
)
def test_sentences_get_their_words(hypothesis: str, cuts: list[int]) -> None:
    assert resegment(hypothesis.split(), [[["a", "b"], ["c", "d"], ["e", "f"]]]) == cuts


def test_second_reference_counts_as_well() -> None:
    references = [[["a", "b"], ["c", "d"]], [["p", "q", "r"], ["s"]]]
    assert resegment(["p", "q", "r", "c", "d"], references) == [0, 3, 5]


words = st.sampled_from("abcd")


@settings(max_examples=60)
@given(
    hypothesis=st.lists(words, max_size=7),
    references=st.integers(1, 3).flatmap(
        lambda n: st.lists(st.lists(st.lists(words, max_size=4), min_size=n, max_size=n), min_size=1, max_size=2)
    ),
)
def test_no_other_cut_has_fewer_errors(hypothesis: list[str], references: list[list[list[str]]]) -> None:
    cuts = resegment(hypothesis, references)
    assert cuts[0] == 0
    assert cuts[-1] == len(hypothesis)
    inner = itertools.combinations_with_replacement(range(len(hypothesis) + 1), len(references[0]) - 1)
    best = min(cost(hypothesis, references, [0, *cut, len(hypothesis)]) for cut in inner)
    assert cost(hypothesis, references, cuts) == best


def test_mweralign_has_the_same_errors() -> None:
    mweralign = pytest.importorskip("mweralign")
    talk = "the cat sat on mat a dog barked very loud and then it it slept"
    sentences = ["the cat sat on the mat", "the dog barked loudly", "and then it slept"]
    theirs = mweralign.align_texts("\n".join(sentences), talk).split("\n")
    references = [[sentence.split() for sentence in sentences]]
    ours = resegment(talk.split(), references)
    cuts = [0, *itertools.accumulate(len(line.split()) for line in theirs)]
    assert cost(talk.split(), references, ours) == cost(talk.split(), references, cuts)
