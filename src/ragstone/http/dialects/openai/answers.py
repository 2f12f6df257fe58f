"""A finished or growing answer in the shapes of OpenAI's API."""

import re
import time
from dataclasses import asdict
from typing import Any

from ragstone.core.answer import Answer, Usage
from ragstone.core.turn import Passage, Turn
from ragstone.http.dialects.openai.requests import ChatRequest
from ragstone.service import wire

_MARKER = re.compile(r"\[(\d{1,3})\]")


class Completion:
    """Makes the objects of one answer. `passages` are set when its sources are known."""

    def __init__(self, request: ChatRequest, id: str) -> None:
        self.id = id
        self.passages: tuple[Passage, ...] = ()
        self._request = request
        self._created = int(time.time())

    def whole(self, turn: Turn) -> dict[str, Any]:
        """The answer in one piece."""
        answer = turn.answer or Answer()
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
            "usage": usage(turn.usage),
            "ragstone": self._ours(turn),
        }

    def opening(self) -> dict[str, Any]:
        """The first chunk: the role, and the sources that the answer may cite."""
        listed = [wire.source(passage, None) for passage in self.passages]
        chunk = self.delta(role="assistant", content="")
        return {**chunk, "ragstone": {"sources": listed}} if listed else chunk

    def delta(self, **parts: str) -> dict[str, Any]:
        """A chunk that adds to the answer."""
        return self._chunk(parts, None)

    def closing(self, turn: Turn) -> list[dict[str, Any]]:
        """What is known at the end: calls and citations, the end itself, the usage if it is asked
        for."""
        answer, cited = turn.answer or Answer(), annotations(turn)
        calls = [{"index": i, **one} for i, one in enumerate(tool_calls(answer))]
        chunks = [self._chunk({"tool_calls": calls}, None)] if calls else []
        end = self._chunk({"annotations": cited} if cited else {}, _finish(answer))
        chunks.append({**end, "ragstone": self._ours(turn)})
        if self._request.wants_usage:
            head = self._head("chat.completion.chunk")
            chunks.append({**head, "choices": [], "usage": usage(turn.usage)})
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

    def _ours(self, turn: Turn) -> dict[str, Any]:
        """What OpenAI's shape has no place for."""
        answer = turn.answer or Answer()
        ours = wire.answered(turn)
        if answer.suggested:
            ours["suggested_questions"] = list(answer.suggested)
        if turn.original:
            ours["corrected_question"] = turn.question
        if self._request.trace:
            ours["trace"] = [asdict(traced) for traced in turn.trace]
        return ours


def usage(used: Usage) -> dict[str, int]:
    """Tokens as OpenAI counts them."""
    return {
        "prompt_tokens": used.prompt_tokens,
        "completion_tokens": used.completion_tokens,
        "total_tokens": used.prompt_tokens + used.completion_tokens,
    }


def tool_calls(answer: Answer) -> list[dict[str, Any]]:
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
    answer = turn.answer or Answer()
    cited = {one.number: one for one in reversed(answer.citations)}
    links = {p.number: p.hit.chunk.metadata.get("url") for p in turn.passages}
    found = []
    for marker in _MARKER.finditer(answer.text):
        citation = cited.get(int(marker[1]))
        if citation is None:
            continue
        url = links.get(citation.number)
        place = {
            "start_index": marker.start(),
            "end_index": marker.end(),
            "title": citation.title or citation.path,
            "url": url if isinstance(url, str) else citation.path,
        }
        found.append({"type": "url_citation", "url_citation": place})
    return found


def _finish(answer: Answer) -> str:
    if answer.finish == "blocked":
        return "content_filter"
    if answer.calls:
        return "tool_calls"
    return "length" if answer.finish == "length" else "stop"
