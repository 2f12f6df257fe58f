"""A chat model that calls tools in rounds."""

import asyncio
import time
from contextlib import aclosing
from dataclasses import dataclass, replace

from ragstone.agent.tool_calls import ToolCalls
from ragstone.answer.thoughts import ThoughtStream
from ragstone.core.errors import RagstoneError, ToolsUnavailable, Unavailable
from ragstone.core.events import StageEnded, StageStarted
from ragstone.core.tool import Tool, ToolCall, ToolResult, ToolStep
from ragstone.core.turn import StageTrace, Status, Turn
from ragstone.engine.prompts import prompt
from ragstone.engine.stage import Emit
from ragstone.language.fences import TOOL_OUTPUT, fenced
from ragstone.language.tokens import cut
from ragstone.ports import Adapters, Conversing

CALL = "tool"
"""The name of a call in the trace: one for all, as the tools are somebody else's."""

REPLY_TOKENS = 700
RESULTS_SHARE = 2
"""The results may fill one half of the model's window, and one of them a quarter of that."""


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """After how many replies, calls, seconds and tokens no further round begins."""

    rounds: int
    calls: int
    seconds: float
    tokens: int


class ToolLoop:
    """One question's rounds. `why` says for the trace why they ended early."""

    def __init__(
        self,
        turn: Turn,
        adapters: Adapters,
        emit: Emit,
        calls: ToolCalls,
        limits: ToolLimits,
        inside: str,
    ) -> None:
        self.steps: tuple[ToolStep, ...] = ()
        self.called = 0
        self.failure: RagstoneError | None = None
        self.why = ""
        self._turn = turn
        self._adapters = adapters
        self._emit = emit
        self._calls = calls
        self._limits = limits
        self._inside = inside
        self._started = time.monotonic()

    async def work(self, chat: Conversing) -> None:
        """Let the model call tools until it has enough or a limit is reached. `failure` is what
        ends the question; it is not raised, so that the connection to the tools closes in order."""
        tools = self._calls.offered()
        for _ in range(self._limits.rounds):
            try:
                step = await self._reply(chat, tools)
            except Unavailable as error:
                self.why = str(error)
                return
            if not step.calls:
                return
            results = await asyncio.gather(*(self._result(call) for call in step.calls))
            self.steps += (replace(step, results=tuple(results)),)
            if self.failure:
                return
            self.why = self._limit()
            if self.why:
                return

    async def _reply(self, chat: Conversing, tools: tuple[Tool, ...]) -> ToolStep:
        """What the model wants called next."""
        ask = replace(
            self._turn.ask,
            question=self._turn.question,
            tools=tools,
            steps=self.steps,
            max_tokens=REPLY_TOKENS,
            temperature=0.0,
            stop=(),
        )
        text, calls = list[str](), tuple[ToolCall, ...]()
        rules = await prompt(self._turn, self._adapters, "agent")
        thoughts = ThoughtStream(self._turn.passages, self._emit)
        async with aclosing(chat.converse(ask, rules)) as stream:
            async for said in stream:
                self._calls.gathered.usage += said.usage
                text.append(said.text)
                calls += said.calls
                await thoughts.add(said.thinking)
        await thoughts.end()
        return ToolStep(calls[: self._limits.calls - self.called], text="".join(text))

    async def _result(self, call: ToolCall) -> ToolResult:
        """What the call returned, as the model reads it; one that failed says so."""
        self.called += 1
        started = time.perf_counter()
        await self._emit(StageStarted(CALL))
        status: Status = "done"
        try:
            text, said = await self._calls.result(call)
        except ToolsUnavailable as error:
            text, said, status = "The tool does not answer. Do without it.", str(error), "failed"
        except RagstoneError as error:
            self.failure = error
            text, said, status = "The search failed.", str(error), "failed"
        seconds = time.perf_counter() - started
        traced = StageTrace(CALL, seconds, status, call.name, said, self._inside)
        self._calls.gathered.trace.append(traced)
        await self._emit(StageEnded(traced))
        share = self._window() // 4
        return ToolResult(
            call.id,
            call.name,
            fenced(TOOL_OUTPUT, cut(text, share, self._adapters.count), call.name),
        )

    def _limit(self) -> str:
        """Which limit is reached, if one is."""
        limits, usage = self._limits, self._calls.gathered.usage
        texts = (result.text for step in self.steps for result in step.results)
        if self.called >= limits.calls:
            return f"{limits.calls} calls are the most"
        if time.monotonic() - self._started > limits.seconds:
            return f"{limits.seconds:g} s are the most"
        if usage.total_tokens > limits.tokens:
            return f"{limits.tokens} tokens are the most"
        if sum(map(self._adapters.count, texts)) > self._window():
            return "the results fill their share of the window"
        return ""

    def _window(self) -> int:
        return self._adapters.profile.context_window // RESULTS_SHARE
