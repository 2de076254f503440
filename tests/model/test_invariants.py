"""The invariants of group decoding, on tiny random models of every family and on our own kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from families import FAMILIES, tiny_model, tiny_own_model
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulmt.evaluation.decoding import Sentence, decode
from simulmt.model.decoder import Decoder
from simulmt.model.layout import attention_form, segment_mask, source_positions, target_positions
from simulmt.model.loading import Translator, load
from simulmt.model.writer import Request
from simulmt.policy import Full, Policy, WaitK
from simulmt.stream import Segment
from simulmt.text.events import Word
from simulmt.text.tokenizers import Boundary
from simulmt.text.units import split_units

TEXT = "The cat, which is sleeping, is black and we read a word in 2014."
SOURCES = [TEXT, "Yes.", "Where is the station, please?", "a b"]


class Recorder(Decoder):
    """A decoder that keeps the scores of every prediction that stands."""

    def start(self) -> None:
        self.scores: list[torch.Tensor] = []

    def logits(self, requests: Any, rows: Any = None) -> torch.Tensor:
        scores = super().logits(requests, rows)
        request: Request = requests[0]
        if request.drop:
            self.scores.pop()
        self.scores.append(scores[0])
        return scores


def play(translator: Translator, words: list[str], policy: Policy) -> tuple[Segment, Recorder]:
    """Translate `words`, all there from the start."""
    decoder = Recorder(translator.model, translator.tokenizer, translator.prompt.stops, translator.card.phi)
    decoder.start()
    segment = Segment(translator, policy)
    for word in words:
        segment.feed(Word(word, 0.0))
    segment.close("end")
    while not segment.done:
        request = segment.advance()
        assert request is not None
        segment.take(decoder.run([request])[0])
    return segment, decoder


def one_pass(translator: Translator, decoder: Decoder, segment: Segment) -> torch.Tensor:
    """Return the scores of one forward over the whole segment, [predictions, V]; laid out by hand."""
    frame, writer = translator.prompt.frame, segment.writer
    source, units = list(frame.source_head), [0] * len(frame.source_head)
    for number, word in enumerate(segment.words[: segment.read], 1):
        tokens = translator.tokenizer.encode(word.text, number == 1, translator.source.unit)
        source += tokens
        units += [number] * len(tokens)
    if segment.read == len(segment.words):
        source += frame.source_end
        units += [len(segment.words)] * len(frame.source_end)
    predictions = len(writer.target_reads)
    target = [*frame.target_head, *writer.target[: predictions - 1]]
    reads = [writer.target_reads[0]] * (len(frame.target_head) - 1) + writer.target_reads
    mask = segment_mask(torch.tensor([units]), torch.tensor([reads]))
    positions = source_positions(0, len(source)) + target_positions(0, len(target), translator.card.phi)
    with torch.inference_mode():
        output = translator.model(
            input_ids=torch.tensor([source + target]),
            position_ids=torch.tensor([positions]),
            attention_mask=attention_form(mask, translator.model),
            use_cache=False,
        )
    return output.logits[0, -predictions:].float()


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("models")
    made = {family: tiny_model(family, root / family) for family in FAMILIES}
    made["no-system"] = tiny_model("llama", root / "no-system", "no-system")
    made["no-template"] = tiny_model("qwen2", root / "no-template", "none")
    made["own"] = tiny_own_model(root / "own")
    made["own-phi"] = tiny_own_model(root / "own-phi", phi=7)
    return made


KINDS = [*FAMILIES, "no-system", "no-template", "own", "own-phi", "shipped"]


@pytest.fixture(scope="module")
def translators(folders: dict[str, Path]) -> dict[str, Translator]:
    return {kind: load(str(folder), "en", "de") for kind, folder in folders.items()} | {"shipped": load("en-de")}


@pytest.fixture(scope="module")
def characters(folders: dict[str, Path]) -> Translator:
    return load(str(folders["llama"]), "en", "zh")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("policy", [WaitK(1), WaitK(3), WaitK(5), WaitK(3, 0.3), Full()], ids=lambda p: p.name)
def test_streaming_equals_one_pass(translators: dict[str, Translator], kind: str, policy: Policy) -> None:
    translator = translators[kind]
    for text in SOURCES:
        segment, decoder = play(translator, text.split(), policy)
        streamed = torch.stack(decoder.scores)
        whole = one_pass(translator, decoder, segment)
        # A trained model's scores are larger than those of random weights, and so is the rounding of float32.
        torch.testing.assert_close(streamed, whole, atol=1e-5, rtol=1e-5 if kind == "shipped" else 0)


def test_streaming_equals_one_pass_with_character_units(characters: Translator) -> None:
    assert characters.tokenizer.boundary is Boundary.CHARACTER
    segment, decoder = play(characters, TEXT.split(), WaitK(3))
    assert all(split_units(unit, "char") == [unit] for unit in segment.units)
    torch.testing.assert_close(torch.stack(decoder.scores), one_pass(characters, decoder, segment), atol=1e-5, rtol=0)


def test_the_comparison_can_fail(translators: dict[str, Translator]) -> None:
    """Wrong visibility moves the logits by far more than the tolerance above."""
    translator = translators["phi3"]
    segment, decoder = play(translator, TEXT.split(), WaitK(1))
    segment.writer.target_reads = [min(reads + 1, segment.read) for reads in segment.writer.target_reads]
    wrong = one_pass(translator, decoder, segment)
    assert (torch.stack(decoder.scores) - wrong).abs().max() > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_encoded_twice(translators: dict[str, Translator], kind: str) -> None:
    translator = translators[kind]
    frame = translator.prompt.frame
    for k in (1, 3, 9):
        segment, decoder = play(translator, TEXT.split(), WaitK(k))
        writer = segment.writer
        source = len(frame.source_head) + writer.source_tokens
        source += len(frame.source_end) if segment.read == len(segment.words) else 0
        target = len(frame.target_head) + len(writer.target)
        repeats = decoder.work.tokens - source - target
        assert decoder.work.tokens == writer.forwarded
        ends = len(segment.words)  # an end foreseen too early is tried again after each READ
        bound = len(segment.units) if translator.tokenizer.boundary is Boundary.PREFIX else 0
        assert -1 <= repeats <= bound + ends


def test_own_models_repeat_nothing(translators: dict[str, Translator]) -> None:
    segment, decoder = play(translators["own"], TEXT.split(), Full())
    target = 1 + len(segment.writer.target) - (segment.stopped is not None)
    assert decoder.work.tokens == segment.writer.source_tokens + 1 + target
    assert decoder.work.passes == target


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [1, 3, 5])
def test_delays_follow_wait_k(translators: dict[str, Translator], kind: str, k: int) -> None:
    for text in SOURCES:
        words = text.split()
        segment, _ = play(translators[kind], words, WaitK(k))
        delays = segment.delays
        assert delays == sorted(delays)
        assert len(delays) == len(segment.units)
        assert all(delay >= min(k + i, len(words)) and delay <= len(words) for i, delay in enumerate(delays))
        if segment.writer.forwarded == segment.writer.source_tokens + len(segment.writer.target):
            assert delays == [min(k + i, len(words)) for i in range(len(delays))]


def test_attached_punctuation_is_no_read_of_its_own(translators: dict[str, Translator]) -> None:
    translator = translators["shipped"]
    words = ["The", "cat,", "which", "is", "sleeping,", "is", "black."]
    segment, _ = play(translator, words, WaitK(3))
    assert segment.delays[:6] == [3, 4, 5, 6, 7, 7]


WORDS = st.lists(
    st.sampled_from(["the", "cat,", "sleeps", "on", "2014", "Ofen.", "Äpfel", "名", "☃", "it's"]),
    min_size=1,
    max_size=9,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=WORDS, other=WORDS, k=st.integers(1, 6), kind=st.sampled_from(["own", "qwen2", "gemma2", "shipped"]))
def test_unread_source_cannot_change_what_is_written(
    translators: dict[str, Translator], words: list[str], other: list[str], k: int, kind: str
) -> None:
    segment, _ = play(translators[kind], words, WaitK(k))
    for cut in {delay for delay in segment.delays if delay < len(words)}:
        changed, _ = play(translators[kind], words[:cut] + other, WaitK(k))
        same = sum(delay <= cut for delay in segment.delays)
        if len(words[:cut] + other) <= cut:
            continue
        assert changed.units[:same] == segment.units[:same]
        assert changed.delays[:same] == segment.delays[:same]


@pytest.mark.parametrize("kind", ["own", "llama", "gemma2", "phi3", "shipped"])
@pytest.mark.parametrize("policy", [WaitK(1), WaitK(3), Full()], ids=lambda p: p.name)
def test_batch_equals_single(translators: dict[str, Translator], kind: str, policy: Policy) -> None:
    texts = [*SOURCES, "it is raining today, but tomorrow the sun will shine", "No", "He wrote a letter", ""]
    sentences = [Sentence(number, text) for number, text in enumerate(texts)]
    batched = {instance.index: instance for instance in decode(translators[kind], sentences, policy, rows=3)}
    assert sorted(batched) == list(range(len(texts)))
    for sentence in sentences:
        (alone,) = decode(translators[kind], [sentence], policy, rows=1)
        assert batched[sentence.index] == alone


def test_a_segment_longer_than_the_sliding_window_is_refused(tmp_path: Path) -> None:
    from simulmt.errors import SimulmtError

    tiny_model("gemma2", tmp_path / "short", sliding_window=48)
    translator = load(str(tmp_path / "short"), "en", "de")
    with pytest.raises(SimulmtError, match="attention window of 48"):
        play(translator, (TEXT.split() * 3), Full())


def test_control_tokens_are_never_written(translators: dict[str, Translator]) -> None:
    for translator in translators.values():
        segment, _ = play(translator, TEXT.split(), WaitK(3))
        text = " ".join(segment.units)
        assert not any(mark in text for mark in ("<|", "▁", "</s>", "<s>", "Ġ"))
        assert not set(segment.writer.target) & (translator.tokenizer.control - translator.prompt.stops)
