"""Opening a model of ONNX Runtime so that it shares the processor."""

import os
from pathlib import Path
from typing import Any


def session(file: Path, threads: int = 0) -> Any:
    """An `onnxruntime.InferenceSession` on `threads` threads, by default one per processor.

    Its threads sleep between two steps. By default they would spin, which is faster where nothing
    else runs, and a third slower where anything does (`benchmarks/results/notes.md`).
    """
    import onnxruntime  # type: ignore[import-untyped]

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or os.cpu_count() or 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
