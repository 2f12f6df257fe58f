"""A GGUF file in this process: loading it once, and what stands in its way."""

import asyncio
import subprocess
import sys
import time
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from ragstone.core.answer import Instructions
from ragstone.core.errors import ConfigError
from ragstone.core.turn import Ask
from ragstone.plugins.gguf.model import GgufModel
from ragstone.ports import Said
from ragstone.settings import LlmSettings
from tests.engine.samples import a_passage
from tests.llama import model_file

pytestmark = pytest.mark.slow

NO_ANSWER = "The documents are silent."
TOLD = Instructions("Answer from the sources.", NO_ANSWER)
PASSAGES = [a_passage(1, "The lighthouse of Ost was built in 1871.")]


def a_model(**changes: Any) -> GgufModel:
    given = {"model": str(model_file()), "max_tokens": 4, "context_window": 2048}
    return GgufModel(LlmSettings(**{**given, **changes}))


async def said(model: GgufModel, passages: Any = PASSAGES) -> list[Said]:
    async with aclosing(model.answer(Ask("When was it built?"), passages, TOLD)) as stream:
        return [piece async for piece in stream]


class Slow(GgufModel):
    """Takes its time, and counts."""

    loads = 0

    def _load(self) -> Any:
        self.loads += 1
        time.sleep(0.5)
        return super()._load()


async def test_given_a_reader_who_leaves_while_it_loads_then_it_is_not_loaded_twice() -> None:
    settings = LlmSettings(model=str(model_file()), max_tokens=4, context_window=2048)
    model = Slow(settings)
    try:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await said(model)
        assert (await said(model))[-1].usage.completion_tokens > 0
        assert model.loads == 1
    finally:
        await model.aclose()


async def test_given_more_passages_than_the_window_holds_then_it_still_answers() -> None:
    many = [a_passage(i, f"Lighthouse {i} is fine. " * 60) for i in range(1, 12)]
    model = a_model(context_window=1024)
    try:
        last = (await said(model, many))[-1]
        assert 500 < last.usage.prompt_tokens < 1024
    finally:
        await model.aclose()


async def test_given_a_proxy_in_the_environment_then_it_is_not_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    model = a_model()
    try:
        await model.ready()
        assert (await said(model))[-1].usage.completion_tokens > 0
    finally:
        await model.aclose()


async def test_given_a_broken_gguf_file_then_a_clear_error_each_time(tmp_path: Path) -> None:
    file = tmp_path / "broken.gguf"
    file.write_bytes(b"GGUF" + b"\0" * 5000)
    model = a_model(model=str(file))
    for _ in range(2):
        with pytest.raises(ConfigError, match="cannot load"):
            await said(model)
    await model.aclose()


def test_given_no_llama_then_the_error_names_the_extra(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['xllamacpp'] = None\n"
        "from ragstone.plugins.gguf.model import GgufModel\n"
        "from ragstone.settings import LlmSettings\n"
        "try: GgufModel(LlmSettings(model='x.gguf'))\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("ConfigError")
    assert "ragstone[gguf]" in done.stdout
