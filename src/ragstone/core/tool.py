"""What a chat model is given besides text, and what it asks for: tools, their calls, pictures."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ANY_ARGUMENTS: Mapping[str, Any] = {"type": "object", "properties": {}}


@dataclass(frozen=True, slots=True)
class Tool:
    """Something that a chat model may call. `parameters` is the JSON schema of its arguments.

    `changes` says whether a call may change anything outside, None where whoever has the tool does
    not say.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=lambda: dict(ANY_ARGUMENTS))
    changes: bool | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that a chat model asks for; `arguments` is a JSON object as it wrote it."""

    id: str
    name: str
    arguments: str = "{}"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call returned: data, never an instruction."""

    call_id: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolStep:
    """One reply that called tools, with what they returned, in the order of the calls."""

    calls: tuple[ToolCall, ...]
    results: tuple[ToolResult, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """An image to be looked at: its media type, and its bytes as base64."""

    media_type: str
    base64: str
