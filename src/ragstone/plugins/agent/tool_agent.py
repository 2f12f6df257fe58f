"""Gathers what the answer is made from: the chat model searches documents and calls tools."""

import logging
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from ragstone.core.errors import ToolsUnavailable
from ragstone.core.turn import Turn
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.plugins.agent.call_reports import CallReports
from ragstone.plugins.agent.tool_calls import ToolCalls
from ragstone.plugins.agent.tool_loop import ToolLimits, ToolLoop
from ragstone.ports import Adapters, Conversing, ToolSession
from ragstone.ports.answering import CALL_SECONDS, RESULT_CHARS
from ragstone.recipes.stages import AddedStage, RecipeKey
from ragstone.retrieve.local_search import LocalSearch

log = logging.getLogger(__name__)


MAX_ROUNDS, WORK_SECONDS = 4, 60.0
"""Replies that may call tools, and the seconds after which no further round begins, but for those
that approvals take."""


APPROVAL_SECONDS = 120.0
"""For how long a call waits for an approval: a person reads what it would do."""


class ToolAgent(Stage):
    """A planning agent: in rounds, the chat model searches and calls tools until it has enough, or
    until a limit is reached, which the turn then says. What tools return becomes sources like any
    other.

    Whatever fails there, the documents are searched: without a chat model, without a gateway, and
    where no search found anything. Only that search ends the question when it fails.
    """

    name: ClassVar[str] = "tool_agent"
    needs: ClassVar[frozenset[str]] = frozenset({"question", "plan", "queries"})
    gives: ClassVar[frozenset[str]] = frozenset({"hits"})

    timeout: float = Field(300.0, gt=0, description="Seconds that all calls may take.")
    rounds: int = Field(
        MAX_ROUNDS, ge=1, description="Replies of the chat model that may call tools."
    )
    calls: int = Field(12, ge=1, description="Calls of tools.")
    seconds: float = Field(
        WORK_SECONDS, gt=0, description="Seconds after which no further round begins."
    )
    tokens: int = Field(50_000, ge=1, description="Tokens after which no further round begins.")
    call_seconds: float = Field(
        CALL_SECONDS, gt=0, description="Seconds that one call of a built-in tool may take."
    )
    approval_seconds: float = Field(
        APPROVAL_SECONDS, gt=0, description="Seconds for which a call waits for an approval."
    )
    result_chars: int = Field(RESULT_CHARS, ge=200, description="Longest text of one result.")

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        search = LocalSearch(self.inner, adapters, emit, self.name)
        if adapters.chat is None:
            calls = self._calls(turn, adapters, None, search, emit)
            await calls.search_here()
            why = "no chat model is set, so no tools are called"
            return Step(calls.gathered.turn(), "local search", why)
        async with AsyncExitStack() as stack:
            session, why = await _open_session(stack, turn, adapters)
            calls = self._calls(turn, adapters, session, search, emit)
            agent = await self._work(turn, adapters, emit, calls, adapters.chat)
        if agent.failure:
            raise agent.failure
        reasons = [why, agent.why]
        if not calls.gathered.passages:
            await calls.search_here()
            reasons.append("local search, as no other found a passage")
        found = replace(calls.gathered.turn(), called=agent.steps, cut_short=agent.cut_short)
        said = "; ".join(filter(None, reasons))
        return Step(found, f"{agent.called} calls, {len(found.hits)} sources", said)

    def _calls(
        self,
        turn: Turn,
        adapters: Adapters,
        session: ToolSession | None,
        search: LocalSearch,
        emit: Emit,
    ) -> ToolCalls:
        reports = CallReports(turn, adapters.approvals, emit, self.approval_seconds)
        most, seconds = self.result_chars, self.call_seconds
        return ToolCalls(turn, adapters, session, search, reports, most, seconds)

    async def _work(
        self, turn: Turn, adapters: Adapters, emit: Emit, calls: ToolCalls, chat: Conversing
    ) -> ToolLoop:
        limits = ToolLimits(self.rounds, self.calls, self.seconds, self.tokens)
        agent = ToolLoop(turn, adapters, emit, calls, limits, self.name)
        await agent.work(chat)
        return agent


async def _open_session(
    stack: AsyncExitStack, turn: Turn, adapters: Adapters
) -> tuple[ToolSession | None, str]:
    """Return the gateway's tools, or why there are none."""
    if adapters.toolbox is None:
        return None, "MCP is off"
    try:
        session = adapters.toolbox.session(turn.ask.organisation)
        return await stack.enter_async_context(session), ""
    except ToolsUnavailable as error:
        log.warning("A question is answered without the gateway's tools: %s", error)
        return None, str(error)


def _make_stage(key: RecipeKey) -> ToolAgent | None:
    if key.variant != "tools":
        return None
    # Calls end by their own limits, so that the agent's own is reached only if one of them fails.
    waits = MAX_ROUNDS * (APPROVAL_SECONDS + CALL_SECONDS)
    return ToolAgent(timeout=300.0 + WORK_SECONDS + waits)


PLACE = AddedStage(ToolAgent, around=("search_subqueries", "expand"), make=_make_stage)
