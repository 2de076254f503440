"""`simulmt train`: a SentencePiece model and a small Llama-architecture model from nothing, or onwards from one."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from simulmt.errors import SimulmtError, UsageError
from simulmt.model.catalog import Card
from simulmt.model.layout import Frame
from simulmt.model.loading import SENTENCEPIECE, Options, Translator, load
from simulmt.model.prompt import Prompt
from simulmt.text.languages import parse
from simulmt.text.tokenizers import SuffixTokenizer
from simulmt.training.checkpoint import STABLE
from simulmt.training.corpus import Corpus
from simulmt.training.data import check_data, read_data
from simulmt.training.progress import Display
from simulmt.training.results import CHECKPOINTS
from simulmt.training.runs import RunOptions, Subject, execute
from simulmt.training.workers import Workers, make_workers

UNKNOWN, BEGIN, END, PAD = 0, 1, 2, 3
SENTENCES = 2_000_000
"""Sentences drawn for the vocabulary."""


@dataclass(frozen=True, slots=True)
class Size:
    """Shape of a model: heads of 64, MLP of 8/3 widths, tied embeddings."""

    layers: int
    width: int
    pieces: int

    @property
    def heads(self) -> int:
        return self.width // 64

    @property
    def inner(self) -> int:
        """Width of the MLP, a multiple of 128."""
        return self.width * 8 // 3 // 128 * 128


SIZES = {"tiny": Size(4, 256, 8_000), "small": Size(8, 384, 16_000), "base": Size(12, 512, 32_000)}


@dataclass(frozen=True)
class TrainOptions:
    """What to train.

    Attributes:
        source, target: languages.
        size: a key of SIZES. `pieces`: vocabulary, None for that of the size.
        init: the folder of a model to go on from; its shape and vocabulary are kept.
        loading: device.
        run: everything else.
    """

    source: str
    target: str
    size: str
    pieces: int | None
    init: Path | None
    loading: Options
    run: RunOptions


def train(options: TrainOptions) -> int:
    """Run; return the exit status."""
    for language in (options.source, options.target):
        parse(language)
    check_data(options.run.data)
    workers = make_workers(torch.device(options.loading.device or "cpu"))
    workers.wait()  # until the first has made the output folder
    options.run.output.mkdir(parents=True, exist_ok=True)
    display = Display(quiet=not workers.main)
    corpus, report = read_data(options.run.data, options.run.output, display.track)
    torch.manual_seed(options.run.data.seed)
    try:
        translator = _onwards(options) if options.init is not None else _from_nothing(options, corpus, workers)
        translator.model.to(workers.device)
        return execute(options.run, _subject(options, translator), corpus, report, workers, display)
    finally:
        corpus.close()
        workers.close()


def _onwards(options: TrainOptions) -> Translator:
    """Load the model to go on from."""
    assert options.init is not None
    if not (options.init / SENTENCEPIECE).exists():
        raise UsageError(f"--init {options.init} is not a model of `simulmt train`", "`simulmt finetune` tunes others")
    return load(str(options.init), options.source, options.target, options=replace(options.loading, dtype="float32"))


def _from_nothing(options: TrainOptions, corpus: Corpus, workers: Workers) -> Translator:
    size = SIZES[options.size]
    vocabulary = options.run.output / SENTENCEPIECE
    if workers.main and not (options.run.resume and vocabulary.exists()):
        pieces = options.pieces or size.pieces
        vocabulary.write_bytes(train_vocabulary(corpus, pieces, options.run.data.seed))
    workers.wait()
    tokenizer = SuffixTokenizer(vocabulary)
    prompt = Prompt(Frame((), (END,), (BEGIN,), END), frozenset({END}))
    source, target = parse(options.source), parse(options.target)
    model = new_model(size, tokenizer.size)
    return Translator(model, tokenizer, prompt, source, target, str(options.run.output), None, Card())


def new_model(size: Size, pieces: int) -> Any:
    """Return a Llama-architecture model with random weights."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=pieces,
        hidden_size=size.width,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=size.heads,
        intermediate_size=size.inner,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
        bos_token_id=BEGIN,
        eos_token_id=END,
        pad_token_id=PAD,
        rms_norm_eps=1e-5,
    )
    return LlamaForCausalLM(config)


def train_vocabulary(corpus: Corpus, pieces: int, seed: int) -> bytes:
    """Train one SentencePiece model for both languages, whose pieces carry the white space after them.

    Little data gives fewer pieces than asked for.

    Raises:
        SimulmtError: the data give no vocabulary.
    """
    import sentencepiece

    def sentences() -> Iterator[str]:
        for index in range(len(corpus)):
            yield from corpus.pair(index)

    written = io.BytesIO()
    sentencepiece.set_random_generator_seed(seed)
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=sentences(),
            model_writer=written,
            model_type="unigram",
            vocab_size=pieces,
            hard_vocab_limit=False,
            treat_whitespace_as_suffix=True,
            byte_fallback=True,
            split_digits=True,
            character_coverage=0.9999,
            input_sentence_size=SENTENCES,
            shuffle_input_sentence=True,
            max_sentence_length=16_384,
            unk_id=UNKNOWN,
            bos_id=BEGIN,
            eos_id=END,
            pad_id=PAD,
            minloglevel=2,
        )
    except (RuntimeError, OSError) as error:
        raise SimulmtError(
            f"no vocabulary of {pieces} pieces can be made of these data: {error}", "--vocabulary"
        ) from error
    return written.getvalue()


def _subject(options: TrainOptions, translator: Translator) -> Subject:
    source, target, output = translator.source, translator.target, options.run.output
    size = options.size if options.init is None else translator.card.extra.get("size")
    card = Card(source.code, target.code, translator.card.phi, extra={"layout": "group", "size": size})
    identity = {"base": str(options.init or options.size), "source": source.code, "target": target.code}
    stable = options.init / CHECKPOINTS / STABLE if options.init is not None else None
    return Subject(
        translator,
        translator.model,
        identity,
        card,
        lambda folder, _: _save(translator, folder),
        f"{source.name} → {target.name}",
        f"simulmt translate --model {output}",
        initial=stable if stable is not None and stable.exists() else None,
    )


def _save(translator: Translator, folder: Path) -> None:
    """Write weights in bfloat16, configuration and vocabulary."""
    assert isinstance(translator.tokenizer, SuffixTokenizer)
    translator.model.to(torch.bfloat16).save_pretrained(str(folder))
    (folder / "generation_config.json").unlink(missing_ok=True)
    (folder / SENTENCEPIECE).write_bytes(translator.tokenizer.path.read_bytes())
