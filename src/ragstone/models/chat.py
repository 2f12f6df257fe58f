"""Answers from a chat model through pydantic-ai: any OpenAI-compatible server, or any provider."""

import asyncio
import base64
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, cast

from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.settings import ModelSettings, ThinkingLevel
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from ragstone.core.answer import Instructions
from ragstone.core.errors import ModelUnavailable
from ragstone.core.tool import Tool, ToolStep
from ragstone.core.turn import Ask, JsonFormat, Message, Passage, Sampling
from ragstone.language.tokens import share_budget, token_counter
from ragstone.models import endpoint, prompt
from ragstone.models.calls import Calls
from ragstone.models.endpoint import Window, add_address, model_names, read_window
from ragstone.models.failures import FailingModel
from ragstone.models.profiles import profile, sets_temperature
from ragstone.models.reply import Prices, ReplyReader
from ragstone.ports import Profile, Said
from ragstone.settings import LlmSettings


def build_messages(ask: Ask, before: Sequence[Message], system: str) -> list[ModelMessage]:
    """Return the system's text, the conversation, the question, and the tool calls made for it."""
    made: list[ModelMessage] = [ModelRequest(parts=[SystemPromptPart(system)])]
    for message in before:
        if message.role == "user":
            made.append(ModelRequest(parts=[UserPromptPart(message.text)]))
        else:
            made.append(ModelResponse(parts=[TextPart(message.text)]))
    made.append(ModelRequest(parts=[UserPromptPart(_user_content(ask))]))
    for step in ask.steps:
        made += _step(step)
    return made


def tool_definitions(tools: Sequence[Tool]) -> list[ToolDefinition]:
    """Return the tools as a model is offered them."""
    return [
        ToolDefinition(
            name=tool.name,
            parameters_json_schema=dict(tool.parameters),
            description=tool.description or None,
            # Schemas are somebody else's: nothing is to be asked of them that they do not promise.
            strict=False,
        )
        for tool in tools
    ]


def _user_content(ask: Ask) -> str | list[UserContent]:
    if not ask.pictures:
        return ask.question
    shown = (
        BinaryContent(base64.b64decode(picture.base64), media_type=picture.media_type)
        for picture in ask.pictures
    )
    return [ask.question, *shown]


def _step(step: ToolStep) -> list[ModelMessage]:
    text = [TextPart(step.text)] if step.text else []
    calls = [ToolCallPart(call.name, call.arguments, call.id) for call in step.calls]
    results = [ToolReturnPart(result.name, result.text, result.call_id) for result in step.results]
    return [ModelResponse(parts=[*text, *calls]), ModelRequest(parts=results)]


READY_SECONDS = 5.0

EFFORT: ThinkingLevel = "high"
AT_LENGTH = 3
"""How hard a model thinks at length, and how many times its usual tokens that may take."""

AMPLE = 2
"""A limit of so many times what a model thinks holds its thoughts too, and is sent as it is."""

GROUNDED = 0.2
"""The highest temperature of an answer from sources, unless a setting or a request has another."""

REFUSAL_SLACK = 40
"""Characters around the no-answer sentence beyond which an answer says more than a refusal."""


