"""An agent with which SimulEval (https://github.com/facebookresearch/SimulEval) runs our models.

    simuleval --agent-class simulmt.integrations.simuleval.SimulmtAgent --model en-de --k 3 \\
        --source test.en --target test.de --output runs/k3

Hypotheses and delays are those of `simulmt evaluate`. SimulEval sends whitespace words, so the source language must be
written with spaces; for a target language without, add `--eval-latency-unit char`.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

try:
    from simuleval.agents import TextToTextAgent
    from simuleval.agents.actions import Action, ReadAction, WriteAction
    from simuleval.utils import entrypoint
except ImportError as error:
    raise ImportError("simulmt.integrations.simuleval needs the package simuleval: pip install simuleval") from error

from simulmt.errors import UsageError
from simulmt.evaluation.executor import ModelSpec
from simulmt.evaluation.settings import Setting, parse_settings
from simulmt.stream import Segment
from simulmt.text.events import Word
from simulmt.text.units import join_units, split_units

_DTYPES = {"fp16": "float16", "fp32": "float32"}


@entrypoint
class SimulmtAgent(TextToTextAgent):  # type: ignore[misc]
    """One stream of `simulmt`, driven by SimulEval: a sentence is a segment."""

    def __init__(self, args: Namespace) -> None:
        """Load the model that `args` names.

        Raises:
            SimulmtError: it can't be loaded.
            UsageError: no such policy, a number out of range, or a source language without spaces.
        """
        dtype = "float16" if getattr(args, "fp16", False) else _DTYPES.get(getattr(args, "dtype", None) or "", "auto")
        spec = ModelSpec(
            args.model, args.from_language, args.to_language, args.adapter, args.device, dtype, threads=args.threads
        )
        self._policy = _setting(args).make()
        self._translator = spec.load()
        if self._translator.source.unit != "word":
            raise UsageError(f"SimulEval reads words, {self._translator.source.name} is written without spaces")
        self._decoder = self._translator.decoder()
        super().__init__(args)

    @staticmethod
    def add_args(parser: ArgumentParser) -> None:
        """Add the agent's options to SimulEval's."""
        parser.add_argument("--model", default="en-de", help="a name, a folder or a Hugging Face id (simulmt)")
        parser.add_argument("--adapter", help="LoRA adapter: a folder or a Hugging Face id (simulmt)")
        parser.add_argument("--from", dest="from_language", metavar="LANG", help="source language (simulmt)")
        parser.add_argument("--to", dest="to_language", metavar="LANG", help="target language (simulmt)")
        parser.add_argument("--k", default="5", help="words to wait, or full (simulmt)")
        parser.add_argument(
            "--catchup", type=float, default=0.0, help="words written beyond one per word read (simulmt)"
        )
        parser.add_argument("--policy", help="a policy by name instead of wait-k (simulmt)")
        parser.add_argument("--threads", type=int, help="CPU threads (simulmt)")

    def reset(self) -> None:
        """Begin the next sentence."""
        super().reset()
        self._decoder.release(0)
        self._segment = Segment(self._translator, self._policy, whole=True)
        self._taken = 0

    def policy(self) -> Action:
        """Take the words that have come and write all that the policy allows."""
        self._take_source()
        written: list[str] = []
        while self._segment.words and not self._segment.done:
            request = self._segment.advance()
            if request is None:
                break
            token = self._decoder.run([request])[0]
            written += [emission.text for emission in self._segment.take(token)]
        finished = self._segment.done or (self.states.source_finished and not self._segment.words)
        if not written and not finished:
            return ReadAction()
        return WriteAction(join_units(written, self._translator.target.unit), finished=finished)

    def _take_source(self) -> None:
        new: list[Any] = self.states.source[self._taken :]
        self._taken += len(new)
        for text in new:
            for unit in split_units(text, "word"):
                self._segment.feed(Word(unit, 0.0))
        if self.states.source_finished:
            self._segment.close("line")


def _setting(args: Namespace) -> Setting:
    if args.policy not in (None, "wait-k"):
        return Setting(args.policy)
    settings = parse_settings(str(args.k), args.catchup)
    if len(settings) != 1:
        raise UsageError(f"--k {args.k!r} names {len(settings)} settings", "SimulEval runs one at a time")
    return settings[0]
