"""Opening a model of ONNX Runtime so that it shares the processor."""

import os
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

sessions: MutableMapping[tuple[str, int], Any] = WeakValueDictionary()
"""What is open, by file and threads, for as long as anybody has it: several data directories in
one process need a model in memory once."""


def session(file: Path, threads: int = 0) -> Any:
    """An `onnxruntime.InferenceSession` on `threads` threads, by default one per processor. It may
    be run by several threads at once.

    Its threads sleep between two steps. By default they would spin, which is faster where nothing
    else runs, and a third slower where anything does (`benchmarks/results/notes.md`).
    """
    opened = sessions.get((str(file), threads))
    if opened is None:
        opened = sessions[str(file), threads] = _open(file, threads or os.cpu_count() or 1)
    return opened


def one_thread(graph: bytes, weights: Mapping[str, Any]) -> Any:
    """An `onnxruntime.InferenceSession` of a graph without its `weights` (arrays by name), which
    runs each call in the thread that makes it."""
    import onnxruntime  # type: ignore[import-untyped]

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(weight) for weight in weights.values()]
    options.add_external_initializers(list(weights), values)
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def _open(file: Path, threads: int) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
