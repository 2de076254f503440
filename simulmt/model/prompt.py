"""The fixed tokens around source and target: from a model's own chat template, or a plain form for models without one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from simulmt.errors import SimulmtError
from simulmt.model.layout import Frame
from simulmt.text.languages import Language

INSTRUCTION = "Translate the text from {source} into {target}. Answer with the translation only."
_SOURCE, _TARGET = "SOURCEUNITS", "TARGETUNITS"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A frame and all the tokens that end a target."""

    frame: Frame
    stops: frozenset[int]


def hub_prompt(
    tokenizer: Any, source: Language, target: Language, specials: frozenset[int], newlines: frozenset[int]
) -> Prompt:
    """Return the prompt of a transformers tokenizer for a language pair.

    Args:
        tokenizer: it.
        source, target: the pair.
        specials: its special tokens.
        newlines: its tokens that begin with a line break.

    A line break ends the target: the translation of a segment is one line, and untuned models go on to explain.
    """
    instruction = INSTRUCTION.format(source=source.name, target=target.name)
    frame = (
        _chat_frame(tokenizer, instruction, specials)
        if tokenizer.chat_template
        else _plain_frame(tokenizer, source, target)
    )
    ends = {frame.target_end} | ({tokenizer.eos_token_id} - {None})
    return Prompt(frame, frozenset(ends) | newlines)


def _plain_frame(tokenizer: Any, source: Language, target: Language) -> Frame:
    def encode(text: str) -> tuple[int, ...]:
        return tuple(tokenizer.encode(text, add_special_tokens=False))

    if tokenizer.eos_token_id is None:
        raise SimulmtError("this model's tokenizer has no end-of-text token", "it cannot end a translation")
    begin = () if tokenizer.bos_token_id is None else (tokenizer.bos_token_id,)
    head = encode(f"{source.name}:")
    return Frame(begin + head, encode("\n"), encode(f"{target.name}:"), tokenizer.eos_token_id)


def _chat_frame(tokenizer: Any, instruction: str, specials: frozenset[int]) -> Frame:
    """Cut the rendered conversation at its source and target.

    What follows the source is the end of source as far as it is there with and without a prompt for the answer; the rest of
    the prompt is the target head. (Some templates close a conversation that is not prompted on.)
    """
    messages = _messages(tokenizer, instruction)
    head, _, asked = _render(tokenizer, messages).partition(_SOURCE)
    prompted = _render(tokenizer, messages, add_generation_prompt=True).partition(_SOURCE)[2]

    def encode(text: str) -> list[int]:
        return list(tokenizer.encode(text, add_special_tokens=False))

    after = encode(prompted)
    pairs = zip(encode(asked), after, strict=False)
    shared = next(
        (place for place, (one, other) in enumerate(pairs) if one != other), min(len(encode(asked)), len(after))
    )
    if shared == len(
        after
    ):  # a template that has no words for the answer's start: the last token of the question is it
        shared -= 1
    if shared < 0:
        raise SimulmtError("this model's chat template puts nothing between question and answer", "use another model")
    end = _end_of_answer(tokenizer, messages, specials)
    return Frame(tuple(encode(head)), tuple(after[:shared]), tuple(after[shared:]), end)


def _messages(tokenizer: Any, instruction: str) -> list[dict[str, str]]:
    """A system message if the template has that role, otherwise the instruction stands before the source."""
    from jinja2 import TemplateError

    with_system = [{"role": "system", "content": instruction}, {"role": "user", "content": _SOURCE}]
    try:
        if instruction in _render(tokenizer, with_system):
            return with_system
    except TemplateError:
        pass
    return [{"role": "user", "content": f"{instruction}\n\n{_SOURCE}"}]


def _render(tokenizer: Any, messages: list[dict[str, str]], **options: Any) -> str:
    text = tokenizer.apply_chat_template(messages, tokenize=False, enable_thinking=False, **options)
    return str(text)


def _end_of_answer(tokenizer: Any, messages: list[dict[str, str]], specials: frozenset[int]) -> int:
    answered = _render(tokenizer, [*messages, {"role": "assistant", "content": _TARGET}])
    after = tokenizer.encode(answered.partition(_TARGET)[2], add_special_tokens=False)
    end = next((token for token in after if token in specials), tokenizer.eos_token_id)
    if end is None:
        raise SimulmtError("this model's tokenizer has no end-of-text token", "it cannot end a translation")
    return int(end)
