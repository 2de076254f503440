"""Tiny random models of every family, with tokenizers built on the spot: no network, no downloads, about 0.1 s each.

`tiny_model("qwen2", folder)` leaves a folder that `simulmt.model.loading.load` opens like any hub model.
`tiny_own_model(folder)` leaves one of our own kind: Llama architecture and a word-suffix SentencePiece model.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

Template = Literal["system", "no-system", "none"]
TEMPLATES: tuple[Template, ...] = ("system", "no-system", "none")

BOS, EOS, PAD, START, END = "<|begin|>", "<|endoftext|>", "<|pad|>", "<|im_start|>", "<|im_end|>"

SAMPLE = """The cat sleeps on the warm stove. Die Katze schläft auf dem warmen Ofen.
We read a word and write a word. Wir lesen ein Wort und schreiben ein Wort.
Where is the station, please? Wo ist bitte der Bahnhof?
It is raining today, but tomorrow the sun will shine. Heute regnet es, aber morgen scheint die Sonne.
My sister bought three red apples at the market. Meine Schwester hat auf dem Markt drei rote Äpfel gekauft.
He wrote a letter in 2014 and never sent it. Er schrieb 2014 einen Brief und schickte ihn nie ab.
Translate the text from English into German. Answer with the translation only.
"""

_CHATML = """{%- for message in messages -%}
{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif -%}"""
_NO_SYSTEM = """{%- if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif -%}
{{ '<|begin|>' }}
{%- for message in messages -%}
{%- set name = 'model' if message.role == 'assistant' else message.role -%}
{{ '<|im_start|>' + name + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt %}{{ '<|im_start|>model\\n' }}{% endif -%}"""
_TEMPLATE_TEXT: dict[Template, str | None] = {"system": _CHATML, "no-system": _NO_SYSTEM, "none": None}

# Family: configuration class, model class, and what differs from the common shape below.
FAMILIES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "llama": ("LlamaConfig", "LlamaForCausalLM", {}),
    "qwen2": ("Qwen2Config", "Qwen2ForCausalLM", {}),
    "qwen3": ("Qwen3Config", "Qwen3ForCausalLM", {"head_dim": 16}),
    "gemma2": (
        "Gemma2Config",
        "Gemma2ForCausalLM",
        {"head_dim": 16, "query_pre_attn_scalar": 16, "sliding_window": 512, "hidden_activation": "gelu_pytorch_tanh"},
    ),
    "gemma3": (
        "Gemma3TextConfig",
        "Gemma3ForCausalLM",
        {"head_dim": 16, "query_pre_attn_scalar": 16, "sliding_window": 512, "sliding_window_pattern": 2},
    ),
    "phi3": ("Phi3Config", "Phi3ForCausalLM", {}),
    "mistral": ("MistralConfig", "MistralForCausalLM", {"head_dim": 16, "sliding_window": None}),
}


@cache
def _bpe(text: str, size: int) -> str:
    """Train byte-level BPE, the kind of nearly all hub models; return its JSON."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[PAD, BOS, EOS, START, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(text.splitlines(), trainer)
    return str(tokenizer.to_str())


def tiny_tokenizer(template: Template = "system", text: str = SAMPLE, size: int = 400) -> PreTrainedTokenizerFast:
    """Return a byte-level BPE tokenizer of about `size` tokens with one of the chat templates."""
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(_bpe(text, size)), bos_token=BOS, eos_token=EOS, pad_token=PAD
    )
    tokenizer.add_special_tokens({"additional_special_tokens": [START, END]})
    tokenizer.chat_template = _TEMPLATE_TEXT[template]
    return tokenizer


def tiny_network(family: str, vocabulary: int, *, seed: int = 0, spread: float = 0.1, **overrides: Any) -> Any:
    """Return a random model of a family: 2 layers, width 32, 2 heads sharing one key head; on the CPU in float32.

    Args:
        family: a key of FAMILIES.
        vocabulary: rows of the embedding.
        seed: of the weights.
        spread: their standard deviation; larger than usual, so that a wrong mask moves the logits visibly.
        overrides: further entries of the configuration.
    """
    config_name, model_name, special = FAMILIES[family]
    shape: dict[str, Any] = {
        "vocab_size": vocabulary,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "max_position_embeddings": 1024,
        "tie_word_embeddings": True,
        "initializer_range": spread,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 0,
    }
    config = getattr(transformers, config_name)(**{**shape, **special, **overrides})
    torch.manual_seed(seed)
    return getattr(transformers, model_name)(config).eval()


def tiny_model(
    family: str,
    folder: Path,
    template: Template = "system",
    *,
    seed: int = 0,
    text: str = SAMPLE,
    spread: float = 0.1,
    **overrides: Any,
) -> Path:
    """Save a random model of `family` and its tokenizer into `folder`; return the folder."""
    tokenizer = tiny_tokenizer(template, text)
    model = tiny_network(family, len(tokenizer), seed=seed, spread=spread, **overrides)
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def tiny_own_model(
    folder: Path,
    *,
    source: str = "en",
    target: str = "de",
    phi: int = 0,
    seed: int = 0,
    spread: float = 0.1,
    sentences: Sequence[str] | None = None,
    pieces: int = 380,
) -> Path:
    """Save a random model of our own kind (Llama, word-suffix SentencePiece, card) into `folder`; return the folder."""
    import json

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sentencepiece.model").write_bytes(_suffix_model(tuple(sentences or SAMPLE.splitlines()), pieces))
    network = tiny_network("llama", pieces, seed=seed, spread=spread, pad_token_id=3, num_key_value_heads=2)
    network.save_pretrained(folder)
    (folder / "simulmt.json").write_text(json.dumps({"source": source, "target": target, "phi": phi}))
    return folder


@cache
def _suffix_model(sentences: tuple[str, ...], pieces: int) -> bytes:
    import io

    from sentencepiece import SentencePieceTrainer

    written = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter(sentences),
        model_writer=written,
        model_type="unigram",
        vocab_size=pieces,
        hard_vocab_limit=True,
        treat_whitespace_as_suffix=True,
        byte_fallback=True,
        split_digits=True,
        unk_id=0,
        bos_id=1,
        eos_id=2,
        pad_id=3,
        minloglevel=2,
        num_threads=1,
    )
    return written.getvalue()
