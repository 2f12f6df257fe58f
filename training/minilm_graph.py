"""Makes `minilm-graph.onnx` and `minilm-weights.json` in `models/data`.

`python -m training.minilm_graph` does it.

The graph is that of all-MiniLM-L6-v2 without its weights, which `ragstone.models.engines`
reads from where they stand in the package's file. Its matrices are multiplied in integers, as those
of the multilingual model (`training.e5_graph`), with the weights of 8 bits as they are and the
tokens' numbers rounded to 7 bits: processors without instructions for neural networks add two
products to 16 bits, which then never overflow.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
from onnx import helper

from ragstone.models.e5_weights import WIDTH
from ragstone.models.engines import (
    MINILM_GRAPH,
    MINILM_LAYERS,
    MINILM_WEIGHTS,
    Channels,
    MiniLmEngine,
    WeightPlace,
    model_file,
)
from ragstone.models.engines import PARTS as JOINED
from ragstone.models.minilm import tokenizer
from training.e5_graph import DATA, WIDE, Drawing, encoder, model, widest

LEVELS, ZERO = 63, 64

PARTS = (
    ("attention.self.query", "q"),
    ("attention.self.key", "k"),
    ("attention.self.value", "v"),
    ("attention.output.dense", "ao"),
    ("intermediate.dense", "fi"),
    ("output.dense", "fo"),
)
"""The matrices of a layer in the order in which they are multiplied, and ours of the same."""

NORMS = (("attention.output.LayerNorm", "aln"), ("output.LayerNorm", "oln"))

TEXTS = (
    "The annual report shows a revenue of 48.6 million euros, after 43.1 in 2023.",
    "The device lasts 31 days at 20 degrees. Its battery has to be replaced after two years.",
    "for (int i = 0; i < n; i++) { total += price[i]; }  // 12 * 4 = 48",
    "| Item | Price | Unit |\n| --- | --- | --- |\n| Pump A-17 | 1,299.00 | EUR |",
    "What is the notice period?",
    "How do I reset the router to its factory settings?",
    "Section 4. The tenant shall pay the rent on the first day of each month, in advance.",
    "Cells divide by mitosis: prophase, metaphase, anaphase and telophase.",
)


def draw_graph(watched: bool = False) -> onnx.ModelProto:
    """From states (texts, tokens, 384) to the last ones. With `watched`, what goes into each matrix
    is given too."""
    graph = Drawing()
    x, seen = encoder(graph, MINILM_LAYERS, LEVELS, ZERO)
    graph.node("Reshape", [x, "shape"], "hidden")
    hidden = helper.make_tensor_value_info("hidden", 1, ["texts", "tokens", WIDTH])
    return model(graph, "all-MiniLM-L6-v2", hidden, seen if watched else ())


def places(file: Path) -> dict[str, WeightPlace]:
    """Return where each weight stands in the model's file, by the name that the engine calls it."""
    data = file.read_bytes()
    graph = onnx.load(file).graph
    held = {item.name: item for item in graph.initializer}
    found: dict[str, WeightPlace] = {}
    for ours, theirs in _names(graph):
        one = held[theirs]
        kind = str(helper.tensor_dtype_to_np_dtype(one.data_type))
        at = data.index(one.SerializeToString()) + one.SerializeToString().index(one.raw_data)
        found[ours] = WeightPlace(at, kind, tuple(one.dims))
    return found


def _names(graph: Any) -> Iterator[tuple[str, str]]:
    """Our names and theirs. The matrices have numbers instead of names, in order."""
    numbers = [item.name for item in graph.initializer if item.name.endswith("_q")]
    matrices = [name.removesuffix("_q") for name in numbers if name.startswith("val_")]
    matrices.sort(key=lambda name: int(name.split("_")[1]))
    for name, part in (("words", "word"), ("places", "position")):
        for ours, theirs in (("w", "q"), ("scale", "scale")):
            yield f"emb.{name}.{ours}", f"inner.embeddings.{part}_embeddings.weight_{theirs}"
    yield "emb.type", "inner.embeddings.token_type_embeddings.weight"
    yield "emb.ln.w", "inner.embeddings.LayerNorm.weight"
    yield "emb.ln.b", "inner.embeddings.LayerNorm.bias"
    for layer in range(MINILM_LAYERS):
        within = f"inner.encoder.layer.{layer}"
        for place, (theirs, ours) in enumerate(PARTS):
            matrix = matrices[layer * len(PARTS) + place]
            yield f"l{layer}.{ours}.w", f"{matrix}_q"
            yield f"l{layer}.{ours}.scale", f"{matrix}_scale"
            yield f"l{layer}.{ours}.b", f"{within}.{theirs}.bias"
        for theirs, ours in NORMS:
            yield f"l{layer}.{ours}.w", f"{within}.{theirs}.weight"
            yield f"l{layer}.{ours}.b", f"{within}.{theirs}.bias"


def large_channels(stand: dict[str, WeightPlace]) -> Channels:
    """Find per matrix the channels whose largest number over all texts is largest."""
    some = {
        f"l{layer}.{part}": list(range(WIDE)) for layer in range(MINILM_LAYERS) for part in JOINED
    }
    engine = MiniLmEngine(model_file(), stand, some, draw_graph(watched=True).SerializeToString())
    own = tokenizer()
    feeds = ({"states": engine.first_states(own.encode(text).ids)} for text in TEXTS)
    return widest(some, (engine.session.run(None, feed)[1:] for feed in feeds))


def main() -> None:
    (DATA / MINILM_GRAPH).write_bytes(draw_graph().SerializeToString())
    stand = places(model_file())
    told = {"places": stand, "channels": large_channels(stand)}
    lines = [
        f'"{part}": {{\n' + ",\n".join(f'"{k}": {json.dumps(v)}' for k, v in held.items()) + "\n}"
        for part, held in told.items()
    ]
    (DATA / MINILM_WEIGHTS).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
