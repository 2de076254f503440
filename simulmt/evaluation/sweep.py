"""A corpus translated under each of several settings, scored, one folder a setting."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from simulmt.errors import SimulmtError
from simulmt.evaluation.corpus import Sentence
from simulmt.evaluation.executor import Executor
from simulmt.evaluation.folder import Config, RunFolder
from simulmt.evaluation.identity import corpus_hash
from simulmt.evaluation.progress import Progress
from simulmt.evaluation.settings import Setting
from simulmt.instance import Instance
from simulmt.scoring.report import Report
from simulmt.scoring.scorer import ScoreOptions, score_instances


@dataclass(frozen=True, slots=True)
class Result:
    """One setting's outcome.

    Attributes:
        setting: what was varied.
        report: its scores.
        decoded: sentences decoded now, those of an earlier run not counted.
        seconds: that it took.
    """

    setting: Setting
    report: Report
    decoded: int
    seconds: float


@dataclass(frozen=True)
class Sweep:
    """What to evaluate.

    Attributes:
        sentences: the corpus.
        output: folder of the settings' folders.
        config: entries of `config.yaml` that are the same for all settings.
        options: what to score.
        overwrite: throw away what the folders hold.
    """

    sentences: Sequence[Sentence]
    output: Path
    config: Config
    options: ScoreOptions
    overwrite: bool = False

    def run(self, settings: Sequence[Setting], executor: Executor, progress: Progress) -> Iterator[Result]:
        """Yield each setting's result as it is complete and on disk.

        Raises:
            UsageError: a folder holds another run.
            SimulmtError: decoding or writing failed; what is done is kept and the next run goes on from there.
        """
        for setting in settings:
            yield self._setting(setting, executor, progress)

    def _setting(self, setting: Setting, executor: Executor, progress: Progress) -> Result:
        folder = RunFolder(self.output / setting.label)
        done = folder.open(self._config(setting, executor), len(self.sentences), self.overwrite)
        left = [sentence for sentence in self.sentences if sentence.index not in done]
        progress.start(setting.label, len(self.sentences), len(done))
        began = time.monotonic()
        try:
            for instance in executor.decode(setting, left) if left else ():
                folder.append(instance)
                done[instance.index] = instance
                progress.advance()
        finally:
            folder.close()
        seconds = time.monotonic() - began
        progress.finish()
        report = self._score(setting, done)
        folder.finish([done[sentence.index] for sentence in self.sentences], report)
        return Result(setting, report, len(left), seconds)

    def _config(self, setting: Setting, executor: Executor) -> Config:
        fixed = {"source_type": "text", "target_type": "text", "policy": setting.make().name}
        return fixed | self.config | {"dtype": executor.dtype, "corpus_hash": corpus_hash(self.sentences)}

    def _score(self, setting: Setting, done: dict[int, Instance]) -> Report:
        missing = [sentence.index for sentence in self.sentences if sentence.index not in done]
        if missing:
            raise SimulmtError(f"{setting.label}: no output for {len(missing)} sentences, the first is {missing[0]}")
        instances = [done[sentence.index] for sentence in self.sentences]
        return score_instances(instances, None, self.options, setting.label)
