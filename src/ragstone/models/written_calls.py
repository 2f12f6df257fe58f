"""Calls of tools that a small model writes as its reply's text, instead of making them."""

import json
import uuid
from collections.abc import Iterator
from typing import Any

from ragstone.core.tool import ToolCall

MAX_CHARS = 20_000
"""A longer reply is text, whatever it begins with."""

_STARTS = ("{", "[", "```", "<tool_call>")
_WRAPPING = ("```json", "```", "<tool_call>", "</tool_call>")


class WrittenCalls:
    """Holds back a reply that may be nothing but calls of `tools` in JSON."""

    def __init__(self, tools: frozenset[str]) -> None:
        self._tools = tools
        self._held = ""
        self._is_text = not tools

    def feed(self, text: str) -> str:
        """What is text for the reader, now that `text` has come."""
        if self._is_text:
            return text
        self._held += text
        begun = self._held.lstrip()
        if len(self._held) < MAX_CHARS and any(
            begun.startswith(start) or start.startswith(begun) for start in _STARTS
        ):
            return ""
        self._is_text = True
        return self._take()

    def end(self) -> tuple[str, tuple[ToolCall, ...]]:
        """The rest of the text, or the calls that the reply consists of."""
        calls = () if self._is_text else tuple(_calls(self._held, self._tools))
        return ("" if calls else self._take()), calls

    def _take(self) -> str:
        text, self._held = self._held, ""
        return text


def _calls(reply: str, tools: frozenset[str]) -> Iterator[ToolCall]:
    """The calls that a reply consists of; none if anything else stands in it."""
    names = [*tools]  # What a model writes may have no hash, and so be in no set.
    for mark in _WRAPPING:
        reply = reply.replace(mark, " ")
    written, decoder, end = list[Any](), json.JSONDecoder(), 0
    try:
        while end < len(reply.rstrip()):
            start = len(reply) - len(reply[end:].lstrip())
            value, end = decoder.raw_decode(reply, start)
            written += value if isinstance(value, list) else [value]
    except (ValueError, RecursionError):
        return
    if all(isinstance(item, dict) and item.get("name") in names for item in written):
        for item in written:
            arguments = item.get("arguments", item.get("parameters", {}))
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            yield ToolCall(f"call-{uuid.uuid4().hex}", item["name"], text)
