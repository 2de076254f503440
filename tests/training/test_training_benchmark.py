from pathlib import Path

from families import tiny_own_model
from training_pairs import SENTENCES, write_pairs

from simulmt.model.loading import Options, load
from simulmt.training.benchmark import BenchmarkOptions, _pad, compare


def test_both_trainers_are_measured(tmp_path: Path) -> None:
    base = tiny_own_model(tmp_path / "base", sentences=SENTENCES, pieces=330)
    before = (base / "model.safetensors").read_bytes()
    translator = load(str(base), options=Options(device="cpu"))
    found = compare(translator, write_pairs(tmp_path), BenchmarkOptions(steps=3, warmup=1, batch_tokens=512))
    assert found["tokens_per_second"] > 0
    assert found["transformers_tokens_per_second"] > 0
    assert found["ratio"] == found["tokens_per_second"] / found["transformers_tokens_per_second"]
    assert (base / "model.safetensors").read_bytes() == before


def test_the_other_trainer_pads_to_the_longest() -> None:
    batch = _pad([{"input_ids": [5, 6, 7], "labels": [-100, 6, 7]}, {"input_ids": [8], "labels": [8]}], 3)
    assert batch["input_ids"].tolist() == [[5, 6, 7], [8, 3, 3]]
    assert batch["labels"].tolist() == [[-100, 6, 7], [8, -100, -100]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 0, 0]]
