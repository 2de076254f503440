"""From a name, folder or hub id (and an adapter) to a model that is ready to translate."""

from __future__ import annotations

import hashlib
import json
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from simulmt.errors import SimulmtError
from simulmt.model.catalog import HUB_ID, Card, card_of, languages_of, locate
from simulmt.model.decoder import Decoder, attention_window
from simulmt.model.devices import find_device
from simulmt.model.layout import Frame
from simulmt.model.prompt import Prompt, hub_prompt
from simulmt.model.writer import Limits, Writer
from simulmt.text.languages import Language
from simulmt.text.tokenizers import HubTokenizer, SuffixTokenizer, UnitTokenizer

SENTENCEPIECE = "sentencepiece.model"
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")


@dataclass(frozen=True)
class Translator:
    """A model made ready for one language pair: all that a stream needs.

    Attributes:
        model: the transformers model, in evaluation mode.
        tokenizer: its unit tokenizer.
        prompt: the fixed tokens and those that end a target.
        source, target: the languages.
        name: as the user gave it. `adapter`: likewise, None without.
        card: what the model says of itself.
    """

    model: Any
    tokenizer: UnitTokenizer
    prompt: Prompt
    source: Language
    target: Language
    name: str
    adapter: str | None
    card: Card

    @cached_property
    def limits(self) -> Limits:
        """The usual limits, less where the model's context or attention window is short."""
        usual = Limits()
        config = self.model.config.get_text_config()
        frame = self.prompt.frame
        positions = getattr(config, "max_position_embeddings", None) or 10**6  # each group has positions of its own
        source, unit = min(usual.source, positions - len(frame.source_head) - len(frame.source_end)), usual.unit
        window = attention_window(config)
        if window is not None:  # both groups must fit; the limit is seen one unit late, and the target may run away
            heads = len(frame.source_head) + len(frame.source_end) + len(frame.target_head)
            room = (window - heads - usual.extra) // (1 + usual.per_source)
            unit = min(unit, room // 4)
            source = min(source, room - unit)
        return replace(usual, source=max(1, source), unit=max(1, unit))

    def writer(self) -> Writer:
        """Return a Writer for one segment."""
        return Writer(self.prompt.frame, self.tokenizer, self.prompt.stops, self.limits, self.source.unit)

    def decoder(self, rows: int = 1) -> Decoder:
        """Return a decoder for up to `rows` streams."""
        return Decoder(self.model, self.tokenizer, self.prompt.stops, self.card.phi, rows)


@dataclass(frozen=True)
class Options:
    """How to load.

    Attributes:
        device: a torch device; None picks cuda, then mps, then cpu.
        dtype: "float32", "bfloat16", "float16", or "auto": float32 on a CPU for models of at most 2 GB, else bfloat16.
        trust_remote_code: run Python code that comes with a hub model.
    """

    device: str | None = None
    dtype: str = "auto"
    trust_remote_code: bool = False


def load(
    name: str,
    source: str | None = None,
    target: str | None = None,
    adapter: str | None = None,
    options: Options | None = None,
) -> Translator:
    """Load a model by catalog name, folder, GGUF file or hub id.

    Args:
        name: e.g. `en-de`, `./my-model`, `Qwen/Qwen2.5-0.5B-Instruct`.
        source, target: languages in any form `languages.parse` takes; may be left out where the model has one pair.
        adapter: a peft folder or hub id.

    Raises:
        UsageError: unknown language, or a pair the model can't do.
        SimulmtError: missing or broken files, pickle-only weights, an adapter of another base.
    """
    options = options or Options()
    place = locate(name)
    languages = languages_of(name, source, target, adapter)
    with _one_line(name):
        folder = place if isinstance(place, Path) else None
        card = card_of(place)
        own = folder is not None and (folder / SENTENCEPIECE).exists()
        model = _load_model(place, options)
        tokenizer: UnitTokenizer
        if own:
            assert folder is not None
            tokenizer = SuffixTokenizer(folder / SENTENCEPIECE)
            prompt = _own_prompt(model.config)
        else:
            hub = _load_hub_tokenizer(place, options)
            tokenizer = HubTokenizer(hub, characters=languages[1].unit == "char")
            prompt = hub_prompt(hub, *languages, tokenizer.specials, tokenizer.newlines)
        if adapter is not None:
            model = _with_adapter(model, adapter, name)
    _store_by_column(model)
    return Translator(model.eval(), tokenizer, prompt, *languages, name, adapter, card)


def fingerprint(model: Any) -> str:
    """Return a short hash of a model's architecture and input embedding, by which an adapter knows its base."""
    weight = model.get_input_embeddings().weight
    rows = weight[:: max(1, weight.shape[0] // 64)].detach().float().cpu()
    shape = json.dumps([model.config.model_type, list(weight.shape), model.config.get_text_config().num_hidden_layers])
    # bfloat16 keeps the hash the same whether the weights were loaded in bfloat16 or in float32.
    data = rows.to(torch.bfloat16).view(torch.int16).numpy().tobytes()
    return hashlib.sha256(shape.encode() + data).hexdigest()[:16]


def _own_prompt(config: Any) -> Prompt:
    """Our own small models: source group `units </s>`, target group `<s> units </s>`."""
    begin, end = config.bos_token_id, config.eos_token_id
    return Prompt(Frame((), (end,), (begin,), end), frozenset({end}))


def _load_model(place: Path | str, options: Options) -> Any:
    device = find_device(options.device)
    folder, arguments = _pretrained_arguments(place)
    if isinstance(place, Path) and place.is_dir():
        _check_weights(place)
    model_class = _model_class(place)
    _quiet()
    dtype = getattr(torch, options.dtype) if options.dtype != "auto" else _auto_dtype(place, device)
    model = model_class.from_pretrained(
        folder, dtype=dtype, trust_remote_code=options.trust_remote_code, use_safetensors=True, **arguments
    )
    return model.to(device)


def _quiet() -> None:
    """Keep transformers' progress bars and advice off stderr: what goes wrong is told by an error of ours."""
    from huggingface_hub.utils import logging as hub_logging
    from transformers.utils import logging

    os.environ.setdefault("TQDM_DISABLE", "1")  # the bars of the GGUF reader know no other switch
    # A hub that cannot be reached is told in one line at the end, not at each try.
    hub_logging.get_logger().setLevel("ERROR")
    logging.disable_progress_bar()
    logging.set_verbosity_error()


def _store_by_column(model: Any) -> None:
    """Store weight matrices that widen by column: the product with one token's vector then takes half the time on a CPU.

    The numbers and shapes stay as they are; only the order in memory changes. Matrices that narrow are faster by row.
    """
    if model.device.type != "cpu":
        return
    for module in model.modules():
        if isinstance(module, torch.nn.Linear) and module.out_features >= module.in_features:
            module.weight.data = module.weight.data.t().contiguous().t()


def _pretrained_arguments(place: Path | str) -> tuple[str, dict[str, Any]]:
    if isinstance(place, Path) and place.is_file():
        return str(place.parent), {"gguf_file": place.name}
    return str(place), {}


def _auto_dtype(place: Path | str, device: torch.device) -> torch.dtype:
    if device.type != "cpu":
        return torch.bfloat16
    size = 0
    if isinstance(place, Path):
        size = place.stat().st_size if place.is_file() else sum(p.stat().st_size for p in place.glob("*.safetensors"))
    return torch.bfloat16 if size > 2_000_000_000 or isinstance(place, str) else torch.float32


def _check_weights(folder: Path) -> None:
    if not (folder / "config.json").exists():
        raise SimulmtError(f"{folder} has no config.json", "it is not a model folder")
    if any(folder.glob("*.safetensors")):
        return
    pickles = [path.name for pattern in _PICKLES for path in folder.glob(pattern)]
    if pickles:
        raise SimulmtError(
            f"{folder} holds its weights as {pickles[0]}, a pickle, which can run code when loaded",
            "only safetensors and GGUF are read; convert it with transformers' save_pretrained",
        )
    raise SimulmtError(f"{folder} has no weights", "expected *.safetensors beside config.json")


def _model_class(place: Path | str) -> Any:
    """The class that config.json names, so that nothing else of transformers is imported; else the automatic one."""
    import transformers

    if isinstance(place, Path) and place.is_dir():
        names = json.loads((place / "config.json").read_text(encoding="utf-8")).get("architectures") or [""]
        if re.fullmatch(r"\w+ForCausalLM", names[0]) and hasattr(transformers, names[0]):
            return getattr(transformers, names[0])
    return transformers.AutoModelForCausalLM


def _load_hub_tokenizer(place: Path | str, options: Options) -> Any:
    from transformers import AutoTokenizer

    folder, arguments = _pretrained_arguments(place)
    return AutoTokenizer.from_pretrained(folder, trust_remote_code=options.trust_remote_code, **arguments)


def _with_adapter(model: Any, adapter: str, base: str) -> Any:
    """Merge a LoRA adapter into the model: the same numbers, and no cost per word."""
    from peft import PeftModel

    folder = _adapter_folder(adapter)
    card = Card.load(folder)
    if card.fingerprint is not None and card.fingerprint != fingerprint(model):
        raise SimulmtError(
            f"adapter {adapter} was trained on {card.base or 'another model'}, not on {base}",
            f"give --model {card.base}" if card.base else "give the --model it was trained on",
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # advice for peft's authors
            return PeftModel.from_pretrained(model, str(folder)).merge_and_unload()
    except Exception as error:  # peft raises many kinds, for files that are broken and adapters of other models
        raise SimulmtError(f"adapter {adapter} cannot be used with {base}: {_first_line(error)}") from error


def _adapter_folder(adapter: str) -> Path:
    """Return the folder of an adapter, fetched from the hub if need be; its weights are safetensors.

    Raises:
        SimulmtError: it is none, or has no weights that may be loaded.
    """
    folder = Path(adapter).expanduser()
    if not folder.exists() and re.fullmatch(HUB_ID, adapter):
        folder = _fetch_adapter(adapter)
    if not (folder / "adapter_config.json").exists():
        raise SimulmtError(f"{adapter} has no adapter_config.json", "it is not a folder of a peft adapter")
    if not (folder / "adapter_model.safetensors").exists():
        raise SimulmtError(
            f"adapter {adapter} has no adapter_model.safetensors", "adapters kept as pickles are not read"
        )
    return folder


def _fetch_adapter(adapter: str) -> Path:
    from huggingface_hub import hf_hub_download

    try:
        files = [hf_hub_download(adapter, name) for name in ("adapter_config.json", "adapter_model.safetensors")]
    except (OSError, ValueError) as error:
        raise SimulmtError(f"adapter {adapter!r} cannot be fetched: {_first_line(error)}") from error
    return Path(files[0]).parent


@contextmanager
def _one_line(name: str) -> Iterator[None]:
    """Turn what loading libraries raise into one line."""
    try:
        yield
    except SimulmtError:
        raise
    except Exception as error:  # whatever a broken file or template makes the libraries raise
        raise SimulmtError(f"model {name!r} cannot be loaded: {_first_line(error)}") from error


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
