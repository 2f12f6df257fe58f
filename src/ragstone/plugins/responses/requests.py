"""What clients send to POST /v1/responses, as the chat request that means the same."""

import re
from dataclasses import replace
from typing import Annotated, Any, Literal
from uuid import uuid4

from pydantic import ConfigDict, Field, model_validator

from ragstone.core.conversation import room_name
from ragstone.core.errors import InputError, InvalidRoom
from ragstone.core.filters import And, AnyOf, Filter, Not, Or, Range
from ragstone.core.limits import MAX_MESSAGES
from ragstone.core.turn import Ask, Level
from ragstone.http.bodies import Name, StrictBody, Text
from ragstone.http.dialects.openai.requests import LONGEST_USER, ChatRequest, refuse
from ragstone.http.responses import format_fault

Object = dict[str, Any]

_ID = re.compile(r"resp_([0-9a-f]{32})_[0-9a-f]{32}")
EXAMPLE: Object = {"model": "ragstone", "input": "How long does a full battery charge last?"}

ROOM = "response-"
"""What the name of a room begins with that responses continue in."""

UNKEPT = "0" * 32
"""What stands in the id of a response for a conversation that cannot be continued by it: one id
for all of them would join what belongs to different people."""

MAX_FILTERS, DEEPEST = 100, 10

_TEXTS = ("input_text", "output_text", "text", "refusal")
_UNSAID = ("reasoning", "file_search_call")
"""Items of earlier answers that are nothing said."""


class FunctionTool(StrictBody):
    """A function that the client can run."""

    type: Literal["function"]
    name: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")
    description: Text | None = None
    parameters: Object | None = None
    strict: bool | None = None


class FileSearchTool(StrictBody):
    """The documents that are searched: a collection, as a vector store."""

    type: Literal["file_search"]
    vector_store_ids: list[Name] = Field(min_length=1, max_length=1)
    max_num_results: int | None = Field(None, ge=1, le=50)
    filters: Object | None = None
    ranking_options: Object | None = None


AnyTool = Annotated[FunctionTool | FileSearchTool, Field(discriminator="type")]


class TextFormat(StrictBody):
    """Whether the answer is text or JSON."""

    format: Object | None = None
    verbosity: Literal["low", "medium", "high"] | None = None


