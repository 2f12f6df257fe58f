"""What Ragstone adds to a chat model's own time: retries, breaker, thoughts, prices and the rest.

The same model of pydantic-ai, in this process and without a network, is asked directly and through
`ChatModel` in turn; the difference of the medians of processor time is what is added: nothing
waits. The server of the failures is real and answers at once with errors.
"""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel

from benchmarks.row import Row
from ragstone.core.answer import Instructions
from ragstone.core.turn import Ask
from ragstone.models.chat import ChatModel
from ragstone.models.configured_chat import WithFallback
from ragstone.ports import Said
from ragstone.settings import LlmSettings
from tests.engine.samples import a_passage
from tests.model_server import model_server

ROUNDS = 15
TOKENS = 2000
PASSAGES = [a_passage(1, "The lighthouse of Ost was built in 1871.")]
ASK = Ask("When was it built?")
TOLD = Instructions("Answer from the sources.", "No answer.")


def run() -> list[Row]:
    return asyncio.run(_run())


async def _run() -> list[Row]:
    call = await _time_turns(_direct_call, _our_call)
    begin = await _time_turns(_direct_first, _our_first)
    stream = await _time_turns(_direct_stream, _our_stream)
    recovery = await _failover()
    return [
        Row("Chat model: added to a whole call", call * 1e3, "ms", most=1.0),
        Row("Chat model: added before the first token", begin * 1e3, "ms", most=1.0),
        Row("Chat model: added per token", stream / TOKENS * 1e6, "µs", most=20.0),
        Row("Chat model: failure to the fallback's first token", recovery, "s", most=1.0),
    ]


async def _time_turns(direct: Any, ours: Any) -> float:
    """Return seconds, by medians; the first two turns are not counted."""
    plain, chat = _plain(), _chat()
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS + 2):
        for kept, item in zip(times, (direct(plain), ours(chat)), strict=True):
            started = time.process_time()
            await item
            kept.append(time.process_time() - started)
    before, after = (statistics.median(kept[2:]) for kept in times)
    return after - before


def _plain() -> FunctionModel:
    async def tokens(messages: Any, info: Any) -> AsyncIterator[str]:
        for number in range(TOKENS):
            yield f"word{number} "

    async def whole(messages: Any, info: Any) -> ModelResponse:
        return ModelResponse(parts=[TextPart("In 1871. [1]")])

    return FunctionModel(whole, stream_function=tokens)


def _chat() -> ChatModel:
    chat = ChatModel(LlmSettings(base_url="http://127.0.0.1:9", model="gpt-4"))
    chat._calls._model = _plain()
    return chat


def _messages() -> list[Any]:
    return [ModelRequest(parts=[UserPromptPart("When was it built?")])]


async def _direct_call(model: FunctionModel) -> None:
    await model_request(model, _messages())


async def _our_call(chat: ChatModel) -> None:
    await chat.complete("Be brief.", "When was it built?", 20)


async def _direct_first(model: FunctionModel) -> None:
    async with model_request_stream(model, _messages()) as stream:
        await anext(aiter(stream))


async def _our_first(chat: ChatModel) -> None:
    async with aclosing(chat.answer(ASK, PASSAGES, TOLD)) as stream:
        await anext(stream)


async def _direct_stream(model: FunctionModel) -> None:
    async with model_request_stream(model, _messages()) as stream:
        async for _ in stream:
            pass


async def _our_stream(chat: ChatModel) -> None:
    async with aclosing(chat.answer(ASK, PASSAGES, TOLD)) as stream:
        async for _ in stream:
            pass


async def _failover() -> float:
    """Seconds from the question to the first token of the model that stands by, the worst of 10."""
    worst = 0.0
    with model_server(way="500") as broken, model_server() as spare:
        first = LlmSettings(base_url=broken.url, model="a")
        second = LlmSettings(base_url=spare.url, model="b")
        for _ in range(10):
            # A new one each time: after some failures in a row it would rest.
            model = WithFallback(ChatModel(first, standby=True), ChatModel(second))
            started = time.perf_counter()
            async with aclosing(model.answer(ASK, PASSAGES, TOLD)) as stream:
                await _first_text(stream)
            worst = max(worst, time.perf_counter() - started)
            await model.aclose()
    return worst


async def _first_text(stream: AsyncIterator[Said]) -> None:
    async for said in stream:
        if said.text:
            return
