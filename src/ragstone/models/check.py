"""Tries what a chat model has to do for Ragstone, and says what to change where it cannot."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from ragstone.core.answer import Usage
from ragstone.core.errors import RagstoneError
from ragstone.core.records import ModelCheck
from ragstone.core.tool import Tool, ToolCall
from ragstone.core.turn import Ask, JsonFormat
from ragstone.language.json_answer import json_answer, validation_error
from ragstone.models.chat import ChatModel
from ragstone.models.configured_chat import ChatAnswerer

RULES = "You are being tested. Do exactly what you are asked, and say nothing else."
COUNT = Ask("Count from 1 to 10 in digits, with spaces between them.", max_tokens=40)
TOOL = Tool(
    "get_weather",
    "Tells the weather of a city now.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
CALL = Ask("What is the weather in Oslo? Call the tool to find out.", tools=(TOOL,))
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "country": {"type": "string"}},
    "required": ["city", "country"],
}
WRITE_JSON = Ask(
    "Of which country is Oslo the capital? Write a JSON object with the fields city and country.",
    json=JsonFormat("capital", SCHEMA),
)
SECONDS = 90.0
"""How long one check may take: a server may have to load its model first."""

MAX_NAMES = 5
"""Models that are named of those that a server lists."""


@dataclass(frozen=True, slots=True)
class _Reply:
    """What the model said in how many pieces, when the first one came, and when the last."""

    text: str
    pieces: int
    calls: tuple[ToolCall, ...]
    usage: Usage
    first: float
    last: float


async def check_model(model: ChatAnswerer) -> AsyncGenerator[ModelCheck, None]:
    """Try one model; where it is not reached, nothing further."""
    checks: list[tuple[str, Callable[[], Awaitable[str]]]] = [
        ("reached", lambda: _reach(model)),
        ("models", lambda: _list_models(model)),
        ("streams", lambda: _stream(model)),
        ("tools", lambda: _call_tool(model)),
        ("JSON", lambda: _write_json(model)),
        ("context", lambda: _tell_window(model)),
    ]
    reached = True
    for name, check in checks:
        if not reached:
            yield ModelCheck(model.name, name, "skipped", "The model is not reached.")
            continue
        tried = await _try(model.name, name, check)
        reached = name != "reached" or tried.state == "ok"
        yield tried


async def _try(model: str, name: str, check: Callable[[], Awaitable[str]]) -> ModelCheck:
    try:
        async with asyncio.timeout(SECONDS):
            return ModelCheck(model, name, "ok", await check())
    except TimeoutError:
        said = f"It did not end within {SECONDS:g} s. Take a smaller model, or look at its server."
    except RagstoneError as error:
        said = error.message
    except _NotAble as error:
        said = str(error)
    return ModelCheck(model, name, "failed", said)


class _NotAble(Exception):
    """What the model did not do, and what to change."""


async def _reach(model: ChatAnswerer) -> str:
    return await model.ready() or "It answers."


async def _list_models(model: ChatAnswerer) -> str:
    names = await model.list_models() if isinstance(model, ChatModel) else []
    if not names:
        return "Its server lists none."
    listed = ", ".join(names[:MAX_NAMES]) + (", ..." if len(names) > MAX_NAMES else "")
    # llama.cpp answers by any name, so that a name it does not list is not a failure by itself.
    found = "" if model.name in names else f"; {model.name!r} is not among them"
    return f"{len(names)}: {listed}{found}."


async def _stream(model: ChatAnswerer) -> str:
    reply = await _ask(model, COUNT)
    if reply.pieces < 2:
        raise _NotAble(
            "The reply came in one piece, so readers wait for all of it. Switch streaming on in "
            "the model's server, or the proxy's buffering off."
        )
    seconds = reply.last - reply.first
    tokens = reply.usage.completion_tokens if reply.usage.counted else reply.pieces
    speed = f", {tokens / seconds:.0f} tokens per second" if seconds > 0 else ""
    return f"The first token came after {reply.first:.1f} s{speed}."


async def _call_tool(model: ChatAnswerer) -> str:
    reply = await _ask(model, CALL)
    if not reply.calls:
        raise _NotAble(
            "It called no tool, so that agents and functions will not work. Take a model that is "
            "trained for tools, or switch them on in its server (vLLM: --enable-auto-tool-choice; "
            "llama.cpp: --jinja)."
        )
    wrong = validation_error(_parse_arguments(reply.calls[0].arguments), dict(TOOL.parameters))
    if wrong:
        raise _NotAble(f"It called a tool with wrong arguments: {wrong} Take a larger model.")
    return "It calls tools."


async def _write_json(model: ChatAnswerer) -> str:
    reply = await _ask(model, WRITE_JSON)
    value = json_answer(reply.text)
    wrong = validation_error(value, SCHEMA) if isinstance(value, dict) else "There was no object."
    if wrong:
        raise _NotAble(
            f"It wrote no JSON of the wanted form: {wrong} Take a larger model, or a server that "
            "holds replies to a JSON schema."
        )
    return "It writes JSON of a given form."


async def _tell_window(model: ChatAnswerer) -> str:
    told = await model.read_window() if isinstance(model, ChatModel) else None
    used = f"Prompts and answers have {model.profile.context_window:,} tokens"
    if told is None:
        return f"{used}; the server does not tell its own. Set LLM__CONTEXT_WINDOW if it has less."
    what = "has" if told.exact else "has at most"
    if told.tokens < model.profile.context_window:
        raise _NotAble(
            f"{used}, but the server {what} {told.tokens:,}. Set LLM__CONTEXT_WINDOW={told.tokens}."
        )
    return f"{used}; the server {what} {told.tokens:,}."


async def _ask(model: ChatAnswerer, ask: Ask) -> _Reply:
    started = time.monotonic()
    first = last = 0.0
    texts, calls, usage = list[str](), tuple[ToolCall, ...](), Usage()
    asked = replace(ask, temperature=0.0, max_tokens=ask.max_tokens or 200)
    async with aclosing(model.converse(asked, RULES)) as stream:
        async for said in stream:
            usage += said.usage
            calls += said.calls
            if said.text or said.thinking:
                last = time.monotonic() - started
                first = first or last
                texts.append(said.text)
    return _Reply("".join(texts), len(texts), calls, usage, first, last)


def _parse_arguments(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except ValueError:
        return None
