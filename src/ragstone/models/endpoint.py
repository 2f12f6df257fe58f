"""Where a chat model is: any provider of pydantic-ai, or an OpenAI-compatible server.

pydantic-ai takes a second to import, so this module is imported only when a model is configured.
"""

import inspect
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

NO_TAGS = ("\0", "\0")
"""pydantic-ai finds thoughts in text only when a tag comes in one piece; `language.thoughts`
does it however they come, so nothing may take the tags away before."""

PROFILE = OpenAIModelProfile(
    thinking_tags=NO_TAGS,
    # Without it, a stream that a proxy cut off looks like a whole answer.
    openai_chat_streaming_requires_finish_reason=True,
)


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
            return OpenAIChatModel(name, provider=provider, profile=PROFILE)
        model = infer_model(settings.model, lambda name: _provider(name, key))
    except (UserError, ImportError, ValueError) as error:
        raise ConfigError(
            f"The model {settings.model!r} cannot be used: {error} "
            f"Set {section}__MODEL to provider:model and {section}__API_KEY to its key, "
            f"or {section}__BASE_URL to a server."
        ) from error
    # The models take a profile in their own constructors only, which differ; some have read it.
    model._profile = PROFILE
    vars(model).pop("profile", None)
    return model


def place(settings: LlmSettings) -> str:
    """The address, without the user and password that it may hold; else the model's name."""
    parts = urlsplit(settings.base_url)
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
    """Whether the address is this machine's own, which a proxy must not be asked for."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
