"""`simulmt models`: what it lists, copies, refuses, and that it starts without torch."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from simulmt.cli.main import run
from simulmt.cli.models import models
from simulmt.cli.options import choose_model
from simulmt.errors import UsageError
from simulmt.model import catalog, library


@pytest.fixture(autouse=True)
def user_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user data folder of the test's own."""
    monkeypatch.setattr(catalog, "user_data_path", lambda *_, **__: tmp_path / "data")
    return tmp_path / "data" / "models"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model folder: a config, a card, and one tensor of 2 × 3 float32."""
    place = tmp_path / "little"
    place.mkdir()
    (place / "config.json").write_text(json.dumps({"architectures": ["LlamaForCausalLM"]}))
    (place / "simulmt.json").write_text(json.dumps({"source": "en", "target": "fr", "BLEU": 12.5}))
    header = json.dumps({"weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}).encode()
    (place / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(24))
    return place


def invoke(*arguments: str) -> str:
    """Run `simulmt models …`, which must succeed; return stdout."""
    result = CliRunner().invoke(models, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def test_the_shipped_model_is_listed() -> None:
    listed = json.loads(invoke("list", "--format", "json"))
    assert [(row["name"], row["languages"], row["kind"]) for row in listed] == [("en-de", "en→de", "shipped")]
    assert listed[0]["parameters"] > 1e6
    assert invoke("list").splitlines()[0].split() == ["name", "languages", "parameters", "size", "kind"]


def test_add_then_list_info_path_remove(folder: Path, user_models: Path) -> None:
    invoke("add", str(folder), "--name", "mine")
    assert sorted(path.name for path in (user_models / "mine").iterdir()) == sorted(p.name for p in folder.iterdir())
    assert [row["name"] for row in json.loads(invoke("list", "--format", "json"))] == ["en-de", "mine"]
    told = json.loads(invoke("info", "mine", "--format", "json"))
    assert (told["parameters"], told["format"], told["languages"], told["BLEU"]) == (6, "F32", "en→fr", 12.5)
    assert "LlamaForCausalLM" in invoke("info", "mine")
    assert invoke("path").strip() == str(user_models)
    assert invoke("path", "mine").strip() == str(user_models / "mine")
    assert catalog.find("mine") is not None
    invoke("remove", "mine")
    assert catalog.find("mine") is None
    assert list(user_models.iterdir()) == []


def test_the_name_is_the_folders_unless_given(folder: Path) -> None:
    invoke("add", str(folder))
    assert catalog.find("little") is not None


def test_pickles_hidden_files_and_subfolders_stay_behind_and_are_named(folder: Path, user_models: Path) -> None:
    (folder / "optimizer.pt").write_bytes(b"x")
    (folder / ".lock").touch()
    (folder / "checkpoints").mkdir()
    result = CliRunner().invoke(models, ["add", str(folder)])
    assert [line for line in result.stderr.splitlines() if line.startswith("note")] == [
        "note: .lock was not copied",
        "note: checkpoints was not copied",
        "note: optimizer.pt was not copied",
    ]
    assert not (user_models / "little" / "optimizer.pt").exists()


@pytest.mark.parametrize("name", ["..", ".hidden", "a/b", "a b", "", "-x", "ä;"])
def test_names_that_are_no_names_are_refused(
    folder: Path, user_models: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["models", "add", str(folder), f"--name={name}"]) == 2
    assert "cannot be a model's name" in capsys.readouterr().err
    assert not user_models.exists()


def test_a_taken_name_is_refused_and_overwrite_replaces(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    invoke("add", str(folder))
    (folder / "simulmt.json").write_text(json.dumps({"source": "en", "target": "it"}))
    assert run(["models", "add", str(folder)]) == 2
    assert "already" in capsys.readouterr().err
    invoke("add", str(folder), "--overwrite")
    assert json.loads(invoke("info", "little", "--format", "json"))["languages"] == "en→it"


def test_shipped_models_stay_but_a_users_model_of_that_name_goes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["models", "remove", "en-de"]) == 2
    assert "came with simulmt" in capsys.readouterr().err
    invoke("add", str(folder), "--name", "en-de")
    invoke("remove", "en-de")
    entry = catalog.find("en-de")
    assert entry is not None
    assert entry.shipped


def _without_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()


def _only_pickles(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def _cut_weights(folder: Path) -> None:
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[:-1])


def _no_config(folder: Path) -> None:
    (folder / "config.json").unlink()


def _an_adapter(folder: Path) -> None:
    (folder / "config.json").rename(folder / "adapter_config.json")


def _broken_card(folder: Path) -> None:
    (folder / "simulmt.json").write_text("[")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_without_weights, "has no weights"),
        (_only_pickles, "pytorch_model.bin, a pickle"),
        (_cut_weights, "it is cut"),
        (_no_config, "not a model folder"),
        (_an_adapter, "give it to --adapter"),
        (_broken_card, "not a model card"),
    ],
)
def test_what_is_no_model_is_refused_in_one_line(
    folder: Path, user_models: Path, spoil, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(folder)
    assert run(["models", "add", str(folder)]) == 1
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not user_models.exists()


def test_a_copy_that_fails_leaves_nothing_behind(
    folder: Path, user_models: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(source: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(library.shutil, "copyfile", full)
    assert run(["models", "add", str(folder)]) == 1
    assert "No space left" in capsys.readouterr().err
    assert list(user_models.iterdir()) == []


def test_a_broken_model_is_listed_as_broken(folder: Path, user_models: Path) -> None:
    invoke("add", str(folder))
    _cut_weights(user_models / "little")
    result = CliRunner().invoke(models, ["list"])
    assert result.exit_code == 0
    assert "broken" in result.stdout
    assert "little is broken" in result.stderr


def test_an_unfinished_copy_is_no_model(folder: Path, user_models: Path) -> None:
    user_models.mkdir(parents=True)
    folder.rename(user_models / ".add-123")
    assert [entry.name for entry in catalog.entries()] == ["en-de"]


def test_unknown_names_are_told_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["info", "nix"], ["remove", "nix"], ["path", "nix"]):
        assert run(["models", *command]) == 1
        assert "choose one of: en-de" in capsys.readouterr().err


def test_it_starts_without_torch() -> None:
    code = (
        "import sys; from simulmt.cli.main import run; status = run(['models', 'list']);"
        "sys.exit(status or int('torch' in sys.modules or 'transformers' in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "en-de" in done.stdout


def test_which_model_is_used_when_none_is_named(folder: Path, user_models: Path, tmp_path: Path) -> None:
    run(["models", "add", str(folder), "--name", "mine"])  # en→fr
    anything = user_models / "anything"
    anything.mkdir()
    (anything / "config.json").write_text("{}")
    assert choose_model(None, None, None) == "en-de"  # whatever else there is
    assert choose_model(None, None, "fr") == "mine"
    assert choose_model("anything", None, "fr") == "anything"
    with pytest.raises(UsageError, match="no model at hand translates any→es"):
        choose_model(None, None, "es")
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    assert choose_model(None, None, None, str(adapter)) == "en-de"
    (adapter / "simulmt.json").write_text('{"base": "mine"}')
    assert choose_model(None, None, None, str(adapter)) == "mine"
    assert choose_model("en-de", None, None, str(adapter)) == "en-de"
    assert choose_model(None, None, None, "some/adapter-on-the-hub") == "en-de"
