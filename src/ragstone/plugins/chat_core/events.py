"""An answer as chat-core's events: step, debug, think, token, done, error."""

import uuid
from collections.abc import Callable
from typing import Any

from ragstone.core.answer import GeneratedAnswer, Usage
from ragstone.core.errors import RagstoneError
from ragstone.core.events import (
    AgentStep,
    Done,
    Event,
    Note,
    Rewritten,
    StageEnded,
    StageStarted,
    Thinking,
    Token,
)
from ragstone.core.foreign_passages import references
from ragstone.core.turn import SearchType, StageTrace, Turn
from ragstone.http.streaming import Transcript
from ragstone.service import wire

Json = dict[str, Any]

SEARCHING = "Searching for relevant documents..."
ANSWERING = "Generating an answer..."
STEPS = {
    "contextualize": "Understanding the intent of the user's question...",
    "recall": SEARCHING,
    "retrieve": SEARCHING,
    "search_subqueries": SEARCHING,
    "tool_agent": "Gathering information with tools...",
    "rounds": SEARCHING,
    "generate": ANSWERING,
    "converse": ANSWERING,
}
"""The text shown when a stage begins."""

DEBUGGED = frozenset(
    {"guard", "recall", "retrieve", "search_subqueries", "rounds", "tool_agent", "tool"}
)
"""Stages whose end is told; one that fails always is."""


class Conversation(Transcript):
    """Makes the events of one answer."""

    def __init__(self, search_type: SearchType, id: Callable[[], str] | None = None) -> None:
        self._search_type = search_type
        self._id = id or (lambda: str(uuid.uuid4()))
        self._text: list[str] = []
        self._steps: set[str] = set()
        self._thought = ""

    def encode(self, event: Event) -> list[Json]:
        """`streaming.Transcript`."""
        if not isinstance(event, Thinking):
            self._thought = ""
        match event:
            case StageStarted(stage):
                return self._step(STEPS.get(stage, ""))
            case Note(_, text):
                return self._step(text)
            case AgentStep() as step:
                told = self._content_event("step", step.text)
                return [{**told, "tool": wire.agent_step(step)}]
            case Rewritten(text, _):
                return [self._content_event("debug", f'Query rewriting complete: "{text}"')]
            case StageEnded(traced):
                return (
                    [self._content_event("debug", _debug_text(traced))]
                    if _is_reported(traced)
                    else []
                )
            case Thinking(text):
                self._thought = self._thought or self._id()
                return [{"type": "think", "id": self._thought, "content": text}]
            case Token(text):
                self._text.append(text)
                return [*self._step(ANSWERING), {"type": "token", "content": text}]
            case Done(turn):
                return [self._done_event(turn)]
        return []

    def _done_event(self, turn: Turn) -> Json:
        answer = turn.answer or GeneratedAnswer()
        return {
            "type": "done",
            "search_type": self._search_type,
            "final_response": answer.text,
            "usage": wire.usage(turn.usage),
            "references": references(turn),
            **wire.statements(turn),
        }

    def encode_failure(self, error: RagstoneError, used: Usage) -> Json:
        """`streaming.Transcript`."""
        return {
            "type": "error",
            "content": f"An error occurred: {error.message}",
            "detail": error.code,
            "final_response": "".join(self._text),
            "usage": wire.usage(used),
        }

    def _step(self, text: str) -> list[Json]:
        """Return a step, unless it has been said: a stage may run again."""
        if not text or text in self._steps:
            return []
        self._steps.add(text)
        return [self._content_event("step", text)]

    def _content_event(self, kind: str, content: str) -> Json:
        return {"type": kind, "id": self._id(), "content": content}


def refusal_body(message: str, detail: str) -> Json:
    """Return the body of a request that is not answered at all."""
    return {"type": "error", "content": f"A server error occurred: {message}", "detail": detail}


def _is_reported(traced: StageTrace) -> bool:
    if traced.status in ("failed", "timeout"):
        return True
    return traced.stage in DEBUGGED and traced.decision not in ("", "skipped", "unknown")


def _debug_text(traced: StageTrace) -> str:
    said = "; ".join(part for part in (traced.decision, traced.reason) if part)
    state = "" if traced.status == "done" else f" {traced.status}"
    return f"{traced.stage}{state}: {said}"
