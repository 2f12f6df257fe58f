"""Keeps the trace of a question for the operator."""

import uuid
from typing import ClassVar, Literal

from pydantic import Field

from ragstone.core.clock import state_time
from ragstone.core.conversation import turn_origin
from ragstone.core.correlation import CURRENT
from ragstone.core.records import QuestionTrace, RecordedStage
from ragstone.core.turn import StageTrace, Turn
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.ports import Adapters


class Record(Stage):
    """Keeps what each stage did and what the answer cost, without the question unless that is
    wanted; part of the tail, so it always runs."""

    name: ClassVar[str] = "record"
    needs: ClassVar[frozenset[str]] = frozenset({"ask"})
    fails: ClassVar[Literal["open", "closed"]] = "open"

    timeout: float = 60.0
    days: int = Field(7, ge=1, description="Days that traces are kept.")
    questions: bool = Field(False, description="Whether the question is kept in its trace.")

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        if not turn.ask.keeps:
            return Step(turn, "skipped", "the request wants nothing kept")
        await adapters.traces.keep(trace(turn, self.questions), self.days)
        return Step(turn)


def trace(turn: Turn, questions: bool) -> QuestionTrace:
    """What is kept of a turn; without a question where `questions` is false."""
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
        stages=tuple(_stage(item, questions) for item in turn.trace),
        origin=turn_origin(turn).text,
    )


def _find_failed_stage(turn: Turn) -> str:
    """The stage whose failure ended the question, which is the last one that ran; empty where none
    did."""
    if turn.answer is None or turn.answer.finish != "error" or not turn.trace:
        return ""
    last = turn.trace[-1]
    return last.stage if last.status in ("failed", "timeout") else ""


def _stage(traced: StageTrace, questions: bool) -> RecordedStage:
    """Decisions and reasons quote the question, so they go with it."""
    said = (traced.decision, traced.reason) if questions else ("", "")
    return RecordedStage(traced.stage, traced.seconds, traced.status, *said)
