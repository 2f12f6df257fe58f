"""Time to the first token of a real llama.cpp server, with and without its prefix cache.

Our prompt is rules, sources, history, question. So a server that keeps what it read reads only the
question anew where the sources are those of the question before. For comparison the question is also
put before the sources. The model is SmolLM2-135M on the processor; with a larger one reading takes
longer, and the shares stay.
"""

import asyncio
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace

from pydantic import SecretStr

from benchmarks.common import eval_data
from benchmarks.row import Row
from ragstone.core.answer import Instructions
from ragstone.core.turn import Ask, Message, Passage
from ragstone.evaluation import dataset
from ragstone.models.chat import ChatModel
from ragstone.settings import LlmSettings
from tests.engine.samples import a_passage
from tests.llama import llama_server

KEY = "secret"
ROUNDS = 3
SOURCES = 8
"""Passages of squad2_dev in a prompt, about 1,300 tokens."""

TOLD = Instructions(
    "Answer the question from the sources alone, in one sentence, and name the source.",
    "The documents do not hold an answer to this question.",
)
FIRST, SECOND = "What is this text about, in a few words?", "Which years does it name?"

NEW, SAME, FOLLOW_UP, BEFORE = (
    "sources that are new",
    "another question over the same sources",
    "a follow-up over the same sources",
    "another question, put before the same sources",
)


def run() -> Iterator[Row]:
    passages = [one.text for one in dataset.corpus(eval_data() / "squad2_dev")]
    for caches in (True, False):
        with llama_server(KEY, caches=caches) as url:
            times = asyncio.run(_measured(url, passages))
        kept = "with a prefix cache" if caches else "without one"
        for what, seconds in times.items():
            yield Row(
                f"First token of llama.cpp {kept}, {what}",
                statistics.median(seconds),
                "s",
                note=f"median of {len(seconds)}",
                detail=True,
            )


async def _measured(url: str, passages: Sequence[str]) -> dict[str, list[float]]:
    model = ChatModel(
        LlmSettings(
            base_url=f"{url}/v1",
            model="smollm",
            api_key=SecretStr(KEY),
            max_tokens=4,
            temperature=0.0,
            context_window=4096,
        )
    )
    times: dict[str, list[float]] = {NEW: [], SAME: [], FOLLOW_UP: [], BEFORE: []}
    try:
        await _first(model, Ask("Hello?"), [a_passage(1, "Hello.")], TOLD)
        for number in range(ROUNDS):
            texts = passages[number * SOURCES : (number + 1) * SOURCES]
            sources = [a_passage(at, text) for at, text in enumerate(texts, 1)]
            times[NEW].append(await _first(model, Ask(FIRST), sources, TOLD))
            times[SAME].append(await _first(model, Ask(SECOND), sources, TOLD))
            said = (Message("user", FIRST), Message("assistant", "About a place. [1]"))
            follow_up = Ask(SECOND, history=said)
            times[FOLLOW_UP].append(await _first(model, follow_up, sources, TOLD))
            asked = replace(TOLD, text=f"The question is: {SECOND}\n\n{TOLD.text}")
            times[BEFORE].append(await _first(model, Ask(SECOND), sources, asked))
    finally:
        await model.aclose()
    return times


async def _first(
    model: ChatModel, ask: Ask, sources: Sequence[Passage], told: Instructions
) -> float:
    """Seconds until the first piece of an answer."""
    began = time.perf_counter()
    async with aclosing(model.answer(ask, sources, told)) as stream:
        await anext(stream)
    return time.perf_counter() - began