class ChatModel:
    """`ports.Answerer`, `Completer` and `Conversing` on one chat model.

    `section` names its settings in messages; `standby` says that another model answers when this
    one does not, so that it is not waited for long; `parallel` is how many calls it takes at a
    time, if not the usual number. Raises ConfigError.
    """

    def __init__(
        self, settings: LlmSettings, section: str = "LLM", standby: bool = False, parallel: int = 0
    ) -> None:
        settings = add_address(settings)
        self.name = settings.model or "default"
        self.profile: Profile = profile(settings)
        self._settings = settings
        self._grounded_temperature = _source_temperature(settings, self.profile)
        self._count = token_counter(self.profile.tokenizer)
        self._model = endpoint.connect(settings, section)
        self._place = FailingModel(self.name, endpoint.place(settings), section, standby)
        model = self._model
        self._prices = Prices(self.profile, model.model_name, model.system, settings.base_url)
        reader = ReplyReader(self._place, self._prices, self._count)
        transport = ModelSettings(timeout=settings.timeout, max_retries=0)
        # Some models warn of options that they lack; our own time-outs hold all the same.
        for unsupported in model.unsupported_settings:
            transport.pop(unsupported, None)
        self._transport = transport
        self._calls = Calls(model, settings, self._place, reader, parallel)

    def price(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        used = RequestUsage(input_tokens=prompt_tokens, output_tokens=completion_tokens)
        return self._prices.cost(used)

    async def answer(
        self, ask: Ask, passages: Sequence[Passage], instructions: Instructions
    ) -> AsyncGenerator[Said, None]:
        if not passages and not ask.tools:
            yield Said(instructions.no_answer, finish="refused", confidence=0.0)
            return
        told = instructions
        if ask.tools:
            told = replace(told, text=f"{told.text}\n{prompt.TOOLS}")
        ask = replace(ask, question=prompt.question(ask.question, told))
        if ask.temperature is None and not told.varies:
            ask = replace(ask, temperature=self._grounded_temperature)
        text = ""
        # A digest stands for sources that are too long to be shown.
        sources = () if told.digest else passages
        async with aclosing(self._reply_stream(ask, sources, told)) as stream:
            async for said in stream:
                # What a model takes back was no part of the answer.
                text = "" if said.restarts else text
                # Longer replies are never refusals, so no more of them has to be kept.
                if len(text) < len(instructions.no_answer) + REFUSAL_SLACK:
                    text += said.text
                refuses = said.finish == "stop" and _refuses(text, instructions.no_answer)
                yield replace(said, finish="refused") if refuses else said

    def converse(self, ask: Ask, rules: str) -> AsyncGenerator[Said, None]:
        return self._reply_stream(ask, (), Instructions(opening=rules))

    def _reply_stream(
        self, ask: Ask, passages: Sequence[Passage], told: Instructions
    ) -> AsyncGenerator[Said, None]:
        """Return the model's reply as it comes: text, or calls of `ask.tools`."""
        options = self._options(ask, told.thinks)
        # A server refuses an answer that is longer than its window with the prompt.
        options["max_tokens"] = min(options["max_tokens"], self.profile.context_window // 2)
        before, sent = self._fit_window(ask, passages, told, options["max_tokens"])
        system, asked = prompt.compose(sent, ask.question, told)
        said = build_messages(replace(ask, question=asked), before, system)
        return self._calls.stream(said, options, tool_definitions(ask.tools), told.alone)

    async def complete(
        self, rules: str, text: str, max_tokens: int, temperature: float = 0.0
    ) -> Said:
        told = [ModelRequest(parts=[SystemPromptPart(rules), UserPromptPart(text)])]
        return await self._calls.complete(told, self._model_settings(max_tokens, temperature))

    async def ready(self) -> str:
        """Ask an OpenAI-compatible server for its models; other providers are not asked."""
        breaker, place = self._calls.breaker, self._place
        if breaker.state == "open":
            raise place.rest_trouble(breaker.seconds).error
        if isinstance(self._model, OpenAIChatModel):
            try:
                async with asyncio.timeout(READY_SECONDS):
                    await self._model.client.models.list()
            except Exception as error:
                raise self._unavailable(error) from error
        return f"{self.name} at {place.address} (breaker {breaker.state})"

    async def list_models(self) -> list[str]:
        """Return the models that its server lists; none of a provider that has no such list. Raises
        ModelUnavailable."""
        if not isinstance(self._model, OpenAIChatModel):
            return []
        try:
            return await model_names(self._model.client)
        except Exception as error:
            raise self._unavailable(error) from error

    async def read_window(self) -> Window | None:
        """Return what the server tells of its window, which holds from now on unless a setting says
        another one; None where it does not tell."""
        given = self._settings
        if not given.base_url or not isinstance(self._model, OpenAIChatModel):
            return None
        told = await read_window(self._model.client, self._model.model_name)
        shipped = profile(given.model_copy(update={"profiles": "", "context_window": None}))
        # A window that an operator names counts more than what the server says.
        if told and profile(given).context_window == shipped.context_window:
            known = shipped.context_window
            # What a model could take at most may be more than its server is set to: it only lowers.
            tokens = told.tokens if told.exact else min(told.tokens, known)
            self.profile = replace(self.profile, context_window=tokens)
        return told

    async def aclose(self) -> None:
        await self._calls.aclose()
        if isinstance(self._model, OpenAIChatModel):
            await self._model.client.close()

    def _unavailable(self, error: Exception) -> ModelUnavailable:
        status = getattr(error, "status_code", None)
        if status is not None:
            return self._place.status_trouble(status, body=getattr(error, "body", None)).error
        return self._place.classify_error(error, READY_SECONDS).error

    def _fit_window(
        self, ask: Ask, passages: Sequence[Passage], told: Instructions, answer: int
    ) -> tuple[list[Message], list[Passage]]:
        """Return the messages and passages that fit the window together with an answer of so many
        tokens."""
        window = self.profile.context_window
        before = prompt.history(ask, share_budget(window, self.profile.tier, answer), self._count)
        called = (result.text for step in ask.steps for result in step.results)
        said = (message.text for message in before)
        rest = [*prompt.compose((), ask.question, told), *said, *called]
        return before, prompt.fit_passages(
            passages, rest, window - answer, self._count, told.layout
        )

    def _options(self, ask: Ask, thinks: bool = False) -> ModelSettings:
        """Return the settings of an answer; `thinks` lets a model that reasons by itself do so at
        length."""
        most = ask.max_tokens or self._settings.max_tokens
        options = self._model_settings(most, ask.temperature)
        if thinks and self.profile.thinking_tokens:
            # pydantic-ai leaves the setting out for models that have none.
            options["thinking"] = EFFORT
            options["max_tokens"] += (AT_LENGTH - 1) * self.profile.thinking_tokens
        options.update(self._sampling_options(ask.sampling))
        if ask.json is not None and isinstance(self._model, OpenAIChatModel):
            extra = cast(dict[str, Any], options.get("extra_body") or {})
            # `extra_body` may hold top_k by now: both go into one request.
            options["extra_body"] = {**extra, "response_format": _response_format(ask.json)}
        if ask.stop:
            options["stop_sequences"] = list(ask.stop)
        if ask.tools and ask.tool_choice:
            # A list of one name is how pydantic-ai spells that this tool must be called.
            free = ask.tool_choice == "required"
            options["tool_choice"] = "required" if free else [ask.tool_choice]
        return options

    def _sampling_options(self, asked: Sampling) -> ModelSettings:
        """Return what a request wants of the sampling, for a model that can be told."""
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

    def _model_settings(self, max_tokens: int, temperature: float | None) -> ModelSettings:
        """Return the settings of one call; a `temperature` of None is the profile's."""
        known = self.profile
        # Thoughts count as tokens of the reply: a limit for the answer alone would cut it off.
        if max_tokens < AMPLE * known.thinking_tokens:
            max_tokens += known.thinking_tokens
        options = ModelSettings(max_tokens=max_tokens, **self._transport)
        if known.temperature is not None:
            options["temperature"] = known.temperature if temperature is None else temperature
            if known.top_p is not None and temperature != 0.0:
                options["top_p"] = known.top_p
        return options


def _source_temperature(settings: LlmSettings, known: Profile) -> float | None:
    """The temperature of answers from sources: what an operator sets, else at most GROUNDED."""
    if known.temperature is None or sets_temperature(settings):
        return known.temperature
    # Sources are to be repeated, not varied; a profile says what is good for free text.
    return min(known.temperature, GROUNDED)


def _response_format(wanted: JsonFormat) -> dict[str, Any]:
    if wanted.schema is None:
        return {"type": "json_object"}
    schema = {"name": wanted.name, "schema": dict(wanted.schema)}
    return {"type": "json_schema", "json_schema": schema}


def _refuses(text: str, no_answer: str) -> bool:
    refusal = no_answer.strip(" .。").casefold()
    said = text.casefold()
    return bool(refusal) and refusal in said and len(said) < len(refusal) + REFUSAL_SLACK
