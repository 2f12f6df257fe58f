"""Writes FOLDER/start.npz for `train.py`: `python -m training.reader.start FOLDER [shipped]`.

The layers of multilingual-e5-small, and its table of words in halves of floats; with `shipped`, the
layers and heads of the reader in the package, to train that one further.
"""

import sys
from pathlib import Path

import numpy as np
import onnx

from ragstone.language.late_interaction import Floats
from ragstone.models.e5_weights import LAYERS, MAX_LENGTH, WIDTH, E5Weights, read
from ragstone.models.engines import weights_file
from ragstone.reader.network import FILE, find_bundled


def main() -> None:
    folder = Path(sys.argv[1])
    weights = read(weights_file())
    count = weights.raw["emb.word"].size // (WIDTH // 32 * 18)
    table = np.concatenate(
        [
            weights.words(list(range(first, min(first + 10_000, count)))).astype(np.float16)
            for first in range(0, count, 10_000)
        ]
    )
    places = (
        weights.vector("emb.pos").reshape(MAX_LENGTH, WIDTH) + weights.vector("emb.type")[:WIDTH]
    )
    model = _load_shipped() if sys.argv[2:] == ["shipped"] else _embedder(weights)
    np.savez(folder / "start.npz", words=table, places=places, **model)  # type: ignore[arg-type]


def _embedder(weights: E5Weights) -> dict[str, Floats]:
    found = {"ln.weight": weights.vector("emb.ln.w"), "ln.bias": weights.vector("emb.ln.b")}
    for layer in range(LAYERS):
        here, there = f"l{layer}.", f"layers.{layer}."
        found[there + "qkv.weight"] = np.concatenate(
            [weights.matrix(f"{here}{p}.w") for p in "qkv"]
        )
        found[there + "qkv.bias"] = np.concatenate([weights.vector(f"{here}{p}.b") for p in "qkv"])
        for name in ("ao", "fi", "fo"):
            found[f"{there}{name}.weight"] = weights.matrix(f"{here}{name}.w")
            found[f"{there}{name}.bias"] = weights.vector(f"{here}{name}.b")
        for name in ("aln", "oln"):
            found[f"{there}{name}.weight"] = weights.vector(f"{here}{name}.w")
            found[f"{there}{name}.bias"] = weights.vector(f"{here}{name}.b")
    return found


def _load_shipped() -> dict[str, Floats]:
    """Return what `export.py` drew, in floats again."""
    graph = onnx.load(find_bundled() / FILE).graph
    held = {item.name: onnx.numpy_helper.to_array(item) for item in graph.initializer}
    found = {"part.weight": held["part.table"]}
    for name, array in held.items():
        of, _, what = name.rpartition(".")
        if what == "scale":
            matrix = held[f"{of}.weight"].T * array[:, None]
            matrix[:, held[f"{of}.channels"]] = held[f"{of}.rows"].T
            found[f"{of}.weight"] = matrix
        elif what == "t":
            found[f"{of}.weight"] = array.T
        elif what in ("w", "b"):
            found[f"{of}.{'weight' if what == 'w' else 'bias'}"] = array
        elif what == "bias":
            found[name] = array
    return {name: np.ascontiguousarray(array, np.float32) for name, array in found.items()}


if __name__ == "__main__":
    main()
