"""Makes `models/data/e5-graph.onnx` and `e5-channels.json`: `python -m training.e5_graph`.

The graph is that of multilingual-e5-small without its weights, which
`ragstone.models.engines` adds when it opens it. Its matrices are multiplied in integers. Every
token's numbers are rounded to 8 bits by the largest of them, so the few channels that are always
far larger than the rest are left out of that and multiplied as they are. Which these are is read
from the texts below, written for this.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

import ragstone.models
from ragstone.language.late_interaction import Floats
from ragstone.models import engines
from ragstone.models.e5_weights import INNER, LAYERS, WIDTH, read
from ragstone.models.engines import Channels, E5Engine, weights_file

DATA = Path(ragstone.models.__file__).parent / "data"
HEADS = 12
EPSILON = 1e-12
WIDE = 8
"""Channels that are multiplied as they are."""

TEXTS = (
    "passage: The annual report shows a revenue of 48.6 million euros, after 43.1 in 2023.",
    "passage: Das Gerät hält 31 Tage bei 20 Grad. Nach zwei Jahren ist der Akku zu tauschen.",
    "passage: 本公司2023年的收入为四十八亿元,较上年增长百分之十二。董事会建议派发股息。",
    "passage: يجب تغيير البطارية بعد عامين من الاستخدام.",
    "passage: このマニュアルでは、装置の設置と保守について説明します。",
    "passage: for (int i = 0; i < n; i++) { total += price[i]; }  // 12 * 4 = 48",
    "query: कंपनी का राजस्व कितना था?",
    "query: Как заменить батарею?",
    "query: What is the notice period?",
    "query: 怎样更换电池?",
)


Seen = Sequence[tuple[str, str]]
"""The matrices, and the names of what goes into each."""


class Drawing:
    """A graph that grows node by node; each method gives the name of what it adds."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def weight(self, name: str, kind: int, *shape: int) -> str:
        """Return one that is added when the graph is opened."""
        weight = TensorProto(name=name, data_type=kind, dims=shape)
        weight.data_location = TensorProto.EXTERNAL
        weight.external_data.add(key="location", value="none")
        self.weights.append(weight)
        return name

    def constant(self, name: str, value: object, kind: type) -> str:
        self.weights.append(onnx.numpy_helper.from_array(np.array(value, kind), name))
        return name

    def node(self, operator: str, inputs: list[str], out: str, domain: str = "", **how: Any) -> str:
        self.nodes.append(helper.make_node(operator, inputs, [out], name=out, domain=domain, **how))
        return out

    def linear(self, x: str, name: str, inputs: int, outputs: int) -> str:
        kept = self.node("Mul", [x, self.weight(f"{name}.small", 1, inputs)], f"{name}.kept")
        size = self.node("Abs", [kept], f"{name}.size")
        most = self.node("ReduceMax", [size, "last"], f"{name}.most", keepdims=0)
        step = self.node("Mul", [most, "1/levels"], f"{name}.level")
        step = self.node("Max", [step, "least"], f"{name}.step")
        rounded = self.node("QuantizeLinear", [kept, step, "zeros"], f"{name}.rounded", axis=0)
        product = self.node(
            "MatMulIntegerToFloat",
            [
                rounded,
                self.weight(f"{name}.weight", TensorProto.INT8, inputs, outputs),
                "one",
                self.weight(f"{name}.scale", 1, outputs),
                "zero",
            ],
            f"{name}.product",
            "com.microsoft",
        )
        steps = self.node("Unsqueeze", [step, "last"], f"{name}.steps")
        scaled = self.node("Mul", [product, steps], f"{name}.scaled")
        channels = self.weight(f"{name}.channels", TensorProto.INT64, WIDE)
        wide = self.node("Gather", [x, channels], f"{name}.wide", axis=1)
        rows = self.weight(f"{name}.rows", 1, WIDE, outputs)
        wide = self.node(
            "Gemm", [wide, rows, self.weight(f"{name}.bias", 1, outputs)], f"{name}.added"
        )
        return self.node("Add", [scaled, wide], f"{name}.out")

    def normal(self, x: str, name: str) -> str:
        weights = [self.weight(f"{name}.w", 1, WIDTH), self.weight(f"{name}.b", 1, WIDTH)]
        return self.node(
            "LayerNormalization", [x, *weights], f"{name}.out", axis=-1, epsilon=EPSILON
        )