class ResponsesRequest(StrictBody):
    """The body of POST /v1/responses, with three fields of ours at the end."""

    model_config = ConfigDict(strict=True, json_schema_extra={"example": EXAMPLE})

    model: Name
    input: Text | Annotated[list[Object], Field(min_length=1, max_length=MAX_MESSAGES)]
    instructions: Text | None = None
    previous_response_id: Name | None = None
    conversation: Name | Object | None = None
    store: bool | None = None
    stream: bool | None = None
    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, ge=0, le=1)
    max_output_tokens: int | None = Field(None, ge=1)
    tools: list[AnyTool] | None = Field(None, max_length=128)
    tool_choice: Literal["none", "auto", "required"] | Object | None = None
    parallel_tool_calls: bool | None = None
    text: TextFormat | None = None
    include: list[Name] | None = None
    metadata: Object | None = None
    user: Annotated[str, Field(max_length=LONGEST_USER)] | None = None

    collection: Name | None = Field(None, description="Which documents to answer from.")
    level: Level | None = Field(None, description="How much work to spend; overrides the model.")
    list_sources: bool | None = Field(
        None, description="Whether the answer ends with a list of what it cites."
    )

    @model_validator(mode="before")
    @classmethod
    def _refuse(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        # Chat completions are not stored, but what is said in responses can be continued.
        refuse({name: value for name, value in given.items() if name != "store"})
        if given.get("truncation") not in (None, "disabled", "auto"):
            raise ValueError("truncation must be auto or disabled")
        if given.get("prompt") is not None:
            raise ValueError("prompt cannot be had: send instructions and input")
        tools = given.get("tools")
        for tool in tools if isinstance(tools, list) else ():
            kind = tool.get("type") if isinstance(tool, dict) else None
            if kind not in ("function", "file_search"):
                said = str(kind)[:50]
                raise ValueError(
                    f"there are no tools of the type {said!r}; function and "
                    "file_search can be offered"
                )
        return given

    @property
    def search_tool(self) -> FileSearchTool | None:
        """The tool that names the documents."""
        return next((tool for tool in self.tools or () if isinstance(tool, FileSearchTool)), None)

    def room(self, fresh: str) -> str | None:
        """Return the conversation that this continues, or begins with the name `fresh`; None where
        nothing is to be kept. Raises InputError."""
        if self.previous_response_id:
            found = _ID.fullmatch(self.previous_response_id)
            if found is None:
                raise InputError(
                    "previous_response_id is none of this server's. Send what was said as input."
                )
            if found[1] == UNKEPT:
                raise InputError(
                    "That response cannot be continued by its id: it was not stored, or belongs to "
                    "a conversation. Send conversation, or ask the first one with store: true."
                )
            return ROOM + found[1]
        if self.conversation is not None:
            given = self.conversation
            name = given.get("id") if isinstance(given, dict) else given
            try:
                return room_name(str(name))
            except InvalidRoom as error:
                raise InputError(error.message) from error
        return None if self.store is False else ROOM + fresh

    def chat(self) -> ChatRequest:
        """Return the chat request that means the same; raises InputError."""
        functions = [tool for tool in self.tools or () if isinstance(tool, FunctionTool)]
        fields: Object = {
            "model": self.model,
            "messages": [*_instruction_messages(self.instructions), *_messages(self.input)],
            "stream": self.stream,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "max_completion_tokens": self.max_output_tokens,
            "tools": [_tool(function) for function in functions] or None,
            "tool_choice": self._choice(bool(functions)),
            "parallel_tool_calls": self.parallel_tool_calls,
            "response_format": _response_format(self.text.format if self.text else None),
            "user": self.user,
            "collection": self._collection(),
            "level": self.level,
            "list_sources": self.list_sources,
        }
        try:
            return ChatRequest.model_validate({k: v for k, v in fields.items() if v is not None})
        except ValueError as error:
            found: list[Object] = getattr(error, "errors", list)()
            if not found:
                raise InputError(f"{error}.") from error
            place = ".".join(str(part) for part in found[0]["loc"])[:100]
            raise InputError(format_fault(place, found[0])) from error

    def ask(self, fresh: str) -> Ask:
        """Return the question, with the response's id; raises InputError, UnknownModel."""
        ask, search = self.chat().ask(""), self.search_tool
        room = None if ask.pictures else self.room(fresh)
        changes: Object = {"room": room, "id": response_id(room, uuid4().hex)}
        if search is not None:
            changes["top_k"] = search.max_num_results
            changes["where"] = condition(search.filters) if search.filters else None
        return replace(ask, **changes)

    def _collection(self) -> str | None:
        return self.search_tool.vector_store_ids[0] if self.search_tool else self.collection

    def _choice(self, functions: bool) -> Any:
        """Return the choice among functions: that the documents are searched is always so."""
        choice = self.tool_choice
        if isinstance(choice, dict) and choice.get("type") == "file_search":
            return "none" if functions else None
        if isinstance(choice, dict) and choice.get("type") not in ("function",):
            kind = str(choice.get("type"))[:50]
            raise InputError(f"tool_choice cannot be of the type {kind!r}.")
        return choice if functions else None


def response_id(room: str | None, turn: str) -> str:
    """Return the id of a response, by which a later one can continue its conversation."""
    whose = room.removeprefix(ROOM) if room else ""
    return f"resp_{whose if re.fullmatch('[0-9a-f]{32}', whose) else UNKEPT}_{turn}"


def response_room(id: str) -> str | None:
    """Return the room that the response of this id was kept in; None if it was not."""
    found = _ID.fullmatch(id)
    return ROOM + found[1] if found and found[1] != UNKEPT else None


def condition(given: Any, depth: int = 0) -> Filter:
    """Return a filter of OpenAI's vector stores over metadata; raises InputError."""
    if not isinstance(given, dict) or depth > DEEPEST:
        raise InputError("filters must be comparisons, or and and or of them.")
    kind, parts = given.get("type"), given.get("filters")
    if kind in ("and", "or"):
        if not isinstance(parts, list) or len(parts) > MAX_FILTERS:
            raise InputError(f"filters: {kind} needs a list of at most {MAX_FILTERS} filters.")
        made = tuple(condition(part, depth + 1) for part in parts)
        return And(made) if kind == "and" else Or(made)
    key, value = given.get("key"), given.get("value")
    if not isinstance(key, str) or not 0 < len(key) <= 255:
        raise InputError("filters: a comparison needs a type, a key and a value.")
    return _comparison(str(kind), f"metadata.{key}", value)


def _comparison(kind: str, field: str, value: Any) -> Filter:
    if kind in ("in", "nin"):
        values = value if isinstance(value, list) and len(value) <= MAX_FILTERS else None
        if values is None or not all(isinstance(item, str | int | float | bool) for item in values):
            raise InputError(f"filters: {kind} needs a list of texts or numbers.")
        found = AnyOf(field, tuple(values))
        return found if kind == "in" else Not(found)
    if not isinstance(value, str | int | float | bool):
        raise InputError("filters: a value must be a text, a number, true or false.")
    equal = AnyOf(field, (value,))
    match kind:
        case "eq":
            return equal
        case "ne":
            return Not(equal)
        case "gte":
            return Range(field, at_least=value)
        case "lte":
            return Range(field, at_most=value)
        case "gt":
            return And((Range(field, at_least=value), Not(equal)))
        case "lt":
            return And((Range(field, at_most=value), Not(equal)))
    raise InputError(f"filters: there is no comparison {kind[:50]!r}.")


def _instruction_messages(instructions: str | None) -> list[Object]:
    return [{"role": "system", "content": instructions}] if instructions else []


def _tool(tool: FunctionTool) -> Object:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _response_format(given: Object | None) -> Object | None:
    if given is None or given.get("type") != "json_schema":
        return given
    schema = {name: value for name, value in given.items() if name != "type"}
    return {"type": "json_schema", "json_schema": schema}


def _messages(given: str | list[Object]) -> list[Object]:
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    made: list[Object] = []
    for item in given:
        kind = item.get("type") or "message"
        if kind == "message":
            made.append({"role": item.get("role"), "content": _content(item.get("content"))})
        elif kind == "function_call":
            called = {"name": item.get("name"), "arguments": item.get("arguments") or "{}"}
            call = {"id": item.get("call_id"), "type": "function", "function": called}
            if made and made[-1].get("tool_calls"):
                made[-1]["tool_calls"].append(call)
            else:
                made.append({"role": "assistant", "content": None, "tool_calls": [call]})
        elif kind == "function_call_output":
            output = _content(item.get("output"))
            made.append({"role": "tool", "tool_call_id": item.get("call_id"), "content": output})
        elif kind == "item_reference":
            raise InputError(
                "Items are not kept by their ids: send the item itself instead of an "
                "item_reference, or previous_response_id. Clients do so with store: false."
            )
        elif kind not in _UNSAID:
            raise InputError(f"input holds an item of the type {str(kind)[:50]!r}.")
    return made


def _content(given: Any) -> Any:
    """Return the content of an item as chat messages have it; raises InputError."""
    if not isinstance(given, list):
        return given
    parts: list[Object] = []
    for part in given:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind in _TEXTS:
            parts.append({"type": "text", "text": part.get("text") or part.get("refusal") or ""})
        elif kind == "input_image" and isinstance(part.get("image_url"), str):
            parts.append({"type": "image_url", "image_url": {"url": part["image_url"]}})
        else:
            raise InputError(
                f"A part of the input is of the type {str(kind)[:50]!r}; only texts and images as "
                "data URLs can be answered. Documents go to a vector store."
            )
    return parts
