"""A chat model that calls tools in rounds."""

import asyncio
import re
import time
import uuid
from contextlib import aclosing
from dataclasses import dataclass, replace

from ragstone.answer.thoughts import ThoughtStream
from ragstone.core.errors import RagstoneError, ToolsUnavailable, Unavailable
from ragstone.core.events import StageEnded, StageStarted
from ragstone.core.tool import Tool, ToolCall, ToolResult, ToolStep
from ragstone.core.turn import StageTrace, Status, Turn
from ragstone.engine.stage import Emit, prompt
from ragstone.language.code_blocks import TOOL_OUTPUT, fence_text
from ragstone.language.tokens import cut_to_budget
from ragstone.plugins.agent.tool_calls import CallResult, ToolCalls
from ragstone.ports import Adapters, Conversing

CALL = "tool"
"""The name of a call in the trace: one for all, as the tools are somebody else's."""

NAME_CHARS = 64
_ODD = re.compile(r"[^a-zA-Z0-9_.-]+")

REPLY_TOKENS = 700
RESULTS_SHARE = 2
"""The results may fill one half of the model's window, and one of them a quarter of that."""

REPEATED_ROUNDS = 2
"""After so many rounds in which every call was made before, there is no further one."""


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """After how many replies, calls, seconds and tokens no further round begins. Seconds in
    which calls wait for an approval do not count."""

    rounds: int
    calls: int
    seconds: float
    tokens: int


class ToolLoop:
    """One question's rounds. `why` says for the trace why they ended early, `cut_short` which limit
    ended them."""

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
        self.cut_short = ""
        self._repeated = 0
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
        tools = self._calls.offerable_tools()
        for _ in range(self._limits.rounds):
            try:
                step = await self._reply(chat, tools)
            except Unavailable as error:
                self.why = str(error)
                self.cut_short = "the chat model did not go on" if self.steps else ""
                return
            if not step.calls:
                return
            answered = await asyncio.gather(*(self._result(call) for call in step.calls))
            self.steps += (replace(step, results=tuple(result for result, _ in answered)),)
            if self.failure:
                return
            again = all(repeated for _, repeated in answered)
            self._repeated = self._repeated + 1 if again else 0
            self.why = self.cut_short = self._limit()
            if self.why:
                return
        self.why = self.cut_short = f"{self._limits.rounds} rounds of calls are the most"

    async def _reply(self, chat: Conversing, tools: tuple[Tool, ...]) -> ToolStep:
        """Return what the model wants called next."""
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
                if said.restarts:
                    text, calls = [], ()
                text.append(said.text)
                calls += said.calls
                await thoughts.add(said.thinking)
        await thoughts.end()
        return ToolStep(calls[: self._limits.calls - self.called], text="".join(text))

    async def _result(self, call: ToolCall) -> tuple[ToolResult, bool]:
        """Return what the call returned, as the model reads it; one that failed says so. And
        whether it was made before."""
        self.called += 1
        started = time.perf_counter()
        reports, id = self._calls.reports, call.id
        # Chat models give the same id to several calls, and others can guess it.
        call = replace(call, id=uuid.uuid4().hex)
        await self._emit(StageStarted(CALL))
        await reports.tell(call, "calling")
        status: Status = "failed"
        try:
            found = await self._calls.result(call)
            status = "done"
        except ToolsUnavailable as error:
            gone = "The tool does not answer. Do without it."
            found = CallResult(gone, str(error), "failed")
        except RagstoneError as error:
            self.failure = error
            found = CallResult("The search failed.", str(error), "failed")
        seconds = time.perf_counter() - started
        traced = StageTrace(CALL, seconds, status, display_name(call), found.said, self._inside)
        self._calls.gathered.trace.append(traced)
        await self._emit(StageEnded(traced))
        await reports.tell(call, found.state, found.said, seconds)
        share = self._window() // 4
        text = cut_to_budget(found.text, share, self._adapters.count)
        name = display_name(call)
        return ToolResult(id, call.name, fence_text(TOOL_OUTPUT, text, name)), found.repeated

    def _limit(self) -> str:
        """Return which limit is reached, if one is."""
        limits, usage = self._limits, self._calls.gathered.usage
        texts = (result.text for step in self.steps for result in step.results)
        if self.called >= limits.calls:
            return f"{limits.calls} calls are the most"
        waited = self._calls.reports.waited
        if time.monotonic() - self._started - waited > limits.seconds:
            return f"{limits.seconds:g} s are the most"
        if usage.total_tokens > limits.tokens:
            return f"{limits.tokens:,} tokens are the most"
        if self._repeated >= REPEATED_ROUNDS:
            return "the chat model makes the same calls again and again"
        if sum(map(self._adapters.count, texts)) > self._window():
            return "the results fill their share of the window"
        return ""

    def _window(self) -> int:
        return self._adapters.profile.context_window // RESULTS_SHARE


def display_name(call: ToolCall) -> str:
    """The name of a tool as a chat model wrote it, without what could end a tag or a line."""
    return _ODD.sub("_", call.name)[:NAME_CHARS]
