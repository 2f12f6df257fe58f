"""What a model's server tells of itself: the models that it has, and how long a prompt may be.

OpenAI's API has no place for the window, so each server tells it elsewhere, if at all.
"""

import asyncio
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from openai import AsyncOpenAI

SECONDS = 2.0
"""How long a server may take to tell its window: somebody waits for the start."""

MIN_WINDOW = 512
"""A smaller one is none: a server that has not loaded its model may say 0."""

_LISTED = ("max_model_len", "context_length", "context_window", "max_context_length")
"""Fields of a listed model that say its window: vLLM, OpenRouter, Groq and Mistral."""

_NUM_CTX = re.compile(r"^num_ctx\s+(\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Window:
    """Tokens of prompt and answer together. One that is not `exact` is what the model could take at
    most; the server may be set to less."""

    tokens: int
    exact: bool = True


async def model_names(client: AsyncOpenAI) -> list[str]:
    """The models that the server lists; raises what the client does."""
    return [model.id async for model in client.models.list()]


async def read_window(client: AsyncOpenAI, model: str) -> Window | None:
    """The window of a model, None where its server does not tell."""
    readers = (_from_list, _from_llama_cpp, _from_ollama, _from_lm_studio)
    found: list[Window | None] = []
    with suppress(Exception):
        async with asyncio.timeout(SECONDS):
            # Of servers that answer, most know one of the four: the others end with a 404.
            found = await asyncio.gather(*(_quietly(read(client, model)) for read in readers))
    return next((item for item in found if item and item.tokens >= MIN_WINDOW), None)


async def _quietly(reading: Any) -> Window | None:
    with suppress(Exception):
        return await reading  # type: ignore[no-any-return]
    return None


async def _from_list(client: AsyncOpenAI, model: str) -> Window | None:
    async for listed in client.models.list():
        fields = listed.model_dump()
        for name in _LISTED if listed.id == model else ():
            if isinstance(fields.get(name), int):
                return Window(fields[name])
    return None


async def _from_llama_cpp(client: AsyncOpenAI, model: str) -> Window | None:
    told = await _get(client, "props")
    return _window(told["default_generation_settings"]["n_ctx"])


async def _from_ollama(client: AsyncOpenAI, model: str) -> Window | None:
    told: Any = await client.post(
        _server_url(client, "api/show"), cast_to=object, body={"model": model}
    )
    if chosen := _NUM_CTX.search(str(told.get("parameters") or "")):
        return Window(int(chosen[1]))
    lengths = (n for name, n in told["model_info"].items() if name.endswith(".context_length"))
    return _window(next(lengths, None), exact=False)


async def _from_lm_studio(client: AsyncOpenAI, model: str) -> Window | None:
    told = await _get(client, f"api/v0/models/{model}")
    if loaded := told.get("loaded_context_length"):
        return _window(loaded)
    return _window(told.get("max_context_length"), exact=False)


async def _get(client: AsyncOpenAI, path: str) -> Mapping[str, Any]:
    told: Any = await client.get(_server_url(client, path), cast_to=object)
    return told  # type: ignore[no-any-return]


def _server_url(client: AsyncOpenAI, path: str) -> str:
    """An address of the same server outside of /v1."""
    return f"{str(client.base_url).rstrip('/').removesuffix('/v1')}/{path}"


def _window(tokens: object, exact: bool = True) -> Window | None:
    return Window(tokens, exact) if isinstance(tokens, int) else None
