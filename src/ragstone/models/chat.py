"""Answers from a chat model through pydantic-ai: any OpenAI-compatible server, or any provider.

pydantic-ai takes a second to import, so this module is imported only when a model is configured.
"""

import asyncio
import inspect
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack
from ipaddress import ip_address
from typing import Any, cast
from urllib.parse import urlsplit

from openai import AsyncOpenAI, DefaultAsyncHttpxClient
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError, UnexpectedModelBehavior, UserError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    UserPromptPart,
)
from pydantic_ai.models import Model, StreamedResponse, infer_model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers import Provider, infer_provider, infer_provider_class
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings

from ragstone.errors import ConfigError, ModelUnavailable
from ragstone.models import prompt
from ragstone.ports import Said
from ragstone.settings import LlmSettings
from ragstone.turn import Ask, Finish, Passage, Usage

READY_SECONDS = 5.0
REFUSAL_SLACK = 40
"""Characters around the no-answer sentence beyond which an answer says more than a refusal."""

_ADVICE = {
    400: "Check LLM__CONTEXT_WINDOW: the prompt may be longer than the model takes.",
    401: "Check LLM__API_KEY.",
    403: "Check LLM__API_KEY.",
    404: "Check LLM__MODEL and LLM__BASE_URL.",
    429: "It is asked too often; try again later.",
}


class ChatModel:
    """`ports.Answerer` on a chat model. `timeout` is the longest wait for the next piece."""

    def __init__(self, settings: LlmSettings, no_answer: str) -> None:
        self.name = settings.model or "default"
        self._settings = settings
        self._no_answer = no_answer
        self._model = _model(settings)

    async def answer(self, ask: Ask, passages: Sequence[Passage]) -> AsyncGenerator[Said, None]:
        if not passages:
            yield Said(self._no_answer, finish="refused", confidence=0.0)
            return
        text = ""
        options = self._options(ask)
        window = self._settings.context_window
        room = options.get("max_tokens", 0)
        sent = prompt.fitting(ask, passages, self._no_answer, window, room)
        async with AsyncExitStack() as stack:
            stream = await self._next(
                stack.enter_async_context(
                    model_request_stream(
                        self._model,
                        _messages(ask, sent, self._no_answer),
                        model_settings=options,
                    )
                )
            )
            events = aiter(stream)
            while (event := await self._next(anext(events, None))) is not None:
                said = _said(event)
                if said.text or said.thinking:
                    text += said.text
                    yield said
            yield Said(finish=self._finish(stream, text), usage=_usage(stream))

    async def complete(self, rules: str, text: str, max_tokens: int) -> Said:
        """`ports.Completer`."""
        messages = [ModelRequest(parts=[SystemPromptPart(rules), UserPromptPart(text)])]
        options = ModelSettings(
            max_tokens=max_tokens, temperature=0.0, timeout=self._settings.timeout
        )
        answer = await self._next(model_request(self._model, messages, model_settings=options))
        used = Usage(answer.usage.input_tokens, answer.usage.output_tokens, 1)
        return Said(answer.text or "", finish="stop", usage=used)

    async def ready(self) -> None:
        """Ask an OpenAI-compatible server for its models; other providers are not asked."""
        if not isinstance(self._model, OpenAIChatModel):
            return
        try:
            async with asyncio.timeout(READY_SECONDS):
                await self._model.client.models.list()
        except Exception as error:
            raise self._unavailable(error) from error

    async def aclose(self) -> None:
        if isinstance(self._model, OpenAIChatModel):
            await self._model.client.close()

    async def _next(self, step: Any) -> Any:
        """Wait for the model, at most its time-out; what it raises becomes ModelUnavailable."""
        try:
            async with asyncio.timeout(self._settings.timeout):
                return await step
        except Exception as error:
            raise self._unavailable(error) from error

    def _unavailable(self, error: Exception) -> ModelUnavailable:
        place = _shown(self._settings.base_url) or self.name
        if isinstance(error, TimeoutError):
            return ModelUnavailable(
                f"The model {self.name!r} said nothing for {self._settings.timeout:g} s "
                "(LLM__TIMEOUT)."
            )
        status = getattr(error, "status_code", None)
        if status is not None:
            advice = _ADVICE.get(status, "Look into the server's log.")
            return ModelUnavailable(f"The model server at {place} answered {status}. {advice}")
        if isinstance(error, ModelHTTPError | UnexpectedModelBehavior):
            return ModelUnavailable(f"The model server at {place} sent something unexpected.")
        if isinstance(error, ModelAPIError | OSError) or "Connection" in type(error).__name__:
            return ModelUnavailable(
                f"The model server at {place} cannot be reached or broke off. "
                "Check LLM__BASE_URL and that the server runs."
            )
        return ModelUnavailable(f"The model {self.name!r} failed ({type(error).__name__}).")

    def _options(self, ask: Ask) -> ModelSettings:
        settings = self._settings
        options = ModelSettings(
            max_tokens=min(ask.max_tokens or settings.max_tokens, settings.max_tokens),
            temperature=settings.temperature if ask.temperature is None else ask.temperature,
            timeout=settings.timeout,
        )
        if ask.stop:
            options["stop_sequences"] = list(ask.stop)
        return options

    def _finish(self, stream: StreamedResponse, text: str) -> Finish:
        refusal = self._no_answer.strip(" .").casefold()
        said = text.casefold()
        if refusal in said and len(said) < len(refusal) + REFUSAL_SLACK:
            return "refused"
        return "length" if stream.finish_reason == "length" else "stop"


