"""What a run's results depend on, in a few lines: by it a later run knows whether it may go on with them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from simulmt.errors import SimulmtError
from simulmt.evaluation.corpus import Sentence

_SAMPLES, _SAMPLE = 256, 4096  # places looked at in a large file, bytes at each
_FILES = ("config.json", "sentencepiece.model", "tokenizer.json", "simulmt.json", "adapter_config.json")


def corpus_hash(sentences: Sequence[Sentence]) -> str:
    """Return a short hash of sources and references."""
    digest = hashlib.sha256()
    for sentence in sentences:
        digest.update(json.dumps([sentence.index, sentence.source, sentence.reference]).encode())
    return digest.hexdigest()[:16]


def model_hash(place: Path | str) -> str:
    """Return a short hash of a model's or adapter's files; of its name only for a hub id.

    Large files are sampled: training changes every weight, so any few of them tell.

    Raises:
        SimulmtError: a file cannot be read.
    """
    digest = hashlib.sha256()
    if isinstance(place, str):
        digest.update(place.encode())
        return digest.hexdigest()[:16]
    files = [place] if place.is_file() else [place / name for name in _FILES] + sorted(place.glob("*.safetensors"))
    for path in files:
        if path.exists():
            digest.update(path.name.encode())
            _sample(path, digest)
    return digest.hexdigest()[:16]


def _sample(path: Path, digest: hashlib._Hash) -> None:
    try:
        size = path.stat().st_size
        digest.update(str(size).encode())
        with path.open("rb") as data:
            if size <= _SAMPLES * _SAMPLE:
                digest.update(data.read())
                return
            for number in range(_SAMPLES):
                data.seek((size - _SAMPLE) * number // (_SAMPLES - 1))
                digest.update(data.read(_SAMPLE))
    except OSError as error:
        raise SimulmtError(f"{path} cannot be read: {error.strerror}") from error
