"""Training batches and the decoder see the same: compared token by token, and by the logits they give."""

from pathlib import Path

import pytest
import torch
from families import SAMPLE, tiny_model, tiny_own_model
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from training_pairs import PAIRS

from simulmt.model.layout import IGNORED, segment_mask
from simulmt.model.loading import Options, Translator, load
from simulmt.policy import Full, Policy, WaitK
from simulmt.stream import Segment
from simulmt.text.events import Word
from simulmt.text.units import split_units
from simulmt.training.batches import Batch, collate
from simulmt.training.examples import FULL, ExampleMaker
from simulmt.training.objective import attention_form
from simulmt.training.rows import Shape, shapes

WORDS = SAMPLE.split()
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)
PHI = 3


@pytest.fixture(scope="module", params=["suffix", "prefix", "prefix with chat template", "characters"])
def translator(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Translator:
    folder = tmp_path_factory.mktemp("model")
    if request.param == "suffix":
        tiny_own_model(folder, phi=PHI)
    else:
        tiny_model("llama", folder, "system" if "chat" in request.param else "none")
    target = "zh" if request.param == "characters" else "de"
    return load(str(folder), "en", target, options=Options(device="cpu"))


def maker_of(translator: Translator) -> ExampleMaker:
    return ExampleMaker(translator.prompt.frame, translator.tokenizer, translator.source, translator.target)


def policy_of(k: int) -> Policy:
    return Full() if k == FULL else WaitK(k)


class Forced:
    """Plays a segment with the reference as the prediction; notes what the decoder is asked to run.

    A reference that ends while source is left makes the decoder READ on and ask again; only the first is scheduled.

    Attributes:
        source: source tokens sent. `target`: target tokens sent.
        visible: for each target token, source tokens sent when it last ran.
        requests: all that are scheduled.
    """

    def __init__(self, translator: Translator, source: str, target: str, k: int) -> None:
        example = maker_of(translator).make(source, target, k)
        segment = Segment(translator, policy_of(k))
        for unit in split_units(source, translator.source.unit):
            segment.feed(Word(unit, 0.0))
        segment.close("line")
        self.source: list[int] = []
        self.target: list[int] = []
        self.visible: list[int] = []
        self.requests = []
        last = max(example.reads)
        while not segment.done:
            request = segment.advance()
            assert request is not None
            assert request.source_start == len(self.source)
            self.source += request.source
            assert request.target_start == len(self.target) - request.drop
            self.target[request.target_start :] = request.target
            if segment.read <= last:
                self.requests.append(request)
                self.visible[request.target_start :] = [len(self.source)] * len(request.target)
            label = example.labels[len(self.target) - 1]
            assert label != IGNORED
            segment.take(label)


def seen_in_batch(batch: Batch, row: int, column: int) -> list[int]:
    """Return the columns that the token in a column sees."""
    return batch.mask()[row, 0, column].nonzero().flatten().tolist()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.lists(st.tuples(texts, texts, st.integers(0, 5)), min_size=1, max_size=3), min_size=1, max_size=2),
    extra=st.integers(0, 5),
)
def test_batches_are_laid_out_as_the_decoder_runs(
    translator: Translator, rows: list[list[tuple[str, str, int]]], extra: int
) -> None:
    maker = maker_of(translator)
    segments = [[maker.make(*example) for example in row] for row in rows]
    shape = Shape(
        max(sum(len(s.source) for s in row) for row in segments) + extra,
        max(sum(len(s.target) for s in row) for row in segments) + extra,
    )
    batch = collate(segments, shape, translator.card.phi, 0, count=len(rows) + 1)
    for row, examples in enumerate(rows):
        first, begin = 0, shape.source  # of the example's source tokens and target tokens
        for example, segment in zip(examples, segments[row], strict=True):
            run = Forced(translator, *example)
            n, m = len(run.source), len(run.target)
            source, target = slice(first, first + n), slice(begin, begin + m)
            assert batch.tokens[row, source].tolist() == run.source
            assert batch.tokens[row, target].tolist() == run.target
            assert batch.positions[row, source].tolist() == list(range(n))
            assert batch.positions[row, target].tolist() == [translator.card.phi + number for number in range(m)]
            for number, visible in enumerate(run.visible):
                seen = [*range(first, first + visible), *range(begin, begin + number + 1)]
                assert seen_in_batch(batch, row, begin + number) == seen
            for number in range(n):
                assert seen_in_batch(batch, row, first + number) == list(range(first, first + number + 1))
            # A text that repeats itself is cut off by the decoder, its example is not.
            first, begin = first + len(segment.source), begin + len(segment.target)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs=st.lists(st.tuples(texts, texts), min_size=1, max_size=3), k=st.integers(0, 4), extra=st.integers(0, 9))
def test_neighbours_and_padding_change_no_example(
    translator: Translator, pairs: list[tuple[str, str]], k: int, extra: int
) -> None:
    segments = [maker_of(translator).make(*pair, k) for pair in pairs]
    shape = Shape(sum(len(s.source) for s in segments) + extra, sum(len(s.target) for s in segments) + extra)
    mask = collate([segments], shape, 0, 0).mask()[0, 0]
    first, begin = 0, shape.source
    for segment in segments:
        n, m = len(segment.source), len(segment.target)
        bare = segment_mask(torch.tensor([segment.source_units]), torch.tensor([segment.reads]))[0, 0]
        columns = torch.tensor([*range(first, first + n), *range(begin, begin + m)])
        assert torch.equal(mask[columns][:, columns], bare)
        others = torch.ones(shape.tokens, dtype=torch.bool)
        others[columns] = False
        assert not mask[columns][:, others].any()
        first, begin = first + n, begin + m
    assert mask.any(dim=1).all()  # no token sees nothing


@pytest.mark.parametrize("k", [1, 3, FULL])
def test_training_logits_are_the_decoders(translator: Translator, k: int) -> None:
    pairs = PAIRS[3:5]
    segments = [maker_of(translator).make(*pair, k) for pair in pairs]
    shape = shapes(translator.prompt.frame, 96, (10.0, 12.0))[-1]
    batch = collate([segments], shape, translator.card.phi, 0)
    with torch.no_grad():
        logits = translator.model(
            input_ids=batch.tokens,
            attention_mask=attention_form(batch.mask(), translator.model),
            position_ids=batch.positions,
            use_cache=False,
        ).logits[0, shape.source :]
    for pair, segment in zip(pairs, segments, strict=True):
        trained, logits = logits[: len(segment.target)], logits[len(segment.target) :]
        decoder = translator.decoder()
        decoded: dict[int, torch.Tensor] = {}
        for request in Forced(translator, *pair, k).requests:
            decoded[request.target_start + len(request.target) - 1] = decoder.logits([request])[0]
        assert sorted(decoded) == [number for number, label in enumerate(segment.labels) if label != IGNORED]
        for number, expected in decoded.items():
            torch.testing.assert_close(trained[number], expected, atol=1e-5, rtol=1e-4)


def test_a_batch_counts_its_tokens(tmp_path: Path) -> None:
    translator = load(str(tiny_own_model(tmp_path)), options=Options(device="cpu"))
    segments = [maker_of(translator).make(*pair, 2) for pair in PAIRS[:3]]
    batch = collate([segments[:2], segments[2:]], shapes(translator.prompt.frame, 96, (10.0, 12.0))[-1], 0, 3, count=5)
    assert batch.tokens.shape[0] == 5
    assert batch.label_count == sum(len(s.labels) for s in segments)
    assert batch.token_count == sum(len(s.source) + len(s.target) for s in segments)
