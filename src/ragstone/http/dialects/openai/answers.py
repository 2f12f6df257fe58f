"""A finished or growing answer in the shapes of OpenAI's API."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ragstone.answer.first_cited import cited_numbers
from ragstone.core.answer import GeneratedAnswer, Usage
from ragstone.core.errors import RagstoneError
from ragstone.core.events import Done, Event, Sources, Thinking, Token
from ragstone.core.source import Source, citation_sources, passage_sources, sources
from ragstone.core.turn import Passage, Turn
from ragstone.http.addresses import source_addresses, source_list
from ragstone.http.dialects.openai.requests import ChatRequest
from ragstone.http.responses import openai_error
from ragstone.http.streaming import Transcript
from ragstone.service import wire


@dataclass(frozen=True, slots=True)
class CitedSource:
    """A source that the answer cites, with the address that people read it at."""

    source: Source
    url: str


def list_cited(turn: Turn, base: str) -> list[CitedSource]:
    """Return the sources that an answer cites, by number; `base` is the server's own address."""
    numbers = cited_numbers(turn)
    known = {
        source.number: source for source in citation_sources(_answer(turn).citations, turn.passages)
    }
    known |= {source.number: source for source in sources(turn)}
    found = [known[number] for number in sorted(numbers)]
    urls = source_addresses(found, turn.ask.collection, base)
    return [CitedSource(item, url) for item, url in zip(found, urls, strict=True)]


def _answer(turn: Turn) -> GeneratedAnswer:
    return turn.answer or GeneratedAnswer()


def format_cited_list(cited: Sequence[CitedSource]) -> str:
    """Return what they add to the end of an answer that lists its sources."""
    return source_list([source.source for source in cited], [source.url for source in cited])


class Completion(Transcript):
    """Makes the objects of one answer, whose sources are numbered by first citation.

    `base` is the server's own address; `lists` says whether the sources stand at the answer's end.
    """

    def __init__(self, request: ChatRequest, id: str, base: str, lists: bool) -> None:
        self.id = id
        self._base = base
        self._lists = lists
        self._passages: tuple[Passage, ...] = ()
        self._opened = False
        self._request = request
        self._created = int(time.time())

    def whole(self, turn: Turn) -> dict[str, Any]:
        """Return the answer in one piece."""
        answer, cited = _answer(turn), list_cited(turn, self._base)
        text = answer.text + self._format_list(cited)
        refusal = self._refusal(answer)
        message = {
            "role": "assistant",
            "content": None if refusal else text or (None if answer.calls else ""),
            "refusal": refusal,
            "annotations": annotations(answer, cited),
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
            "ragstone": extension_fields(turn, cited, bool(self._request.trace)),
        }

    def encode(self, event: Event) -> list[dict[str, Any]]:
        """`streaming.Transcript`."""
        match event:
            case Sources(passages):
                self._passages = passages
            case Token() if self._request.wants_json:
                # It comes with the end: until then nobody knows whether it is JSON or a refusal.
                return []
            case Token(text):
                return [*self._opening_events(), self._chunk({"content": text}, None)]
            case Thinking(text):
                return [*self._opening_events(), self._chunk({"reasoning_content": text}, None)]
            case Done(turn):
                return [*self._opening_events(), *self._closing_events(turn)]
        return []

    def encode_failure(self, error: RagstoneError, used: Usage) -> dict[str, Any]:
        """`streaming.Transcript`."""
        return openai_error(error.status, error.message, error.code)

    def _format_list(self, cited: Sequence[CitedSource]) -> str:
        return format_cited_list(cited) if self._lists and not self._request.wants_json else ""

    def _refusal(self, answer: GeneratedAnswer) -> str | None:
        """Return what is said in place of the JSON that was asked for; None where there is some."""
        refused = self._request.wants_json and answer.finish in ("refused", "blocked")
        return answer.text if refused else None

    def _opening_events(self) -> list[dict[str, Any]]:
        """Return the first chunk, once: the role, and the sources that the answer may cite."""
        if self._opened:
            return []
        self._opened = True
        # Nothing is cited yet, and so nothing has a number.
        shown = (wire.source(source) for source in passage_sources(self._passages))
        listed = [{**item, "number": None} for item in shown]
        chunk = self._chunk({"role": "assistant", "content": ""}, None)
        return [{**chunk, "ragstone": {"sources": listed}} if listed else chunk]

    def _closing_events(self, turn: Turn) -> list[dict[str, Any]]:
        """Return what is known at the end: calls and citations, the end itself, the usage if it is
        asked for."""
        answer, cited = _answer(turn), list_cited(turn, self._base)
        noted = annotations(answer, cited)
        calls = [{"index": i, **call} for i, call in enumerate(tool_calls(answer))]
        chunks = [self._chunk({"tool_calls": calls}, None)] if calls else []
        if self._request.wants_json:
            refusal = self._refusal(answer)
            said = {"refusal": refusal} if refusal else {"content": answer.text}
            chunks.insert(0, self._chunk(said, None))
        if listed := self._format_list(cited):
            chunks.append(self._chunk({"content": listed}, None))
        end = self._chunk({"annotations": noted} if noted else {}, _finish(answer))
        chunks.append({**end, "ragstone": extension_fields(turn, cited, bool(self._request.trace))})
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


def extension_fields(
    turn: Turn, cited: Sequence[CitedSource], trace: bool = False
) -> dict[str, Any]:
    """Return the fields that OpenAI's schema does not have."""
    answer = _answer(turn)
    ours = {**wire.format_answer(turn), "sources": format_sources(turn, cited)}
    if answer.suggested:
        ours["suggested_questions"] = list(answer.suggested)
    if turn.original:
        ours["corrected_question"] = turn.question
    if trace:
        ours["trace"] = [asdict(traced) for traced in turn.trace]
    return ours


def tool_calls(answer: GeneratedAnswer) -> list[dict[str, Any]]:
    """Return the calls of the client's tools that the model wants."""
    return [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for call in answer.calls
    ]


def format_sources(turn: Turn, cited: Sequence[CitedSource]) -> list[dict[str, Any]]:
    """Return everything that the answer was made from: what it cites with number and address, then
    the rest, which has neither."""
    numbers = {source.source.number for source in cited}
    rest = [source for source in sources(turn) if source.number not in numbers]
    return [
        *({**wire.source(source.source), "url": source.url} for source in cited),
        *({**wire.source(item), "number": None, "url": None} for item in rest),
    ]


def annotations(answer: GeneratedAnswer, cited: Sequence[CitedSource]) -> list[dict[str, Any]]:
    """At every marker the source that says what it stands for, with the words that do; that is
    another one than it names where that does not."""
    by_number = {source.source.number: source for source in cited}
    found = []
    for marker in answer.markers:
        one = by_number.get(marker.citation.number)
        if one is None:
            continue
        place = {
            "start_index": marker.start,
            "end_index": marker.end,
            "title": one.source.title or one.source.path,
            "url": one.url,
            "content": marker.citation.snippet,
        }
        found.append({"type": "url_citation", "url_citation": place})
    return found


def _finish(answer: GeneratedAnswer) -> str:
    if answer.finish == "blocked":
        return "content_filter"
    if answer.calls:
        return "tool_calls"
    return "length" if answer.finish == "length" else "stop"
