"""Which of a model's ONNX files is run."""

from collections.abc import Iterable
from pathlib import PurePosixPath

from ragstone.core.errors import ConfigError

FOLDERS = ("", "onnx/")
"""Where exporters put the file: optimum and fastembed in the folder, others in `onnx`."""

NAMES = ("model", "model_optimized", "model_quantized", "model_int8", "model_uint8", "model_fp16")
"""What exporters call it, the most exact first. A setting may name any other."""

OTHER_WEIGHTS = (".safetensors", ".bin", ".pt", ".gguf", ".h5")


def choose(setting: str, where: str, files: Iterable[str], named: str = "") -> str:
    """The ONNX file among `files`: the one that is `named`, else the first of `NAMES`, else the
    only one. Raises ConfigError."""
    known = set(files)
    if named:
        if named in known and named.endswith(".onnx"):
            return named
        raise ConfigError(f"{setting}: there is no ONNX file {named!r} in {where}.{_there(known)}")
    for name in NAMES:
        for folder in FOLDERS:
            if f"{folder}{name}.onnx" in known:
                return f"{folder}{name}.onnx"
    found = [item for item in known if item.endswith(".onnx")]
    if len(found) == 1:
        return found[0]
    if found:
        raise ConfigError(f"{setting}: which ONNX file of {where}? Name one.{_there(known)}")
    if any(item.endswith(OTHER_WEIGHTS) for item in known):
        raise ConfigError(
            f"{setting}: {where} has weights, but not as ONNX. Make them with "
            "'optimum-cli export onnx', or name a model that has a model.onnx."
        )
    raise ConfigError(
        f"{setting}: there is no model.onnx in {where} or its onnx folder. Name the folder of a "
        "model as optimum or fastembed lay it out."
    )


def belongs(name: str, file: str) -> bool:
    """Whether a file of a repository is needed to run its ONNX `file`: itself, the weights that
    stand beside it, and what says how it is used."""
    path, model = PurePosixPath(name), PurePosixPath(file)
    if path.parent == model.parent and path.name in (model.name, f"{model.name}.data"):
        return True
    if path.parent == model.parent and path.name.startswith(f"{model.name}_data"):
        return True
    if path.name == "artifact.metadata":  # What ColBERT's own program says of the model.
        return True
    return path.suffix == ".json" and len(path.parts) <= 2 and path.name not in _UNUSED


_UNUSED = frozenset({"vocab.json", "openvino_model.json", "model.safetensors.index.json"})


def _there(known: Iterable[str]) -> str:
    found = sorted(text for text in known if text.endswith(".onnx"))
    return f" There are {', '.join(found[:12])}." if found else ""
