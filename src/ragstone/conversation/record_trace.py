"""What is kept of a question for the operator."""

import uuid

from ragstone.core.clock import state_time
from ragstone.core.conversation import turn_origin
from ragstone.core.correlation import CURRENT
from ragstone.core.records import QuestionTrace, RecordedStage
from ragstone.core.turn import Turn


def build_trace(turn: Turn, questions: bool) -> QuestionTrace:
    """What each stage did and what the answer cost; without the question where `questions` is
    false."""
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
        stages=tuple(
            RecordedStage(
                item.stage,
                item.seconds,
                item.status,
                item.decision if questions else "",
                item.reason if questions else "",
            )
            for item in turn.trace
        ),
        origin=turn_origin(turn).text,
    )


def _find_failed_stage(turn: Turn) -> str:
    """The stage whose failure ended the question, which is the last one that ran; empty where none
    did."""
    if turn.answer is None or turn.answer.finish != "error" or not turn.trace:
        return ""
    last = turn.trace[-1]
    return last.stage if last.status in ("failed", "timeout") else ""
