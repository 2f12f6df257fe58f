"""What a tool of MCP returned, as text and data."""

import json
from typing import Any

from mcp.types import CallToolResult, EmbeddedResource, TextContent, TextResourceContents

from ragstone.language.unicode import replace_surrogates, replace_value_surrogates
from ragstone.ports import Returned

WRAPPED = ("result", "results", "documents", "data")
"""Under which name servers put what must be in an object, a list or a text."""

MOST_JSON = 2_000_000
"""Longest text that is read as JSON."""


def read_result(result: CallToolResult, most: int) -> Returned:
    """The text of the result, at most so many characters, and its data."""
    parts = [part for block in result.content if (part := _text(block))]
    text = "\n".join(parts)
    data = result.structured_content
    if data is None and len(text) <= MOST_JSON:
        rows = [_json(part) for part in parts]
        data = rows if len(rows) > 1 and None not in rows else _json(text)
    data = _unwrap(data)
    if isinstance(data, str) and len(data) <= MOST_JSON:
        data = _unwrap(_json(data))
    kept = replace_surrogates(text[: most + 1])[:most]
    return Returned(kept, replace_value_surrogates(data), bool(result.is_error), len(text))


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
    """What stands in the object that a server puts around a list or a text."""
    if isinstance(data, dict):
        for name in WRAPPED:
            inside = data.get(name)
            if isinstance(inside, list) or (len(data) == 1 and isinstance(inside, str | dict)):
                return _unwrap(inside)
    return data
