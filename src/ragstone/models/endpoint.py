"""Where a chat model is: any provider of pydantic-ai, or an OpenAI-compatible server.

pydantic-ai takes a second to import, so this module is imported only when a model is configured.
"""

import asyncio
import inspect
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, cast
from urllib.parse import urlsplit

from openai import AsyncOpenAI, DefaultAsyncHttpxClient
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers import Provider, infer_provider, infer_provider_class
from pydantic_ai.providers.openai import OpenAIProvider

from ragstone.core.errors import ConfigError
from ragstone.settings import LlmSettings

SERVERS = {
    "ollama": "http://127.0.0.1:11434/v1",
    "vllm": "http://127.0.0.1:8000/v1",
    "lmstudio": "http://127.0.0.1:1234/v1",
    "llamacpp": "http://127.0.0.1:8080/v1",
}
"""Where each listens unless it is told otherwise; all speak OpenAI's API."""


def add_address(settings: LlmSettings) -> LlmSettings:
    """Return the settings with the address of the server that `ollama:name` and the like name. An
    address of its own, and a variable such as OLLAMA_BASE_URL, count more."""
    server, _, model = settings.model.partition(":")
    if settings.base_url or settings.model_path or server not in SERVERS:
        return settings
    address = os.environ.get(f"{server.upper()}_BASE_URL", "").strip().rstrip("/")
    # OLLAMA_BASE_URL and the like are written without the path by most.
    if address and not address.endswith("/v1"):
        address += "/v1"
    return settings.model_copy(update={"base_url": address or SERVERS[server], "model": model})


NO_TAGS = ("\0", "\0")
"""pydantic-ai finds thoughts in text only when a tag comes in one piece; `language.thoughts`
does it however they come, so nothing may take the tags away before."""

PROFILE = OpenAIModelProfile(
    thinking_tags=NO_TAGS,
    # Without it, a stream that a proxy cut off looks like a whole answer.
    openai_chat_streaming_requires_finish_reason=True,
)

OPENAI_HOSTS = ("openai.com", "openai.azure.com")
"""Their newer models refuse `max_tokens`. Others know nothing else: Ollama ignores
`max_completion_tokens`, Mistral refuses it."""


def connect(settings: LlmSettings, section: str) -> Model[Any]:
    """The model of the settings in `section` (LLM or LLM_FALLBACK); raises ConfigError."""
    key = settings.api_key.get_secret_value()
    try:
        if settings.base_url:
            # Servers without keys still want the header that the client always sends.
            client = AsyncOpenAI(
                base_url=settings.base_url,
                api_key=key or "none",
                max_retries=0,
                http_client=DefaultAsyncHttpxClient(trust_env=not _is_here(settings.base_url)),
            )
            provider = OpenAIProvider(openai_client=client)
            name = settings.model or "default"
            host = f".{urlsplit(settings.base_url).hostname or ''}"
            newer = any(host.endswith(f".{known}") for known in OPENAI_HOSTS)
            return OpenAIChatModel(name, provider=provider, profile=_with_length(newer))
        model = infer_model(settings.model, lambda name: _provider(name, key))
    except (UserError, ImportError, ValueError) as error:
        raise ConfigError(
            f"The model {settings.model!r} cannot be used: {error} "
            f"Set {section}__MODEL to provider:model and {section}__API_KEY to its key, "
            f"or {section}__BASE_URL to a server."
        ) from error
    # The models take a profile in their own constructors only, which differ; some have read it.
    known = cast(OpenAIModelProfile, model.profile)
    newer = known.get("openai_chat_supports_max_completion_tokens", True)
    model._profile = _with_length(newer)
    vars(model).pop("profile", None)
    return model


def _with_length(newer: bool) -> OpenAIModelProfile:
    """The profile of a model whose longest answer goes by OpenAI's newer name of it, or not."""
    return {**PROFILE, "openai_chat_supports_max_completion_tokens": newer}


def place(settings: LlmSettings) -> str:
    """Return the address, without the user and password that it may hold; else the model's name."""
    parts = urlsplit(settings.base_url)
    # An address stands in messages and logs, where a password must not.
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl() or settings.model


def _provider(name: str, key: str) -> Provider[Any]:
    """The provider with the key of the settings; without one, it looks where it always does."""
    if not key or name.startswith("gateway/"):
        return infer_provider(name)
    made = infer_provider_class(name)
    if "api_key" not in inspect.signature(made).parameters:
        return infer_provider(name)
    return cast(Any, made)(api_key=key)  # type: ignore[no-any-return]


def _is_here(url: str) -> bool:
    """Tell whether the address is this machine's own, which a proxy must not be asked for."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


WINDOW_SECONDS = 2.0
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
    """Return the models that the server lists; raises what the client does."""
    return [model.id async for model in client.models.list()]


async def read_window(client: AsyncOpenAI, model: str) -> Window | None:
    """Return the window of a model, None where its server does not tell."""
    readers = (
        _read_listed_window,
        _read_llama_cpp_window,
        _read_ollama_window,
        _read_lm_studio_window,
    )
    found: list[Window | BaseException | None] = []
    with suppress(TimeoutError):
        async with asyncio.timeout(WINDOW_SECONDS):
            # Of servers that answer, most know one of the four: the others end with a 404.
            reading = (read(client, model) for read in readers)
            found = await asyncio.gather(*reading, return_exceptions=True)
    windows = (item for item in found if isinstance(item, Window))
    return next((window for window in windows if window.tokens >= MIN_WINDOW), None)


async def _read_listed_window(client: AsyncOpenAI, model: str) -> Window | None:
    async for listed in client.models.list():
        fields = listed.model_dump()
        for name in _LISTED if listed.id == model else ():
            if isinstance(fields.get(name), int):
                return Window(fields[name])
    return None


async def _read_llama_cpp_window(client: AsyncOpenAI, model: str) -> Window | None:
    told = await _get(client, "props")
    return _window(told["default_generation_settings"]["n_ctx"])


async def _read_ollama_window(client: AsyncOpenAI, model: str) -> Window | None:
    told: Any = await client.post(
        _server_url(client, "api/show"), cast_to=object, body={"model": model}
    )
    # What the model file sets is what the server loads; the architecture only allows more.
    if chosen := _NUM_CTX.search(str(told.get("parameters") or "")):
        return Window(int(chosen[1]))
    lengths = (n for name, n in told["model_info"].items() if name.endswith(".context_length"))
    return _window(next(lengths, None), exact=False)


async def _read_lm_studio_window(client: AsyncOpenAI, model: str) -> Window | None:
    told = await _get(client, f"api/v0/models/{model}")
    if loaded := told.get("loaded_context_length"):
        return _window(loaded)
    return _window(told.get("max_context_length"), exact=False)


async def _get(client: AsyncOpenAI, path: str) -> Mapping[str, Any]:
    told: Any = await client.get(_server_url(client, path), cast_to=object)
    return told  # type: ignore[no-any-return]


def _server_url(client: AsyncOpenAI, path: str) -> str:
    """Return an address of the same server outside of /v1."""
    return f"{str(client.base_url).rstrip('/').removesuffix('/v1')}/{path}"


def _window(tokens: object, exact: bool = True) -> Window | None:
    return Window(tokens, exact) if isinstance(tokens, int) else None
