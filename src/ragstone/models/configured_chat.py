"""The chat model of the settings. Its libraries take a second to import, so it is imported only
when there is one."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Protocol, runtime_checkable

from ragstone.core.answer import Instructions
from ragstone.core.clock import TIME_LIMITS
from ragstone.core.errors import ConfigError, ModelUnavailable, Unavailable
from ragstone.core.records import ModelCheck
from ragstone.core.turn import Ask, Passage
from ragstone.ports import Answerer, Completer, Conversing, Profile, Said
from ragstone.registry import Extension, Registry
from ragstone.settings import LlmSettings, Settings, StandbySettings

NOTE = "The chat model does not answer; these are the documents' own sentences."


@runtime_checkable
class ChatAnswerer(Answerer, Completer, Conversing, Protocol):
    """A chat model, which can do all."""

    @property
    def profile(self) -> Profile: ...


def members(chat: ChatAnswerer) -> tuple[ChatAnswerer, ...]:
    """Return the models that a chat model consists of: it alone, or the first and the one that
    stands by."""
    if isinstance(chat, WithFallback) and isinstance(chat.second, ChatAnswerer):
        return (*members(chat.first), *members(chat.second))
    return (chat,)


class WithFallback:
    """`ports.Answerer`, `ports.Completer` and `ports.Conversing` that ask `first`, and `second`
    when that is not available or busy.

    Once text has left, nobody can take over; of an answer that is not streamed, none leaves before
    its end. `note` tells the reader that `second` answers.
    """

    def __init__(self, first: ChatAnswerer, second: Answerer, note: str = "") -> None:
        self.name = first.name
        self.first = first
        self.second = second
        self._note = note

    @property
    def profile(self) -> Profile:
        """That of the first, which may learn it from its server."""
        return self.first.profile

    async def answer(
        self, ask: Ask, passages: Sequence[Passage], instructions: Instructions
    ) -> AsyncGenerator[Said, None]:
        second = partial(self.second.answer, ask, passages, instructions)
        first = self.first.answer(ask, passages, replace(instructions, alone=False))
        async with aclosing(self._with_fallback(first, second)) as stream:
            async for said in stream:
                yield said

    async def converse(self, ask: Ask, rules: str) -> AsyncGenerator[Said, None]:
        other = self.second
        second = partial(other.converse, ask, rules) if isinstance(other, Conversing) else None
        async with aclosing(self._with_fallback(self.first.converse(ask, rules), second)) as stream:
            async for said in stream:
                yield said

    async def _with_fallback(
        self,
        first: AsyncGenerator[Said, None],
        second: Callable[[], AsyncGenerator[Said, None]] | None,
    ) -> AsyncGenerator[Said, None]:
        spoke = False
        try:
            async with aclosing(first) as stream:
                async for said in stream:
                    spoke = spoke or bool(said.text)
                    yield said
            return
        except Unavailable as error:
            # Text that has left cannot be taken back; what is collected first can begin anew.
            if second is None or (spoke and TIME_LIMITS.get().streams):
                raise
            why = self._fallback_reason(error)
        yield Said(model=self.second.name, reason=why, note=self._note, restarts=spoke)
        async with aclosing(second()) as stream:
            async for said in stream:
                yield said if said.model else replace(said, model=self.second.name)

    async def complete(
        self, rules: str, text: str, max_tokens: int, temperature: float = 0.0
    ) -> Said:
        try:
            return await self.first.complete(rules, text, max_tokens, temperature)
        except Unavailable as error:
            if not isinstance(self.second, Completer):
                raise
            why = self._fallback_reason(error)
        said = await self.second.complete(rules, text, max_tokens, temperature)
        return replace(said, model=said.model or self.second.name, reason=why)

    async def ready(self) -> str:
        """Return the states of both models; raises ModelUnavailable when neither is ready."""
        states, ready = [], False
        for item in (self.first, self.second):
            try:
                states.append(await item.ready() or f"{item.name} answers")
                ready = True
            except Unavailable as error:
                states.append(str(error).rstrip("."))
        if not ready:
            raise ModelUnavailable(f"{'; '.join(states)}.")
        return "; ".join(states)

    async def aclose(self) -> None:
        await self.first.aclose()
        await self.second.aclose()

    def _fallback_reason(self, error: Exception) -> str:
        return f"fallback, as {self.first.name} failed: {error}"


def chat_model(settings: Settings) -> ChatAnswerer | None:
    """Return the chat model with the one that stands by for it, None if there is none.

    Raises ConfigError.
    """
    llm, other = settings.llm, settings.llm_fallback
    if not llm.is_configured:
        if other.is_configured:
            raise ConfigError("LLM_FALLBACK__* is set, but no chat model is: set LLM__MODEL.")
        return None
    first = _chat_model(llm, "LLM", standby=True)
    if not other.is_configured:
        return first
    reached = {name: getattr(other, name) for name in StandbySettings.model_fields}
    # The window and the eyes of the first model say nothing of another one.
    second = llm.model_copy(update={**reached, "context_window": None, "vision": None})
    return WithFallback(first, _chat_model(second, "LLM_FALLBACK", standby=True))


async def read_windows(chat: ChatAnswerer) -> None:
    """Ask the models' servers for their windows."""
    from ragstone.models.chat import ChatModel

    models = [model for model in members(chat) if isinstance(model, ChatModel)]
    await asyncio.gather(*(model.read_window() for model in models))


