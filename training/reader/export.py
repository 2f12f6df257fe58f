"""Makes `reader/data/reader.onnx` and its card `reader.json`: `python -m training.reader.export`
with FOLDER/reader.npz FOLDER [TO].

Draws the network that `train.py` trained, with its matrices in 8 bits, and finds with rows of
FOLDER/train-0.npz which channels are always large (`training.e5_graph` says why). TO is by default
the folder in the package.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
import onnx
import onnxruntime  # type: ignore[import-untyped]
from numpy.typing import NDArray
from onnx import TensorProto, helper

from ragstone.language.late_interaction import Floats
from ragstone.models.e5_weights import INNER, MAX_LENGTH, WIDTH, read
from ragstone.models.engines import Channels, quantize_product, weights_file
from ragstone.reader.network import CARD, FILE, FORM, PADDING, find_bundled
from ragstone.reader.pairs import PASSAGE, TEXT
from training import logistic
from training.e5_graph import HEADS, WIDE, Drawing, widest

MATRICES = ("qkv", "ao", "fi", "fo")
TOLD = 2
"""As in `train.py`: behind so many layers each token is told what it belongs to."""

WATCHED = 160
"""Rows that the large channels are found with."""

Weights = Mapping[str, Floats]


class Network(Drawing):
    """A drawing whose weights are in it."""

    def __init__(self, weights: Weights, channels: Mapping[str, list[int]]) -> None:
        super().__init__()
        self._given = weights
        self._channels = channels
        self._held: dict[str, Floats] = {}

    def weight(self, name: str, kind: int, *shape: int) -> str:
        self.weights.append(onnx.numpy_helper.from_array(self._held[name], name))
        return name

    def linear(self, x: str, name: str, inputs: int, outputs: int) -> str:
        matrix, bias = self._given[f"{name}.weight"].copy(), self._given[f"{name}.bias"]
        self._held = quantize_product(name, matrix, bias, self._channels[name])
        return super().linear(x, name, inputs, outputs)

    def normal(self, x: str, name: str) -> str:
        self._held = {
            f"{name}.w": self._given[f"{name}.weight"],
            f"{name}.b": self._given[f"{name}.bias"],
        }
        return super().normal(x, name)

    def plain(self, x: str, name: str) -> str:
        """Return a small matrix, in floats."""
        weight = self.constant(f"{name}.t", self._given[f"{name}.weight"].T, np.float32)
        bias = self.constant(f"{name}.bias", self._given[f"{name}.bias"], np.float32)
        return self.node("Gemm", [x, weight, bias], f"{name}.out")


def draw_graph(
    weights: Weights, channels: Mapping[str, list[int]], watched: bool = False
) -> onnx.ModelProto:
    """From states (rows, tokens, 384) and parts (rows, tokens) to `pair` and `tokens`."""
    graph = Network(weights, channels)
    for name, value, kind in (
        ("last", [1], np.int64), ("rows", [-1, WIDTH], np.int64),
        ("thirds", [WIDTH] * 3, np.int64), ("1/levels", 1 / 127, np.float32),
        ("least", 1e-9, np.float32), ("one", 1, np.float32), ("zero", 128, np.uint8),
        ("nothing", 0, np.int32), ("text", TEXT, np.int32), ("passage", PASSAGE, np.int32),
        ("third", [2], np.int64), ("first", 0, np.int64), ("far", 1e4, np.float32),
    ):  # fmt: skip
        graph.constant(name, value, kind)
    graph.node("Shape", ["states"], "shape")
    graph.node("Max", ["parts", "nothing"], "parts.kept")
    x = graph.normal(graph.node("Reshape", ["states", "rows"], "flat"), "ln")
    graph.node("Shape", [x], "count", end=1)
    zeros = helper.make_tensor("z", TensorProto.UINT8, [1], [128])
    graph.node("ConstantOfShape", ["count"], "zeros", value=zeros)
    graph.node("GreaterOrEqual", ["parts", "nothing"], "real")
    mask = graph.node("Cast", ["real"], "mask", to=TensorProto.INT32)
    seen = []
    layers = 1 + max(int(name.split(".")[1]) for name in weights if name.startswith("layers."))
    for layer in range(layers):
        name = f"layers.{layer}"
        if layer == TOLD:
            table = graph.constant("part.table", weights["part.weight"], np.float32)
            added = graph.node("Gather", [table, "parts.kept"], "part.added")
            added = graph.node("Reshape", [added, "rows"], "part.flat")
            x = graph.node("Add", [x, added], "begin")
        seen.append((f"{name}.qkv", x))
        parts = [f"{name}.{part}" for part in ("q", "k", "v")]
        joined = graph.linear(x, f"{name}.qkv", WIDTH, 3 * WIDTH)
        split = helper.make_node("Split", [joined, "thirds"], parts, name=f"{name}.split", axis=1)
        graph.nodes.append(split)
        parts = [graph.node("Reshape", [part, "shape"], f"{part}.rows") for part in parts]
        found = graph.node(
            "MultiHeadAttention",
            [*parts, "", mask],
            f"{name}.seen",
            "com.microsoft",
            num_heads=HEADS,
        )
        found = graph.node("Reshape", [found, "rows"], f"{name}.seen.flat")
        seen.append((f"{name}.ao", found))
        found = graph.linear(found, f"{name}.ao", WIDTH, WIDTH)
        x = graph.normal(graph.node("Add", [x, found], f"{name}.aln.in"), f"{name}.aln")
        seen.append((f"{name}.fi", x))
        inner = graph.node("Gelu", [graph.linear(x, f"{name}.fi", WIDTH, INNER)], f"{name}.gelu")
        seen.append((f"{name}.fo", inner))
        inner = graph.linear(inner, f"{name}.fo", INNER, WIDTH)
        x = graph.normal(graph.node("Add", [x, inner], f"{name}.oln.in"), f"{name}.oln")
    tokens = graph.plain(x, "each")
    by_row = graph.node("Reshape", [x, "shape"], "end")
    _pool(graph, by_row)
    graph.node("Shape", ["parts"], "sizes")
    graph.constant("three", [3], np.int64)
    graph.node("Concat", ["sizes", "three"], "tokens.shape", axis=0)
    graph.node("Reshape", [tokens, "tokens.shape"], "tokens")
    outputs = [
        helper.make_tensor_value_info("pair", 1, ["rows", 4]),
        helper.make_tensor_value_info("tokens", 1, ["rows", "width", 3]),
    ]
    if watched:
        outputs += [helper.make_tensor_value_info(out, 1, None) for _, out in seen]
    inputs = [
        helper.make_tensor_value_info("states", 1, ["rows", "width", WIDTH]),
        helper.make_tensor_value_info("parts", TensorProto.INT32, ["rows", "width"]),
    ]
    whole = helper.make_graph(graph.nodes, "ragstone-reader", inputs, outputs, graph.weights)
    versions = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(whole, opset_imports=versions, ir_version=10)


def _pool(graph: Network, x: str) -> None:
    """The pair's own numbers: of the first token, the means of text and passage, and the text's
    largest."""
    pooled = [graph.node("Gather", [x, "first"], "pool.first", axis=1)]
    for part in ("text", "passage"):
        here = graph.node("Equal", ["parts", part], f"{part}.here")
        here = graph.node("Cast", [here], f"{part}.share", to=TensorProto.FLOAT)
        here = graph.node("Unsqueeze", [here, "third"], f"{part}.column")
        kept = graph.node("Mul", [x, here], f"{part}.kept")
        total = graph.node("ReduceSum", [kept, "last"], f"{part}.sum", keepdims=0)
        count = graph.node("ReduceSum", [here, "last"], f"{part}.count", keepdims=0)
        count = graph.node("Max", [count, "one"], f"{part}.size")
        pooled.append(graph.node("Div", [total, count], f"{part}.mean"))
    away = graph.node("Sub", ["one", "text.column"], "text.away")
    away = graph.node("Mul", [away, "far"], "text.far")
    inside = graph.node("Sub", [x, away], "text.inside")
    pooled.append(graph.node("ReduceMax", [inside, "last"], "text.most", keepdims=0))
    joined = graph.node("Concat", pooled, "pool", axis=1)
    graph.node("Identity", [graph.plain(_gelu(graph, graph.plain(joined, "join")), "out")], "pair")


def _gelu(graph: Network, x: str) -> str:
    return graph.node("Gelu", [x], f"{x}.gelu")


class Rows:
    """What `build.py` wrote, as the network takes it."""

    def __init__(self, file: Path) -> None:
        with np.load(file) as held:
            self._ids, self._parts, self._starts = held["ids"], held["parts"], held["starts"]
            self.labels = held["labels"]
        self._words = read(weights_file())
        places = self._words.vector("emb.pos").reshape(MAX_LENGTH, WIDTH)
        self._places = places + self._words.vector("emb.type")[:WIDTH]

    def __len__(self) -> int:
        return len(self.labels)

    def feed(self, chosen: Sequence[int]) -> dict[str, Floats]:
        held = [slice(self._starts[i], self._starts[i + 1]) for i in chosen]
        width = max(item.stop - item.start for item in held)
        states = np.zeros((len(held), width, WIDTH), np.float32)
        parts = np.full((len(held), width), PADDING, np.int32)
        for i, item in enumerate(held):
            size = item.stop - item.start
            states[i, :size] = self._words.words(self._ids[item].tolist()) + self._places[:size]
            parts[i, :size] = self._parts[item]
        return {"states": states, "parts": parts}


def large_channels(weights: Weights, rows: Rows) -> Channels:
    """Find per matrix the channels whose largest number over some rows is largest."""
    layers = 1 + max(int(name.split(".")[1]) for name in weights if name.startswith("layers."))
    names = [f"layers.{layer}.{part}" for layer in range(layers) for part in MATRICES]
    some = {name: list(range(WIDE)) for name in names}
    opened = onnxruntime.InferenceSession(
        draw_graph(weights, some, watched=True).SerializeToString(),
        providers=["CPUExecutionProvider"],
    )
    chosen = (i * len(rows) // WATCHED for i in range(WATCHED))
    return widest(names, (opened.run(None, rows.feed([row]))[2:] for row in chosen))


def temper(weights: Weights, channels: Mapping[str, list[int]], rows: Rows) -> Weights:
    """The weights with logits as sure as they are right on rows that it did not learn from, where
    both labels weigh the same: after long training it is surer than that, and of "no" more."""
    model = draw_graph(weights, channels).SerializeToString()
    opened = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    logits = np.concatenate([opened.run(["pair"], rows.feed([i]))[0] for i in range(len(rows))])
    return {**weights, **_temper_rows(weights, logits, rows.labels)}


def _temper_rows(weights: Weights, logits: Floats, labels: NDArray[np.int32]) -> Weights:
    answers, _, _, verdict = labels.T
    asked, claims = answers >= 0, verdict >= 0
    slope, begin = _line(logits[asked, 0], answers[asked] == 1)
    against = np.logaddexp(logits[claims, 2], logits[claims, 3])
    steep, lift = _line(logits[claims, 1] - against, verdict[claims] == 0)
    print(f"answers {slope:.2f} x + {begin:.2f}, supported {steep:.2f} x + {lift:.2f}")
    scale = np.array([slope, steep, steep, steep], np.float32)
    shift = np.array([begin, lift, 0, 0], np.float32)
    return {
        "out.weight": weights["out.weight"] * scale[:, None],
        "out.bias": weights["out.bias"] * scale + shift,
    }


def _line(logits: Floats, right: NDArray[np.bool_]) -> tuple[float, float]:
    """Fit slope and begin of the line that makes the labels likeliest."""
    given = np.c_[logits, np.ones(len(logits))].astype(np.float64)
    mass = np.where(right, 0.5 / right.mean(), 0.5 / (1 - right.mean()))
    slope, begin = logistic.fit_logistic(given, right.astype(np.float64), mass)
    return float(slope), float(begin)


def main() -> None:
    with np.load(sys.argv[1]) as held:
        weights: Weights = {name: held[name].astype(np.float32) for name in held.files}
    folder = Path(sys.argv[2])
    rows, check = Rows(folder / "train-0.npz"), Rows(folder / "check.npz")
    to = Path(sys.argv[3]) if len(sys.argv) > 3 else find_bundled()
    to.mkdir(parents=True, exist_ok=True)
    channels = large_channels(weights, rows)
    data = draw_graph(temper(weights, channels, check), channels).SerializeToString()
    (to / FILE).write_bytes(data)
    card = {"form": FORM, "sha256": sha256(data).hexdigest()}
    (to / CARD).write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")
    print(f"{to / FILE}: {len(data) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
