"""Writes FOLDER/start.npz for `train.py`: `python -m training.reader.start FOLDER`.

The layers of multilingual-e5-small, and of its table of words the rows that train.npz and
check.npz in FOLDER need.
"""

import sys
from pathlib import Path

import numpy as np

from ragstone.models.e5_engine import weights_file
from ragstone.models.e5_weights import LAYERS, LONGEST, WIDTH, read


def main() -> None:
    folder = Path(sys.argv[1])
    weights = read(weights_file())
    used: set[int] = set()
    for name in ("train", "check"):
        with np.load(folder / f"{name}.npz") as rows:
            used |= set(np.unique(rows["ids"]).tolist())
    ids = sorted(used | {0})
    rows = np.zeros(max(ids) + 1, np.int64)
    rows[ids] = np.arange(len(ids))
    places = weights.vector("emb.pos").reshape(LONGEST, WIDTH) + weights.vector("emb.type")[:WIDTH]
    found = {
        "words": weights.words(ids).astype(np.float16),
        "rows": rows,
        "places": places,
        "ln.weight": weights.vector("emb.ln.w"),
        "ln.bias": weights.vector("emb.ln.b"),
    }
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
    np.savez(folder / "start.npz", **found)


if __name__ == "__main__":
    main()