def _model(settings: LlmSettings) -> Model[Any]:
    key = settings.api_key.get_secret_value()
    try:
        if settings.base_url:
            # Servers without keys still want the header that the client always sends.
            client = AsyncOpenAI(
                base_url=settings.base_url,
                api_key=key or "none",
                max_retries=1,
                http_client=DefaultAsyncHttpxClient(trust_env=not _is_here(settings.base_url)),
            )
            provider = OpenAIProvider(openai_client=client)
            return OpenAIChatModel(settings.model or "default", provider=provider)
        return infer_model(settings.model, lambda name: _provider(name, key))
    except (UserError, ImportError, ValueError) as error:
        raise ConfigError(
            f"The model {settings.model!r} cannot be used: {error} "
            "Set LLM__MODEL to provider:model and LLM__API_KEY to its key, "
            "or LLM__BASE_URL to a server."
        ) from error


def _provider(name: str, key: str) -> Provider[Any]:
    """The provider with the key of the settings; without one, it looks where it always does."""
    if not key or name.startswith("gateway/"):
        return infer_provider(name)
    made = infer_provider_class(name)
    if "api_key" not in inspect.signature(made).parameters:
        return infer_provider(name)
    return cast(Any, made)(api_key=key)  # type: ignore[no-any-return]


def _shown(url: str) -> str:
    """The address without the user and password that it may hold."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _is_here(url: str) -> bool:
    """Whether the address is this machine's own, which a proxy must not be asked for."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _messages(ask: Ask, passages: Sequence[Passage], no_answer: str) -> list[ModelMessage]:
    messages: list[ModelMessage] = [
        ModelRequest(parts=[SystemPromptPart(prompt.system(passages, no_answer))])
    ]
    for message in prompt.history(ask):
        if message.role == "user":
            messages.append(ModelRequest(parts=[UserPromptPart(message.text)]))
        else:
            messages.append(ModelResponse(parts=[TextPart(message.text)]))
    messages.append(ModelRequest(parts=[UserPromptPart(ask.question)]))
    return messages


def _said(event: object) -> Said:
    part = getattr(event, "part", None) if isinstance(event, PartStartEvent) else None
    delta = event.delta if isinstance(event, PartDeltaEvent) else None
    if isinstance(part, TextPart):
        return Said(part.content)
    if isinstance(part, ThinkingPart):
        return Said(thinking=part.content)
    if isinstance(delta, TextPartDelta):
        return Said(delta.content_delta)
    if isinstance(delta, ThinkingPartDelta):
        return Said(thinking=delta.content_delta or "")
    return Said()


def _usage(stream: StreamedResponse) -> Usage:
    used = stream.usage if not callable(stream.usage) else cast(Any, stream.usage)()
    return Usage(used.input_tokens, used.output_tokens, 1)
