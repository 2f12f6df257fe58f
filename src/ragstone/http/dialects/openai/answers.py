"""A finished or growing answer in the shapes of OpenAI's API."""

import re
import time
from dataclasses import asdict
from typing import Any

from ragstone.core.answer import GeneratedAnswer, Usage
from ragstone.core.errors import RagstoneError
from ragstone.core.events import Done, Event, Sources, Thinking, Token
from ragstone.core.source import cited_sources, passage_sources
from ragstone.core.turn import Passage, Turn
from ragstone.http.dialects.openai.requests import ChatRequest
from ragstone.http.responses import openai_error
from ragstone.http.streaming import Transcript
from ragstone.service import wire

_MARKER = re.compile(r"\[(\d{1,3})\]")


class Completion(Transcript):
    """Makes the objects of one answer."""

    def __init__(self, request: ChatRequest, id: str) -> None:
        self.id = id
        self._passages: tuple[Passage, ...] = ()
        self._opened = False
        self._request = request
        self._created = int(time.time())

    def whole(self, turn: Turn) -> dict[str, Any]:
        """The answer in one piece."""
        answer = turn.answer or GeneratedAnswer()
        message = {
            "role": "assistant",
            "content": answer.text or (None if answer.calls else ""),
            "refusal": None,
            "annotations": annotations(turn),
        }
        if answer.calls:
            message["tool_calls"] = tool_calls(answer)
        choice = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": _finish(answer),
        }
        return {
            **self._head("chat.completion"),
            "choices": [choice],
            "usage": wire.usage(turn.usage),
            "ragstone": self._extension_fields(turn),
        }

    def said(self, event: Event) -> list[dict[str, Any]]:
        """`streaming.Transcript`."""
        match event:
            case Sources(passages):
                self._passages = passages
            case Token(text):
                return [*self._opening(), self._chunk({"content": text}, None)]
            case Thinking(text):
                return [*self._opening(), self._chunk({"reasoning_content": text}, None)]
            case Done(turn):
                return [*self._opening(), *self._closing(turn)]
        return []

    def failed(self, error: RagstoneError, used: Usage) -> dict[str, Any]:
        """`streaming.Transcript`."""
        return openai_error(error.status, error.message, error.code)

    def _opening(self) -> list[dict[str, Any]]:
        """The first chunk, once: the role, and the sources that the answer may cite."""
        if self._opened:
            return []
        self._opened = True
        listed = [wire.source(one) for one in passage_sources(self._passages)]
        chunk = self._chunk({"role": "assistant", "content": ""}, None)
        return [{**chunk, "ragstone": {"sources": listed}} if listed else chunk]

    def _closing(self, turn: Turn) -> list[dict[str, Any]]:
        """What is known at the end: calls and citations, the end itself, the usage if it is asked
        for."""
        answer, cited = turn.answer or GeneratedAnswer(), annotations(turn)
        calls = [{"index": i, **one} for i, one in enumerate(tool_calls(answer))]
        chunks = [self._chunk({"tool_calls": calls}, None)] if calls else []
        end = self._chunk({"annotations": cited} if cited else {}, _finish(answer))
        chunks.append({**end, "ragstone": self._extension_fields(turn)})
        if self._request.wants_usage:
            head = self._head("chat.completion.chunk")
            chunks.append({**head, "choices": [], "usage": wire.usage(turn.usage)})
        return chunks

    def _chunk(self, delta: dict[str, Any], finish: str | None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        chunk = {**self._head("chat.completion.chunk"), "choices": [choice]}
        return {**chunk, "usage": None} if self._request.wants_usage else chunk

    def _head(self, kind: str) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": kind,
            "created": self._created,
            "model": self._request.model,
            "system_fingerprint": None,
        }

    def _extension_fields(self, turn: Turn) -> dict[str, Any]:
        """The fields that OpenAI's schema does not have."""
        answer = turn.answer or GeneratedAnswer()
        ours = wire.answered(turn)
        if answer.suggested:
            ours["suggested_questions"] = list(answer.suggested)
        if turn.original:
            ours["corrected_question"] = turn.question
        if self._request.trace:
            ours["trace"] = [asdict(traced) for traced in turn.trace]
        return ours


def tool_calls(answer: GeneratedAnswer) -> list[dict[str, Any]]:
    """The calls of the client's tools that the model wants."""
    return [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for call in answer.calls
    ]


def annotations(turn: Turn) -> list[dict[str, Any]]:
    """The cited sources, each at every marker in the text that cites it."""
    answer = turn.answer or GeneratedAnswer()
    cited = {one.number: one for one in cited_sources(answer.citations, turn.passages)}
    found = []
    for marker in _MARKER.finditer(answer.text):
        source = cited.get(int(marker[1]))
        if source is None:
            continue
        place = {
            "start_index": marker.start(),
            "end_index": marker.end(),
            "title": source.title or source.path,
            "url": source.url or source.path,
        }
        found.append({"type": "url_citation", "url_citation": place})
    return found


def _finish(answer: GeneratedAnswer) -> str:
    if answer.finish == "blocked":
        return "content_filter"
    if answer.calls:
        return "tool_calls"
    return "length" if answer.finish == "length" else "stop"
