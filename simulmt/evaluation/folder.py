"""The folder of one setting: instances.log, config.yaml, scores.tsv as SimulEval has them; scores.json and run.json."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

from simulmt.errors import SimulmtError, UsageError
from simulmt.instance import Instance, read_log, repair
from simulmt.scoring.report import Report, tsv

LOG, CONFIG, SCORES, TABLE = "instances.log", "config.yaml", "scores.json", "scores.tsv"
RUN = "run.json"
"""What the run is, again: SimulEval writes a config.yaml of its own into the folders that it scores."""
Config = dict[str, Any]

IDENTITY = ("model_hash", "adapter_hash", "corpus_hash", "policy", "languages", "dtype")
"""The entries of a configuration that must be the same for a run to go on."""


class RunFolder:
    """One setting's results on disk. Instances are appended as they get done, so a killed run loses none of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stream: TextIO | None = None

    def open(self, config: Config, sentences: int, overwrite: bool = False) -> dict[int, Instance]:
        """Open the log for appending and return the instances it holds already, by index.

        A last line that was cut is taken off. Instances of a run with another identity are never mixed in.

        Args:
            config: what this run is; entries named in IDENTITY decide.
            sentences: number of sentences in the corpus.
            overwrite: throw away what the folder holds.

        Raises:
            UsageError: the folder holds a run that differs; says in what.
            SimulmtError: the folder can't be read or written.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if overwrite:
                for name in (LOG, RUN, CONFIG, SCORES, TABLE):
                    (self.path / name).unlink(missing_ok=True)
            done = self._resume(config, sentences)
            replace_text(self.path / CONFIG, _yaml(config))
            replace_text(self.path / RUN, json.dumps(config, ensure_ascii=False, indent=2) + "\n")
            self._stream = (self.path / LOG).open("a", encoding="utf-8")
        except OSError as error:
            raise SimulmtError(f"{self.path} cannot be written: {error.strerror}") from error
        return done

    def _resume(self, config: Config, sentences: int) -> dict[int, Instance]:
        log = self.path / LOG
        if not log.exists() or log.stat().st_size == 0:
            return {}
        self._check(config)
        repair(log)
        done = {instance.index: instance for instance in read_log(log)}
        if strange := [index for index in done if not 0 <= index < sentences]:
            raise UsageError(f"{log} has index {strange[0]}, the corpus has {sentences} sentences", _REMEDY)
        return done

    def _check(self, config: Config) -> None:
        """Compare with the run the folder holds.

        Raises:
            UsageError: they differ.
        """
        if not (self.path / RUN).exists():
            raise UsageError(f"{self.path} holds an instances.log of unknown origin (no {RUN})", _REMEDY)
        before = read_run(self.path)
        for key in IDENTITY:
            if before.get(key) != config.get(key):
                name = key.removesuffix("_hash")
                was, now = (f"{c.get(name)} ({c.get(key)})" if name != key else c.get(key) for c in (before, config))
                raise UsageError(f"{self.path} holds a run with {name} {was}, this one has {now}", _REMEDY)

    def append(self, instance: Instance) -> None:
        """Write one instance; it is on disk (as far as this process goes) when the call returns.

        Raises:
            SimulmtError: it cannot be written.
        """
        assert self._stream is not None, "the folder is not open"
        try:
            self._stream.write(instance.to_json() + "\n")
            self._stream.flush()
        except OSError as error:
            raise SimulmtError(f"{self.path / LOG} cannot be written: {error.strerror}") from error

    def close(self) -> None:
        """Close the log; what is in it stays."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def finish(self, instances: Sequence[Instance], report: Report) -> None:
        """Put the whole log in order of index, and write the scores.

        Raises:
            SimulmtError: a file cannot be written.
        """
        self.close()
        try:
            replace_text(self.path / LOG, "".join(instance.to_json() + "\n" for instance in instances))
            replace_text(self.path / SCORES, report.to_json() + "\n")
            replace_text(self.path / TABLE, tsv([report]) + "\n")
        except OSError as error:
            raise SimulmtError(f"{self.path} cannot be written: {error.strerror}") from error


_REMEDY = "give another --output, or --overwrite to throw it away"


def read_run(folder: Path) -> Config:
    """Return what `run.json` says.

    Raises:
        SimulmtError: it cannot be read, or is not a JSON object.
    """
    path = folder / RUN
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SimulmtError(f"{path} cannot be read: {error}") from error
    if not isinstance(record, dict):
        raise SimulmtError(f"{path} is not a JSON object")
    return record


def _yaml(config: Config) -> str:
    """Values in JSON, which YAML includes."""
    return "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in config.items())


def replace_text(path: Path, text: str) -> None:
    """Write a file so that it is there either as it was or whole."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def all_scores(output: Path) -> str:
    """Return one table of the scores of all settings in a folder, those of earlier runs too."""
    rows: list[dict[str, str]] = []
    for path in sorted(output.glob(f"*/{TABLE}")):
        header, *lines = path.read_text(encoding="utf-8").splitlines()
        rows += [dict(zip(header.split("\t"), line.split("\t"), strict=False)) for line in lines]
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = ["\t".join(names), *("\t".join(row.get(name, "") for name in names) for row in rows)]
    return "\n".join(table) + "\n"
