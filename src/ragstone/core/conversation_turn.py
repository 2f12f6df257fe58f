"""The conversation block, version 3: what one turn of a conversation is stored and exchanged as.

The fields are those of the chat-core document, in its names. Times are ISO 8601.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, BeforeValidator, TypeAdapter, ValidationError

from ragstone.core.errors import InvalidBlock

VERSION: Literal["v3"] = "v3"


def _iso(text: str) -> str:
    if text:
        datetime.fromisoformat(text)
    return text


_Text = Annotated[str, BeforeValidator(lambda given: "" if given is None else given)]
"""Clients write null for the content of a message that only calls tools."""

_Time = Annotated[_Text, AfterValidator(_iso)]
_Objects = Annotated[
    tuple[Mapping[str, Any], ...], BeforeValidator(lambda given: () if given is None else given)
]


@dataclass(frozen=True, slots=True)
class TurnMessage:
    """One message. `tool_calls` are what an assistant wants done, `tool_call_id` and `name` say
    which of them a tool's message answers."""

    role: Literal["user", "assistant", "system", "tool"]
    content: _Text = ""
    tool_calls: _Objects = ()
    tool_call_id: _Text = ""
    name: _Text = ""
    created_at: _Time = ""

    @property
    def works(self) -> bool:
        """Whether this is work on an answer, a tool's result or a call of one, and no answer."""
        return self.role == "tool" or (self.role == "assistant" and bool(self.tool_calls))


@dataclass(frozen=True, slots=True)
class TurnUsage:
    """Tokens of every model call of the turn."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0


@dataclass(frozen=True, slots=True)
class SearchDecision:
    """What was searched."""

    rewritten_query: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnResult:
    """How the turn ended; `final_response` is what was said, also if that is only a part."""

    type: Literal["done", "error"] = "done"
    final_response: _Text = ""
    references: _Objects = ()
    usage: TurnUsage = TurnUsage()
    search_decision: SearchDecision = SearchDecision()


@dataclass(frozen=True, slots=True)
class ConversationTurn:
    """One turn. `status` is idle while it is worked on, and stays so if the client left.
    `block_classes` are the values of its metadata filter, `is_tool_block` says that tools were
    called in it."""

    version: Literal["v3"] = VERSION
    status: Literal["done", "error", "idle"] = "done"
    block_classes: tuple[str, ...] = ()
    search_type: Literal["rag", "gpt", "pa", "voc"] = "rag"
    conversations: tuple[TurnMessage, ...] = ()
    room_id: str = ""
    chat_id: str = ""
    user_id: str = ""
    is_tool_block: bool = False
    is_error: bool = False
    result: TurnResult = TurnResult()

    @property
    def working(self) -> bool:
        """Whether this is an unfinished turn that calls tools."""
        return self.is_tool_block and self.status == "idle"

    def without_tool_calls(self) -> "ConversationTurn":
        """Without the calls of tools and what they said: of those only the answer is kept."""
        kept = tuple(message for message in self.conversations if not message.works)
        return replace(self, conversations=kept)


def dump_turn(block: ConversationTurn) -> dict[str, Any]:
    """A block as JSON values, with every field."""
    dumped: dict[str, Any] = _adapter(ConversationTurn).dump_python(block, mode="json")
    return dumped


def load_turn(data: object) -> ConversationTurn:
    """The inverse, from JSON values or JSON text; raises InvalidBlock."""
    if isinstance(data, str | bytes):
        try:
            data = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise InvalidBlock("This is not a conversation block: it is not valid JSON.") from error
    try:
        return cast(ConversationTurn, _adapter(ConversationTurn).validate_python(data))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])[:100] or "the block"
        raise InvalidBlock(f"This is not a conversation block: {where}: {first['msg']}.") from error


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
