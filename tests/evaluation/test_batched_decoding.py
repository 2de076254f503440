"""Batched decoding gives the words, delays and scores of one stream at a time, for packed and for padded batches."""

from itertools import product
from pathlib import Path

import pytest
import torch
from families import FAMILIES, tiny_model, tiny_own_model
from hypothesis import given, settings
from hypothesis import strategies as st

from simulmt.evaluation.corpus import Sentence
from simulmt.evaluation.decoding import alike, decode, decode_fitting, default_rows
from simulmt.instance import Instance
from simulmt.model.loading import Translator, load
from simulmt.model.packing import PackedDecoder, can_pack
from simulmt.policy import Full, Policy, WaitK
from simulmt.stream import Segment
from simulmt.text.events import Word

SOURCES = [
    "The cat, which is sleeping, is black and we read a word in 2014.",
    "Yes.",
    "",
    "Where is the station, please?",
    "a b",
    "Tomorrow the sun will shine on the three red apples of my sister.",
    "He wrote a letter.",
]
SENTENCES = [Sentence(7 + index, source, f"Satz {index}") for index, source in enumerate(SOURCES)]


@pytest.fixture(scope="module", params=["own", *(name for name in FAMILIES if name != "llama")])
def translator(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Translator:
    """A tiny random model of our own kind or of a family of transformers."""
    folder = tmp_path_factory.mktemp("model")
    place = tiny_own_model(folder, phi=3) if request.param == "own" else tiny_model(request.param, folder)
    return load(str(place), "en", "de")


def words(instances: list[Instance]) -> dict[int, tuple[str, list[float], float]]:
    return {instance.index: (instance.prediction, instance.delays, instance.source_length) for instance in instances}


def one_by_one(translator: Translator, policy: Policy) -> dict[int, tuple[str, list[float], float]]:
    return words([instance for sentence in SENTENCES for instance in decode(translator, [sentence], policy, rows=1)])


@pytest.mark.parametrize("policy", [WaitK(1), WaitK(3), Full()], ids=lambda policy: policy.name)
def test_batched_equals_single(translator: Translator, policy: Policy) -> None:
    if policy != WaitK(3) and translator.model.config.model_type not in ("llama", "gemma2"):
        pytest.skip("one policy will do: llama stands for packed batches, gemma2 for padded ones")
    single = one_by_one(translator, policy)
    assert sorted(single) == [sentence.index for sentence in SENTENCES]
    assert words(list(decode(translator, SENTENCES, policy, rows=3))) == single
    assert words(list(decode_fitting(translator, SENTENCES, policy))) == single


def test_blank_sources_give_empty_instances_and_references_are_kept(translator: Translator) -> None:
    instances = {instance.index: instance for instance in decode(translator, SENTENCES, WaitK(3), rows=3)}
    blank = instances[9]
    assert (blank.prediction, blank.delays, blank.source_length, blank.source) == ("", [], 0, "")
    assert [instances[sentence.index].reference for sentence in SENTENCES] == [f"Satz {i}" for i in range(7)]
    assert all(len(instance.elapsed) == len(instance.delays) for instance in instances.values())


def test_packed_scores_equal_those_of_a_decoder_of_one_row(translator: Translator) -> None:
    """Logits, not words: a wrong mask moves them by little."""
    if not can_pack(translator.model):
        pytest.skip("its attention is not sdpa: batches of it are padded")
    sources = [text for text in SOURCES if text]
    packed = PackedDecoder(
        translator.model, translator.tokenizer, translator.prompt.stops, translator.card.phi, len(sources)
    )
    alone = [translator.decoder() for _ in sources]
    segments = [_segment(translator, source) for source in sources]
    for _ in range(12):
        requests = {row: segment.advance() for row, segment in enumerate(segments) if not segment.done}
        rows = [row for row in requests if row % 2] + [row for row in requests if not row % 2]  # in any order
        if not rows:
            break
        scores = packed.logits([requests[row] for row in rows], rows)
        for place, row in enumerate(rows):
            expected = alone[row].logits([requests[row]])[0]
            torch.testing.assert_close(scores[place], expected, atol=1e-5, rtol=0)
            token = int(alone[row]._bias[requests[row].choice, : expected.shape[-1]].add(expected).argmax())
            segments[row].take(token)
    assert packed.work.tokens == sum(decoder.work.tokens for decoder in alone)
    assert translator.model.config._attn_implementation == "sdpa"


def _segment(translator: Translator, source: str) -> Segment:
    segment = Segment(translator, WaitK(2))
    for word in source.split():
        segment.feed(Word(word, 0.0))
    segment.close("line")
    return segment


def test_memory_that_runs_out_halves_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = load(str(tiny_own_model(tmp_path / "model")))
    tried: list[int] = []
    real = PackedDecoder.logits

    def scarce(self: PackedDecoder, requests, rows=None):
        tried.append(self.rows)
        if self.rows > 2:
            raise torch.OutOfMemoryError("no memory")
        return real(self, requests, rows)

    monkeypatch.setattr(PackedDecoder, "logits", scarce)
    assert words(list(decode_fitting(translator, SENTENCES, WaitK(3), rows=6))) == one_by_one(translator, WaitK(3))
    assert tried[:3] == [6, 3, 2] or tried[:2] == [6, 3]
    assert set(tried) <= {6, 3, 2, 1}


def test_large_caches_make_fewer_rows(translator: Translator) -> None:
    model = translator.model
    assert default_rows(model) == 64
    config = model.config.get_text_config()
    layers = config.num_hidden_layers
    try:
        config.num_hidden_layers = 4000  # about 100 MB a row in float32
        assert 1 <= default_rows(model) < 64
    finally:
        config.num_hidden_layers = layers


def cost(parts: list[list[int]], sizes: dict[int, int], pass_cost: int) -> int:
    return sum(pass_cost + len(part) * max(sizes[row] for row in part) for part in parts)


@given(st.dictionaries(st.integers(0, 90), st.integers(1, 9), max_size=12), st.integers(0, 30))
def test_every_row_is_in_one_pass_and_parting_never_costs_more(sizes: dict[int, int], pass_cost: int) -> None:
    parts = alike(sizes, pass_cost)
    assert sorted(row for part in parts for row in part) == sorted(sizes)
    assert all(part == sorted(part) and part for part in parts)
    if sizes:
        assert cost(parts, sizes, pass_cost) <= cost([list(sizes)], sizes, pass_cost)


@settings(max_examples=40)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.integers(0, 12))
def test_no_parting_is_cheaper(widths: list[int], pass_cost: int) -> None:
    sizes = dict(enumerate(widths))
    least = min(
        cost([[row for row in sizes if group[row] == name] for name in set(group)], sizes, pass_cost)
        for group in product(range(len(widths)), repeat=len(widths))
    )
    assert cost(alike(sizes, pass_cost), sizes, pass_cost) == least
