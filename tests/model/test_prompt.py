"""Prompts from chat templates of the kinds in use, and what ends an answer."""

from __future__ import annotations

from typing import Any

import pytest
from families import tiny_tokenizer

from simulmt.model.prompt import hub_prompt
from simulmt.text.languages import parse
from simulmt.text.tokenizers import HubTokenizer

CHATML = (
    "{% if messages[0].role != 'system' %}<|im_start|>system\nYou are helpful.<|im_end|>\n{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
THINKING = CHATML.replace(
    "<|im_start|>assistant\n{% endif %}",
    "<|im_start|>assistant\n{% if enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}{% endif %}",
)
# Closes a conversation that is not prompted on.
CLOSING = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% else %}{{ eos_token }}{% endif %}"
)
# No words for the start of the answer; trims what it is given; knows no system role.
BRACKETS = (
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content.strip() }} [/INST]"
    "{% elif m.role == 'assistant' %} {{ m.content.strip() }}{{ eos_token }}"
    "{% else %}{{ raise_exception('no system role') }}{% endif %}{% endfor %}"
)


def prompt_of(template: str | None) -> tuple[Any, Any]:
    tokenizer = tiny_tokenizer("none")
    tokenizer.chat_template = template
    wrapped = HubTokenizer(tokenizer)
    return tokenizer, hub_prompt(tokenizer, parse("en"), parse("de"), wrapped.specials, wrapped.newlines)


@pytest.mark.parametrize(
    ("template", "end", "head", "stop"),
    [
        (CHATML, "<|im_end|>\n", "<|im_start|>assistant\n", "<|im_end|>"),
        (THINKING, "<|im_end|>\n", "<|im_start|>assistant\n<think>\n\n</think>\n\n", "<|im_end|>"),
        (CLOSING, "<|im_end|>\n", "<|im_start|>assistant\n", "<|im_end|>"),
        (None, "\n", "German:", "<|endoftext|>"),
    ],
    ids=["chatml", "thinking", "closing", "no template"],
)
def test_source_and_target_are_cut_out(template: str | None, end: str, head: str, stop: str) -> None:
    tokenizer, prompt = prompt_of(template)
    frame = prompt.frame
    assert tokenizer.decode(frame.source_end) == end
    assert tokenizer.decode(frame.target_head) == head
    assert tokenizer.decode([frame.target_end]) == stop
    assert frame.target_end in prompt.stops
    beginning = tokenizer.decode(frame.source_head)
    if template is not None:
        assert "from English into German" in beginning
        assert beginning.endswith("<|im_start|>user\n")


def test_a_template_without_words_for_the_answer() -> None:
    tokenizer, prompt = prompt_of(BRACKETS)
    assert tokenizer.decode(prompt.frame.source_end + prompt.frame.target_head) == " [/INST]"
    assert len(prompt.frame.target_head) == 1
    assert tokenizer.decode(prompt.frame.source_head).startswith("<|begin|>[INST] Translate")
    assert prompt.frame.source_head.count(tokenizer.bos_token_id) == 1


def test_an_end_that_is_only_an_added_special_token_is_found() -> None:
    tokenizer = tiny_tokenizer("none")
    tokenizer.chat_template = CHATML
    wrapped = HubTokenizer(tokenizer)
    number = tokenizer.convert_tokens_to_ids("<|im_end|>")
    assert number in wrapped.specials
    prompt = hub_prompt(tokenizer, parse("en"), parse("de"), wrapped.specials, wrapped.newlines)
    assert prompt.frame.target_end == number