def encoder(graph: Drawing, layers: int, levels: int = 127, zero: int = 128) -> tuple[str, Seen]:
    """Return the layers of a network like BERT, from "states" (texts, tokens, 384) to the last
    states (texts times tokens, 384), and what goes into each matrix. Numbers are rounded to
    `levels` on either side of `zero`."""
    graph.constant("last", [1], np.int64)
    graph.constant("rows", [-1, WIDTH], np.int64)
    graph.constant("thirds", [WIDTH] * 3, np.int64)
    graph.constant("1/levels", 1 / levels, np.float32)
    graph.constant("least", 1e-9, np.float32)
    graph.constant("one", 1, np.float32)
    graph.constant("zero", zero, np.uint8)
    graph.node("Shape", ["states"], "shape")
    x = graph.normal(graph.node("Reshape", ["states", "rows"], "flat"), "emb.ln")
    graph.node("Shape", [x], "tokens", end=1)
    graph.node(
        "ConstantOfShape",
        ["tokens"],
        "zeros",
        value=helper.make_tensor("z", TensorProto.UINT8, [1], [zero]),
    )
    seen = []
    for layer in range(layers):
        name = f"l{layer}"
        seen.append((f"{name}.qkv", x))
        parts = [f"{name}.{part}" for part in ("q", "k", "v")]
        joined = graph.linear(x, f"{name}.qkv", WIDTH, 3 * WIDTH)
        graph.nodes.append(
            helper.make_node("Split", [joined, "thirds"], parts, name=f"{name}.split", axis=1)
        )
        parts = [graph.node("Reshape", [part, "shape"], f"{part}.texts") for part in parts]
        found = graph.node(
            "MultiHeadAttention", parts, f"{name}.seen", "com.microsoft", num_heads=HEADS
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
    return x, seen


def model(
    graph: Drawing, name: str, output: onnx.ValueInfoProto, watched: Seen = ()
) -> onnx.ModelProto:
    """Return the drawing as a model that gives `output`, and what is `watched` too."""
    outputs = [output, *(helper.make_tensor_value_info(out, 1, None) for _, out in watched)]
    inputs = [helper.make_tensor_value_info("states", 1, ["texts", "tokens", WIDTH])]
    whole = helper.make_graph(graph.nodes, name, inputs, outputs, graph.weights)
    versions = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(whole, opset_imports=versions, ir_version=10)


def draw_graph(watched: bool = False) -> onnx.ModelProto:
    """From states (texts, tokens, 384) to their mean after the last layer (texts, 384). With
    `watched`, what goes into each matrix is given too."""
    graph = Drawing()
    x, seen = encoder(graph, LAYERS)
    graph.node(
        "ReduceMean", [graph.node("Reshape", [x, "shape"], "texts"), "last"], "means", keepdims=0
    )
    means = helper.make_tensor_value_info("means", 1, ["texts", WIDTH])
    return model(graph, "multilingual-e5-small", means, seen if watched else ())


def large_channels() -> Channels:
    """Find per matrix the channels whose largest number over all texts is largest."""
    some = {
        f"l{layer}.{part}": list(range(WIDE)) for layer in range(LAYERS) for part in engines.PARTS
    }
    engine = E5Engine(read(weights_file()), draw_graph(watched=True).SerializeToString(), some)
    return widest(
        some,
        (
            engine.session.run(None, {"states": engine.states(ids)})[1:]
            for text in TEXTS
            for ids in engine.windows(text)
        ),
    )


def widest(names: Iterable[str], runs: Iterable[Sequence[Floats]]) -> Channels:
    """Per matrix, the channels whose largest number in what goes into it in any run is largest."""
    most = dict.fromkeys(names, 0.0)
    for seen in runs:
        for name, states in zip(most, seen, strict=True):
            most[name] = np.maximum(most[name], np.abs(states).max(axis=0))
    return {name: sorted(np.argsort(-size)[:WIDE].tolist()) for name, size in most.items()}


def main() -> None:
    (DATA / "e5-graph.onnx").write_bytes(draw_graph().SerializeToString())
    text = ",\n".join(f'"{name}": {ids}' for name, ids in large_channels().items())
    (DATA / "e5-channels.json").write_text("{\n" + text + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
