"""Small models in the layouts of sentence-transformers, optimum and fastembed: made of ONNX
operators, with the bundled vocabulary, so that every number of theirs can be computed by hand."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer

WIDTH = 32
VOCABULARY = 30_522

INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def tokenizer_json() -> bytes:
    return files("ragstone.models").joinpath("data/minilm-tokenizer.json").read_bytes()


@cache
def tokenizer() -> Tokenizer:
    found = Tokenizer.from_str(tokenizer_json().decode())
    found.no_padding()
    found.no_truncation()
    return found


@cache
def table() -> NDArray[np.float32]:
    """The vector of each token."""
    made = np.random.default_rng(7).standard_normal((VOCABULARY, WIDTH))
    return made.astype(np.float32)


def states(text: str, longest: int = 512) -> NDArray[np.float32]:
    """What the encoder computes of a text: each token's vector, and the mean of all."""
    found = tokenizer().encode(text).ids
    ids = found if len(found) <= longest else [*found[: longest - 1], found[-1]]
    rows = table()[ids]
    summed: NDArray[np.float32] = rows + rows.mean(axis=0)
    return summed


def unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    made: NDArray[np.float32] = vector / np.linalg.norm(vector)
    return made


@dataclass(frozen=True)
class Encoder:
    """An encoder's graph: `output` is the name of its token vectors; `whole` adds their mean as
    sentence_embedding; `scale` multiplies all."""

    output: str = "last_hidden_state"
    inputs: Sequence[str] = INPUTS
    whole: bool = False
    scale: float = 1.0
    opset: int = 17

    def save(self, path: Path) -> None:
        nodes = [
            helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
            helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
            helper.make_node("Unsqueeze", ["mask", "two"], ["column"]),
            helper.make_node("Mul", ["rows", "column"], ["kept"]),
            helper.make_node("ReduceSum", ["kept", "one"], ["sum"], keepdims=1),
            helper.make_node("ReduceSum", ["column", "one"], ["count"], keepdims=1),
            helper.make_node("Div", ["sum", "count"], ["mean"]),
            helper.make_node("Add", ["rows", "mean"], ["states"]),
            helper.make_node("Mul", ["states", "scale"], [self.output]),
            helper.make_node("Squeeze", ["mean", "one"], ["sentence_embedding"]),
        ]
        outputs = {self.output: ["b", "n", WIDTH]}
        if self.whole:
            outputs["sentence_embedding"] = ["b", WIDTH]
        constants = {
            "table": table(),
            "one": np.array([1]),
            "two": np.array([2]),
            "scale": np.array(self.scale, np.float32),
        }
        _save(path, nodes, self.inputs, outputs, constants, self.opset)


@dataclass(frozen=True)
class PairScorer:
    """Counts the tokens that both texts of a pair have, less five; each output is that times its
    factor. `rank` 3 is one score a token, as of models that predict words."""

    factors: Sequence[float] = (1.0,)
    rank: int = 2

    def save(self, path: Path) -> None:
        ids, types = "input_ids", "token_type_ids"
        nodes = [
            helper.make_node("Unsqueeze", [ids, "two"], ["left"]),
            helper.make_node("Unsqueeze", [ids, "one"], ["right"]),
            helper.make_node("Equal", ["left", "right"], ["same"]),
            helper.make_node("Unsqueeze", [types, "two"], ["left_type"]),
            helper.make_node("Unsqueeze", [types, "one"], ["right_type"]),
            helper.make_node("Greater", ["left_type", "right_type"], ["across"]),
            helper.make_node("And", ["same", "across"], ["both"]),
            helper.make_node("Cast", ["both"], ["counted"], to=TensorProto.FLOAT),
            helper.make_node("ReduceSum", ["counted", "axes"], ["sum"], keepdims=0),
            helper.make_node("Sub", ["sum", "five"], ["less"]),
            helper.make_node("Unsqueeze", ["less", "one"], ["column"]),
            helper.make_node("Mul", ["column", "factors"], ["flat"]),
            helper.make_node("Unsqueeze", ["flat", "one"], ["deep"]),
            helper.make_node("Identity", ["deep" if self.rank == 3 else "flat"], ["logits"]),
        ]
        constants = {
            "one": np.array([1]),
            "two": np.array([2]),
            "axes": np.array([1, 2]),
            "five": np.array(5, np.float32),
            "factors": np.array(self.factors, np.float32),
        }
        _save(path, nodes, (ids, types), {"logits": [None] * self.rank}, constants)


def overlap(first: str, second: str) -> int:
    """What a `PairScorer` computes, times one."""
    ids = [tokenizer().encode(text, add_special_tokens=False).ids for text in (first, second)]
    return sum(a == b for a in ids[0] for b in ids[1]) + 1 - 5  # The end of both is one token.


def _save(
    path: Path,
    nodes: Sequence[Any],
    inputs: Sequence[str],
    outputs: Mapping[str, Sequence[Any]],
    constants: Mapping[str, NDArray[Any]],
    opset: int = 17,
) -> None:
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "n"]) for name in inputs],
        [
            helper.make_tensor_value_info(n, TensorProto.FLOAT, shape)
            for n, shape in outputs.items()
        ],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(made, path)


def write(folder: Path, **parts: Any) -> None:
    """JSON files by their names, with `__` for a folder's slash."""
    for name, said in parts.items():
        path = folder / f"{name.replace('__', '/')}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(said), encoding="utf-8")


def an_encoder(
    folder: Path,
    model: Encoder = Encoder(),
    file: str = "model.onnx",
    pooling: str | None = "mean_tokens",
    **parts: Any,
) -> Path:
    """An embedding model's folder as sentence-transformers lays it out; without `pooling` as
    fastembed does."""
    model.save(folder / file)
    (folder / "tokenizer.json").write_bytes(tokenizer_json())
    write(
        folder,
        config={
            "architectures": ["BertModel"],
            "model_type": "bert",
            "max_position_embeddings": 512,
            "vocab_size": VOCABULARY,
            "pad_token_id": 0,
        },
        special_tokens_map={"pad_token": "[PAD]"},
    )
    if pooling:
        kinds = ("Transformer", "Pooling", "Normalize")
        modules = [
            {"idx": i, "path": "" if i == 0 else f"{i}_{kind}", "type": f"st.models.{kind}"}
            for i, kind in enumerate(kinds)
        ]
        mode = {f"pooling_mode_{item}": item == pooling for item in ("cls_token", "mean_tokens")}
        write(
            folder,
            modules=modules,
            **{"1_Pooling__config": {**mode, f"pooling_mode_{pooling}": True}},
        )
    write(folder, **parts)
    return folder


def a_scorer(
    folder: Path,
    labels: Sequence[str] = (),
    factors: Sequence[float] = (1.0,),
    file: str = "onnx/model.onnx",
    **config: Any,
) -> Path:
    """A cross-encoder's or classifier's folder as optimum lays it out."""
    PairScorer(factors).save(folder / file)
    (folder / "tokenizer.json").write_bytes(tokenizer_json())
    named = {"id2label": {str(i): label for i, label in enumerate(labels)}} if labels else {}
    kind = {"architectures": ["BertForSequenceClassification"], "max_position_embeddings": 512}
    write(folder, config={**kind, **named, **config})
    return folder
