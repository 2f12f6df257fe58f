"""Answers from a chat model through pydantic-ai: any OpenAI-compatible server, or any provider."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, cast

from pydantic_ai.messages import ModelRequest, SystemPromptPart, UserPromptPart
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.settings import ModelSettings, ThinkingLevel
from pydantic_ai.usage import RequestUsage

from ragstone.core.answer import Instructions, Layout
from ragstone.core.errors import ModelUnavailable
from ragstone.core.turn import Ask, JsonFormat, Message, Passage, Sampling
from ragstone.language.budget import budget
from ragstone.models import endpoint, prompt
from ragstone.models.calls import Calls
from ragstone.models.failures import FailingModel
from ragstone.models.messages import definitions, messages
from ragstone.models.prices import Prices
from ragstone.models.profiles import profile
from ragstone.models.reply import ReplyReader
from ragstone.models.token_counter import token_counter
from ragstone.ports import Profile, Said
from ragstone.settings import LlmSettings

READY_SECONDS = 5.0

EFFORT: ThinkingLevel = "high"
AT_LENGTH = 3
"""How hard a model thinks at length, and how many times its usual tokens that may take."""

AMPLE = 2
"""A limit of so many times what a model thinks holds its thoughts too, and is sent as it is."""

REFUSAL_SLACK = 40
"""Characters around the no-answer sentence beyond which an answer says more than a refusal."""


class ChatModel:
    """`ports.Answerer`, `Completer` and `Conversing` on one chat model.

    `section` names its settings in messages; `standby` says that another model answers when this
    one does not, so that it is not waited for long. Raises ConfigError.
    """

    def __init__(self, settings: LlmSettings, section: str = "LLM", standby: bool = False) -> None:
        self.name = settings.model or "default"
        self.profile: Profile = profile(settings)
        self._settings = settings
        self._count = token_counter(self.profile.tokenizer)
        self._model = endpoint.connect(settings, section)
        self._place = FailingModel(self.name, endpoint.place(settings), section, standby)
        model = self._model
        self._prices = Prices(self.profile, model.model_name, model.system, settings.base_url)
        reader = ReplyReader(self._place, self._prices)
        transport = ModelSettings(timeout=settings.timeout, max_retries=0)
        # Some models warn of options that they lack; our own time-outs hold all the same.
        for unsupported in model.unsupported_settings:
            transport.pop(unsupported, None)
        self._transport = transport
        self._calls = Calls(model, settings, self._place, reader, standby)

    def price(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """`ports.Priced`."""
        used = RequestUsage(input_tokens=prompt_tokens, output_tokens=completion_tokens)
        return self._prices.cost(used)

    async def answer(
        self, ask: Ask, passages: Sequence[Passage], instructions: Instructions
    ) -> AsyncGenerator[Said, None]:
        if not passages and not ask.tools:
            yield Said(instructions.no_answer, finish="refused", confidence=0.0)
            return
        rules = f"{instructions.text}\n{prompt.TOOLS}" if ask.tools else instructions.text
        ask = replace(ask, question=prompt.question(ask.question, instructions))
        if instructions.digest:
            rules, passages = prompt.with_digest(rules, instructions.digest), ()
        text = ""
        async with aclosing(self._reply_stream(ask, passages, rules, instructions)) as stream:
            async for said in stream:
                if len(text) < len(instructions.no_answer) + REFUSAL_SLACK:
                    text += said.text
                refuses = said.finish == "stop" and _refuses(text, instructions.no_answer)
                yield replace(said, finish="refused") if refuses else said

    def converse(self, ask: Ask, rules: str) -> AsyncGenerator[Said, None]:
        """`ports.Conversing`."""
        return self._reply_stream(ask, (), rules)

    def _reply_stream(
        self,
        ask: Ask,
        passages: Sequence[Passage],
        rules: str,
        told: Instructions | None = None,
    ) -> AsyncGenerator[Said, None]:
        """The model's reply as it comes: text, or calls of `ask.tools`."""
        layout: Layout = told.layout if told else "sources"
        options = self._options(ask, bool(told and told.thinks))
        # A server refuses an answer that is longer than its window with the prompt.
        options["max_tokens"] = min(options["max_tokens"], self.profile.context_window // 2)
        most = options["max_tokens"]
        whole = f"{rules}\n{told.form}" if told else rules
        before, sent = self._fit_window(ask, passages, whole, most, layout)
        if layout == "references" and sent:
            ask = replace(ask, question=prompt.with_references(sent, ask.question))
            sent = []
        elif told and told.layout == "last":
            ask = replace(ask, question=prompt.with_sources(sent, ask.question, told.form))
            sent = []
        said = messages(ask, before, prompt.system(sent, rules))
        return self._calls.stream(said, options, definitions(ask.tools))

    async def complete(
        self, rules: str, text: str, max_tokens: int, temperature: float = 0.0
    ) -> Said:
        """`ports.Completer`."""
        told = [ModelRequest(parts=[SystemPromptPart(rules), UserPromptPart(text)])]
        return await self._calls.whole(told, self._sampling(max_tokens, temperature))

    async def ready(self) -> str:
        """Ask an OpenAI-compatible server for its models; other providers are not asked."""
        breaker, place = self._calls.breaker, self._place
        if breaker.state == "open":
            raise place.resting(breaker.seconds).error
        if isinstance(self._model, OpenAIChatModel):
            try:
                async with asyncio.timeout(READY_SECONDS):
                    await self._model.client.models.list()
            except Exception as error:
                raise self._unavailable(error) from error
        return f"{self.name} at {place.address} (breaker {breaker.state})"

    async def aclose(self) -> None:
        if isinstance(self._model, OpenAIChatModel):
            await self._model.client.close()

    def _unavailable(self, error: Exception) -> ModelUnavailable:
        status = getattr(error, "status_code", None)
        if status is not None:
            return self._place.status(status).error
        return self._place.of(error, READY_SECONDS).error

    def _fit_window(
        self, ask: Ask, passages: Sequence[Passage], rules: str, answer: int, layout: Layout
    ) -> tuple[list[Message], list[Passage]]:
        """The messages and passages that fit the window together with an answer of so many
        tokens."""
        window = self.profile.context_window
        before = prompt.history(ask, budget(window, self.profile.tier, answer), self._count)
        called = (result.text for step in ask.steps for result in step.results)
        rest = [rules, ask.question, *(message.text for message in before), *called]
        return before, prompt.fitting(passages, rest, window - answer, self._count, layout)

    def _options(self, ask: Ask, thinks: bool = False) -> ModelSettings:
        """The settings of an answer; `thinks` lets a model that reasons by itself do so at
        length."""
        most = ask.max_tokens or self._settings.max_tokens
        options = self._sampling(most, ask.temperature)
        if thinks and self.profile.thinking_tokens:
            # pydantic-ai leaves the setting out for models that have none.
            options["thinking"] = EFFORT
            options["max_tokens"] += (AT_LENGTH - 1) * self.profile.thinking_tokens
        options.update(self._asked_sampling(ask.sampling))
        if ask.json is not None and isinstance(self._model, OpenAIChatModel):
            extra = cast(dict[str, Any], options.get("extra_body") or {})
            options["extra_body"] = {**extra, "response_format": _response_format(ask.json)}
        if ask.stop:
            options["stop_sequences"] = list(ask.stop)
        if ask.tools and ask.tool_choice:
            # A list of one name is how pydantic-ai spells that this tool must be called.
            free = ask.tool_choice == "required"
            options["tool_choice"] = "required" if free else [ask.tool_choice]
        return options

    def _asked_sampling(self, asked: Sampling) -> ModelSettings:
        """What a request wants of the sampling, for a model that can be told."""
        options = ModelSettings()
        if asked.parallel_tool_calls is not None:
            options["parallel_tool_calls"] = asked.parallel_tool_calls
        if self.profile.temperature is None:
            return options
        for name in ("top_p", "frequency_penalty", "presence_penalty", "seed"):
            if (value := getattr(asked, name)) is not None:
                options[name] = value
        if asked.top_k is not None:
            options["top_k"] = asked.top_k
            if isinstance(self._model, OpenAIChatModel):
                # Not among OpenAI's own, so that its client does not send it by itself.
                options["extra_body"] = {"top_k": asked.top_k}
        return options

    def _sampling(self, max_tokens: int, temperature: float | None) -> ModelSettings:
        """The settings of one call; a `temperature` of None is the profile's."""
        known = self.profile
        if max_tokens < AMPLE * known.thinking_tokens:
            max_tokens += known.thinking_tokens
        options = ModelSettings(max_tokens=max_tokens, **self._transport)
        if known.temperature is not None:
            options["temperature"] = known.temperature if temperature is None else temperature
            if known.top_p is not None and temperature != 0.0:
                options["top_p"] = known.top_p
        return options


def _response_format(wanted: JsonFormat) -> dict[str, Any]:
    if wanted.schema is None:
        return {"type": "json_object"}
    schema = {"name": wanted.name, "schema": dict(wanted.schema)}
    return {"type": "json_schema", "json_schema": schema}


def _refuses(text: str, no_answer: str) -> bool:
    refusal = no_answer.strip(" .。").casefold()
    said = text.casefold()
    return bool(refusal) and refusal in said and len(said) < len(refusal) + REFUSAL_SLACK
