"""Where decoding happens: in this process here; in others in `workers` and `cluster`, behind the same protocol."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from simulmt.evaluation.corpus import Sentence
from simulmt.evaluation.settings import Setting
from simulmt.instance import Instance

if TYPE_CHECKING:
    from simulmt.model.loading import Translator


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """What to load and how: the options of the command line, so that another process can load the same.

    Attributes:
        name, source, target, adapter: as for `simulmt.model.loading.load`.
        device, dtype, trust_remote_code: as in `simulmt.model.loading.Options`.
        threads: CPU threads; None leaves torch's choice.
    """

    name: str
    source: str | None = None
    target: str | None = None
    adapter: str | None = None
    device: str | None = None
    dtype: str = "auto"
    trust_remote_code: bool = False
    threads: int | None = None

    def load(self) -> Translator:
        """Load it; sets the number of torch's threads.

        Raises:
            SimulmtError: as `simulmt.model.loading.load`.
        """
        import torch

        from simulmt.model.loading import Options, load

        if self.threads is not None:
            torch.set_num_threads(self.threads)
        options = Options(self.device, self.dtype, self.trust_remote_code)
        return load(self.name, self.source, self.target, self.adapter, options)


def dtype_of(translator: Translator) -> str:
    """Return the number format of the loaded weights, e.g. `float32`."""
    return str(translator.model.dtype).removeprefix("torch.")


class Executor(Protocol):
    """Decodes sentences. Words and delays do not depend on where and with how many others a sentence is decoded."""

    @property
    def dtype(self) -> str:
        """The number format of the loaded weights."""
        ...

    def decode(self, setting: Setting, sentences: Sequence[Sentence]) -> Iterator[Instance]:
        """Yield an Instance for each sentence, in the order in which they get done."""
        ...

    def close(self) -> None:
        """Let processes go."""
        ...


class Here:
    """Decodes in this process."""

    def __init__(self, spec: ModelSpec, rows: int | None = None) -> None:
        """Load the model.

        Raises:
            SimulmtError: it can't be loaded.
        """
        self.translator = spec.load()
        self.rows = rows

    @property
    def dtype(self) -> str:
        return dtype_of(self.translator)

    def decode(self, setting: Setting, sentences: Sequence[Sentence]) -> Iterator[Instance]:
        from simulmt.evaluation.decoding import decode_fitting

        return decode_fitting(self.translator, sentences, setting.make(), self.rows)

    def close(self) -> None:
        pass


def shares(sentences: Sequence[Sentence], workers: int, rows: int) -> list[list[Sentence]]:
    """Part sentences for `workers`, those of like length together, long ones first.

    Each worker gets several shares if there are enough to fill `rows` rows twice over: then none waits long at the end.
    """
    ranked = sorted(sentences, key=lambda sentence: (-len(sentence.source), sentence.index))
    each = -(-len(ranked) // workers)
    size = max(1, min(each, max(2 * rows, each // 8)))
    return [ranked[start : start + size] for start in range(0, len(ranked), size)]