async def check_models(chat: ChatAnswerer) -> AsyncGenerator[ModelCheck, None]:
    """Try what the models have to do, each in turn."""
    from ragstone.models.check import check_model

    for model in members(chat):
        async with aclosing(check_model(model)) as checks:
            async for check in checks:
                yield check


def ensemble(settings: Settings) -> tuple[ChatAnswerer, ...]:
    """Return the models that vote, reached as that of LLM__* is; raises ConfigError."""
    names = settings.ensemble.names
    members = [settings.llm.model_copy(update={"model": name}) for name in names]
    if members and settings.llm.model_path:
        raise ConfigError(
            "ENSEMBLE__MODELS needs a server: the file of LLM__MODEL is one model. Leave it empty, "
            "and samples of that model vote."
        )
    return tuple(_chat_model(llm, "LLM", standby=False) for llm in members)


def evaluator(settings: Settings, chat: ChatAnswerer | None) -> ChatAnswerer | None:
    """Return the model that judges answers instead of `chat`, which stands by for it; None where
    that is `chat` itself. Raises ConfigError."""
    name = settings.self_rag.evaluation_model
    if not name:
        return None
    if chat is None or settings.llm.model_path:
        raise ConfigError(
            "SELF_RAG__EVALUATION_MODEL is reached as LLM__* says: set LLM__MODEL and its server "
            "or provider, or leave it empty."
        )
    provider, colon, _ = settings.llm.model.partition(":")
    if colon and ":" not in name and not settings.llm.base_url:
        name = f"{provider}:{name}"
    judge = _chat_model(settings.llm.model_copy(update={"model": name}), "LLM", standby=True)
    return WithFallback(judge, chat)


def _chat_model(llm: LlmSettings, section: str, standby: bool) -> ChatAnswerer:
    """Return the model of one section: a GGUF file, a server's, or that of a provider's or
    package's name before the colon."""
    if llm.model_path:
        return CHAT_MODELS.make("gguf", llm, section, standby)
    name = llm.model.partition(":")[0]
    # A colon also stands in names without a provider, such as `qwen2.5:7b` of Ollama.
    if llm.base_url or name not in CHAT_MODELS:
        name = "server"
    return CHAT_MODELS.make(name, llm, section, standby)


def _provider(help: str) -> Extension:
    return Extension("ragstone.models.chat:ChatModel", help)


CHAT_MODELS: Registry[ChatAnswerer] = Registry(
    "ragstone.chat_models",
    "chat model",
    {
        "server": _provider("The server of LLM__BASE_URL, or any provider of pydantic-ai"),
        "openai": _provider("Models of OpenAI, as openai:name"),
        "anthropic": _provider("Models of Anthropic, as anthropic:name"),
        "google": _provider("Models of Google, as google:name"),
        "azure": _provider("Models of Azure at AZURE_OPENAI_ENDPOINT, as azure:deployment"),
        "mistral": _provider("Models of Mistral, as mistral:name"),
        "ollama": _provider("An Ollama on this machine, as ollama:name"),
        "vllm": _provider("A vLLM on this machine, as vllm:name"),
        "lmstudio": _provider("An LM Studio on this machine, as lmstudio:name"),
        "llamacpp": _provider("A llama.cpp server on this machine, as llamacpp:name"),
    },
    makes=ChatAnswerer,
)
"""Chat models by what stands before the colon of LLM__MODEL, made of the settings of the section,
its name, and whether another model stands by."""
