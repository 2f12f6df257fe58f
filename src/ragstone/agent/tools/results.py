"""What a tool of MCP returned, as text and data."""

import json
from typing import Any

from mcp.types import CallToolResult, EmbeddedResource, TextContent, TextResourceContents

from ragstone.language.unicode import whole, whole_values
from ragstone.ports import Returned

WRAPPED = ("result", "results", "documents", "data")
"""Under which name some servers put a list that must be an object."""

MOST_JSON = 2_000_000
"""Longest text that is read as JSON."""


def returned(result: CallToolResult, most: int) -> Returned:
    """The text of the result, at most so many characters, and its data."""
    text = "\n".join(part for block in result.content if (part := _text(block)))
    data = result.structured_content
    if data is None and len(text) <= MOST_JSON:
        data = _json(text)
    return Returned(whole(text)[:most], _unwrap(whole_values(data)), bool(result.is_error))


def _text(block: Any) -> str:
    if isinstance(block, TextContent):
        return block.text
    if isinstance(block, EmbeddedResource) and isinstance(block.resource, TextResourceContents):
        return block.resource.text
    return ""


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _unwrap(data: Any) -> Any:
    if isinstance(data, dict):
        for name in WRAPPED:
            if isinstance(data.get(name), list):
                return data[name]
    return data
