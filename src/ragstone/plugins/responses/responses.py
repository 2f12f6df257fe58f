"""A finished or growing answer in the shapes of OpenAI's Responses API."""

import time
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from ragstone.core.answer import GeneratedAnswer, Usage
from ragstone.core.errors import RagstoneError
from ragstone.core.events import Done, Event, Token
from ragstone.core.source import sources
from ragstone.core.tool import ToolCall
from ragstone.core.turn import Turn
from ragstone.http.dialects.openai.answers import (
    CitedSource,
    annotations,
    extension_fields,
    format_cited_list,
    list_cited,
)
from ragstone.http.streaming import Transcript
from ragstone.plugins.responses.members import attributes, file_id
from ragstone.plugins.responses.requests import ResponsesRequest
from ragstone.service import wire

Object = dict[str, Any]

RESULTS = "file_search_call.results"
"""What a client includes that wants to see what was found."""


class ResponseObject(Transcript):
    """Makes the objects of one response. `base` is the server's own address; `lists` says whether
    the sources stand at the answer's end. `created` is in seconds since 1970, now without it."""

    def __init__(
        self,
        request: ResponsesRequest,
        id: str,
        base: str,
        lists: bool,
        created: float | None = None,
    ) -> None:
        self.id = id
        self._request = request
        self._chat = request.chat()
        self._base = base
        self._lists = lists and not self._chat.wants_json
        self._created = int(time.time() if created is None else created)
        self._number = 0
        self._text = ""
        # The same again when the response is retrieved.
        turn = id.rpartition("_")[2]
        self._message, self._search = f"msg_{turn}", f"fs_{turn}"
        self._opened = False
        self._speaks = False
        self._items: list[Object] = []

    def whole(self, turn: Turn) -> Object:
        """Return the response in one piece."""
        return self._response(
            turn, [*self._search_items(turn), *self._message_items(turn), *_calls(turn)]
        )

    def encode(self, event: Event) -> list[Object]:
        """`streaming.Transcript`."""
        match event:
            case Token() if self._chat.wants_json:
                return []
            case Token(text):
                return list(
                    self._number_events([*self._opening_events(), *self._continue_message(text)])
                )
            case Done(turn):
                return list(
                    self._number_events([*self._opening_events(), *self._closing_events(turn)])
                )
        return []

    def encode_failure(self, error: RagstoneError, used: Usage) -> Object:
        """`streaming.Transcript`."""
        failed = {"type": "response.failed", "response": self.format_failure(error.message)}
        return next(self._number_events([failed]))

    def format_failure(self, message: str) -> Object:
        """Return a response that is none, and why."""
        error = {"code": "server_error", "message": message}
        return {**self._head("failed", []), "error": error}

    def _number_events(self, events: Sequence[Object]) -> Iterator[Object]:
        for event in events:
            yield {**event, "sequence_number": self._number}
            self._number += 1

    def _opening_events(self) -> list[Object]:
        if self._opened:
            return []
        self._opened = True
        begun = self._head("in_progress", [])
        events: list[Object] = [
            {"type": "response.created", "response": begun},
            {"type": "response.in_progress", "response": begun},
        ]
        if self._request.search_tool:
            # It is over when the answer begins; what it found is said at the end.
            item: Object = {
                "id": self._search,
                "type": "file_search_call",
                "queries": [],
                "results": None,
                "status": "in_progress",
            }
            place = {"output_index": 0, "item_id": self._search}
            events += [
                _item("added", 0, item),
                {"type": "response.file_search_call.in_progress", **place},
                {"type": "response.file_search_call.searching", **place},
                {"type": "response.file_search_call.completed", **place},
            ]
        return events

    @property
    def _first(self) -> int:
        """The place of the message among the items."""
        return 1 if self._request.search_tool else 0

    def _continue_message(self, text: str) -> list[Object]:
        """Return the next piece of the message, which begins with the first."""
        events: list[Object] = []
        place = {"item_id": self._message, "output_index": self._first, "content_index": 0}
        if not self._speaks:
            self._speaks = True
            empty = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
            events = [
                _item("added", self._first, self._message_item("in_progress", [])),
                {"type": "response.content_part.added", **place, "part": empty},
            ]
        self._text += text
        delta = {"type": "response.output_text.delta", **place, "delta": text, "logprobs": []}
        return [*events, delta]

    def _closing_events(self, turn: Turn) -> list[Object]:
        events: list[Object] = []
        searched, said, calls = (
            self._search_items(turn),
            self._message_items(turn),
            list(_calls(turn)),
        )
        events += [_item("done", 0, item) for item in searched]
        for item in said:
            (part,) = item["content"]
            text = str(part.get("text") or "")
            if part["type"] == "output_text" and (rest := text[len(self._text) :]):
                events += self._continue_message(rest)
            if not self._speaks:
                events.append(_item("added", self._first, self._message_item("in_progress", [])))
            place = {"item_id": self._message, "output_index": self._first, "content_index": 0}
            events += self._part_events(part, place)
            events.append(_item("done", self._first, item))
        for at, item in enumerate(calls, self._first + len(said)):
            place = {"item_id": item["id"], "output_index": at}
            arguments = item["arguments"]
            kind = "response.function_call_arguments"
            events += [
                _item("added", at, {**item, "arguments": "", "status": "in_progress"}),
                {"type": f"{kind}.delta", **place, "delta": arguments},
                {"type": f"{kind}.done", **place, "arguments": arguments, "name": item["name"]},
                _item("done", at, item),
            ]
        response = self._response(turn, [*searched, *said, *calls])
        events.append({"type": f"response.{response['status']}", "response": response})
        return events

    def _part_events(self, part: Object, place: Object) -> list[Object]:
        if part["type"] == "refusal":
            refusal = part["refusal"]
            return [
                {"type": "response.content_part.added", **place, "part": {**part, "refusal": ""}},
                {"type": "response.refusal.delta", **place, "delta": refusal},
                {"type": "response.refusal.done", **place, "refusal": refusal},
                {"type": "response.content_part.done", **place, "part": part},
            ]
        noted = [
            {
                "type": "response.output_text.annotation.added",
                **place,
                "annotation_index": at,
                "annotation": item,
            }
            for at, item in enumerate(part["annotations"])
        ]
        done = {"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []}
        return [*noted, done, {"type": "response.content_part.done", **place, "part": part}]

    def _search_items(self, turn: Turn) -> list[Object]:
        """Return the search as an item, where the client offered it as a tool."""
        if not self._request.search_tool:
            return []
        results = None
        if RESULTS in (self._request.include or ()):
            results = [
                {
                    "file_id": file_id(source),
                    "filename": source.filename,
                    "score": source.score,
                    "text": source.content,
                    "attributes": attributes(source.metadata),
                }
                for source in sources(turn)
            ]
        queries = list(turn.queries) or [turn.question or turn.ask.question]
        item = {"id": self._search, "type": "file_search_call", "status": "completed"}
        return [{**item, "queries": queries, "results": results}]

    def _message_items(self, turn: Turn) -> list[Object]:
        """Return the message as an item; none where the model only called tools."""
        answer, cited = turn.answer or GeneratedAnswer(), list_cited(turn, self._base)
        if answer.calls and not answer.text:
            return []
        if self._chat.wants_json and answer.finish in ("refused", "blocked"):
            part: Object = {"type": "refusal", "refusal": answer.text}
        else:
            text = answer.text + (format_cited_list(cited) if self._lists else "")
            noted = self._annotations(answer, cited)
            part = {"type": "output_text", "text": text, "annotations": noted, "logprobs": []}
        status = "incomplete" if answer.finish == "length" else "completed"
        return [self._message_item(status, [part])]

    def _annotations(self, answer: GeneratedAnswer, cited: Sequence[CitedSource]) -> list[Object]:
        """Each marker with the address of its source, and as a file where files were searched."""
        places = (annotation["url_citation"] for annotation in annotations(answer, cited))
        found = [{"type": "url_citation", **place} for place in places]
        if not self._request.search_tool:
            return found
        urls = {source.url: source.source for source in cited}
        files = [
            {
                "type": "file_citation",
                "index": item["start_index"],
                "file_id": file_id(urls[item["url"]]),
                "filename": urls[item["url"]].filename,
            }
            for item in found
        ]
        return [*found, *files]

    def _message_item(self, status: str, content: list[Object]) -> Object:
        item = {"id": self._message, "type": "message", "role": "assistant"}
        return {**item, "status": status, "content": content}

    def _response(self, turn: Turn, output: list[Object]) -> Object:
        answer = turn.answer or GeneratedAnswer()
        reasons = {"length": "max_output_tokens", "blocked": "content_filter"}
        reason = reasons.get(answer.finish)
        response = self._head("incomplete" if reason else "completed", output)
        response["incomplete_details"] = {"reason": reason} if reason else None
        response["usage"] = _usage(turn)
        cited = list_cited(turn, self._base)
        return {**response, "ragstone": extension_fields(turn, cited)}

    def _head(self, status: str, output: list[Object]) -> Object:
        asked = self._request
        return {
            "id": self.id,
            "object": "response",
            "created_at": self._created,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "instructions": asked.instructions,
            "max_output_tokens": asked.max_output_tokens,
            "metadata": asked.metadata or {},
            "model": asked.model,
            "output": output,
            "parallel_tool_calls": asked.parallel_tool_calls is not False,
            "previous_response_id": asked.previous_response_id,
            "reasoning": {"effort": None, "summary": None},
            "store": asked.store is not False,
            "temperature": asked.temperature,
            "text": {"format": (asked.text and asked.text.format) or {"type": "text"}},
            "tool_choice": asked.tool_choice or "auto",
            "tools": [tool.model_dump(exclude_none=True) for tool in asked.tools or ()],
            "top_p": asked.top_p,
            "truncation": "disabled",
            "usage": None,
            "user": asked.user,
        }


def _item(what: str, at: int, item: Object) -> Object:
    return {"type": f"response.output_item.{what}", "output_index": at, "item": item}


def _calls(turn: Turn) -> Iterator[Object]:
    calls: Sequence[ToolCall] = turn.answer.calls if turn.answer else ()
    for call in calls:
        yield {
            "id": f"fc_{uuid.uuid5(uuid.NAMESPACE_OID, call.id).hex}",
            "type": "function_call",
            "status": "completed",
            "call_id": call.id,
            "name": call.name,
            "arguments": call.arguments,
        }


def _usage(turn: Turn) -> Object | None:
    used = wire.usage(turn.usage)
    if used is None:
        return None
    return {
        "input_tokens": used["prompt_tokens"],
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": used["completion_tokens"],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": used["total_tokens"],
    }
