"""Keeps what a question leaves: its turn, its cache entries, its trace."""

import asyncio
import logging
import uuid
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, ClassVar

from pydantic import Field

from ragstone.cache.recall import remember
from ragstone.core.clock import state_time
from ragstone.core.conversation import conversation_key, entry, turn_origin
from ragstone.core.correlation import CURRENT
from ragstone.core.errors import RagstoneError
from ragstone.core.records import QuestionTrace
from ragstone.core.turn import Turn
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.ports import Adapters

log = logging.getLogger(__name__)

MAX_SEARCHED_TURNS = 100
"""Turns of a room in which an earlier attempt is looked for: what came in between is in them."""


class Persist(Stage):
    """Adds the turn to its conversation and to the statistics, what was found and answered to the
    cache, and the trace to those for the operator; part of the tail, so it always runs. What fails
    of these does not stop the others."""

    name: ClassVar[str] = "persist"
    needs: ClassVar[frozenset[str]] = frozenset({"ask"})

    timeout: float = Field(60.0, gt=0, description="Seconds that the stage may take.")
    stores: bool = Field(True, description="Whether it is a turn of a conversation.")
    ttl: float = Field(300.0, gt=0, description="Seconds that a cache entry lives unused.")
    days: int = Field(7, ge=0, description="Days that traces are kept; 0 keeps none.")
    questions: bool = Field(False, description="Whether the question is kept in its trace.")

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        if not turn.ask.keeps:
            return Step(turn, "skipped", "the request wants nothing kept")
        parts: dict[str, Coroutine[Any, Any, object]] = {
            "cache entry": remember(turn, adapters, self.ttl)
        }
        if self.stores:
            parts["turn"] = _store_turn(turn, adapters)
            parts["statistics"] = adapters.history.save(turn)
        if self.days:
            parts["trace"] = self._keep_trace(turn, adapters)
        # At once, so that a store that holds several can keep them in one transaction.
        ended = await asyncio.gather(*parts.values(), return_exceptions=True)
        for part, result in zip(parts, ended, strict=True):
            if isinstance(result, RagstoneError):
                log.warning("The %s of a question could not be kept: %s", part, result)
            elif isinstance(result, Exception):
                log.error("The %s of a question could not be kept", part, exc_info=result)
        return Step(turn)

    async def _keep_trace(self, turn: Turn, adapters: Adapters) -> None:
        await adapters.traces.keep(build_trace(turn, self.questions), self.days)


async def _store_turn(turn: Turn, adapters: Adapters) -> None:
    """Store the turn, if it names a room and has a readable question, and somebody asked: all
    without a credential would share a room."""
    ask = turn.ask
    if not ask.room or not turn.question or not ask.principal.user:
        return
    named = turn if ask.id else replace(turn, ask=replace(ask, id=uuid.uuid4().hex))
    here = conversation_key(ask.principal, ask.room, ask.user_id)
    if ask.idempotent:
        # No other question adds to the conversation meanwhile.
        newest = await adapters.conversations.entries(here, MAX_SEARCHED_TURNS)
        if any(item.block.chat_id == ask.id for item in newest):
            return
    await adapters.conversations.append(here, entry(named, state_time()))


def build_trace(turn: Turn, questions: bool) -> QuestionTrace:
    """Return what each stage did and what the answer cost; without the question where `questions`
    is false."""
    ask, answer, usage, names = turn.ask, turn.answer, turn.usage, CURRENT.get()
    return QuestionTrace(
        id=ask.id or uuid.uuid4().hex,
        at=state_time(),
        tenant=ask.principal.tenant,
        user=ask.principal.user,
        request=names.request,
        trace=names.trace,
        user_id=ask.user_id,
        room=ask.room or "",
        collection=ask.collection,
        level=ask.level,
        strategy=turn.plan.strategy if turn.lists else "",
        intent=turn.intent.name if turn.intent else "",
        question=(turn.question or ask.question) if questions else "",
        model=answer.model if answer else "",
        finish=answer.finish if answer else "search",
        error=_find_failed_stage(turn),
        cached=turn.recalled.content if turn.recalled else "",
        seconds=turn.seconds,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cost=usage.cost,
        confidence=answer.confidence if answer else None,
        # Decisions and reasons quote the question, so they go with it.
        stages=turn.trace
        if questions
        else tuple(replace(item, decision="", reason="") for item in turn.trace),
        origin=turn_origin(turn).text,
    )


def _find_failed_stage(turn: Turn) -> str:
    """Return the stage whose failure ended the question, which is the last one that ran; empty
    where none did."""
    if turn.answer is None or turn.answer.finish != "error" or not turn.trace:
        return ""
    last = turn.trace[-1]
    return last.stage if last.status in ("failed", "timeout") else ""
