"""Which tools an agent may call, and what its calls return."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ragstone.agent import search_tools
from ragstone.agent.gathered import Gathered
from ragstone.core.errors import ToolsUnavailable
from ragstone.core.foreign_passages import from_kdb
from ragstone.core.tool import Tool, ToolCall
from ragstone.core.turn import Hit, Turn
from ragstone.ports import ToolSession
from ragstone.retrieve.local_search import LocalSearch

LOCAL_SEARCH = "local_search"
QUERY_CHARS = 2000
EMPTY: tuple[Any, ...] = ([], {}, "")
"""The data of a search that found nothing; of a text there is none."""

SHOWN = 10
"""Passages of one search that the model is shown."""

Result = tuple[str, str]
"""What the model reads, and what the trace says."""


class ToolCalls:
    """Answers the calls of one question; what they find goes to `gathered`.

    The model is offered one way to search. It is the gateway's, whose collection and filter the
    request decides; it is ours where there is no gateway, where the gateway's fails, and where it
    cannot be told the request's filter, as it would show what that hides.
    """

    def __init__(
        self, turn: Turn, session: ToolSession | None, search: LocalSearch, most_chars: int
    ) -> None:
        self.gathered = Gathered(turn)
        self._turn = turn
        self._session = session
        self._search = search
        self._most_chars = most_chars
        self._injected = search_tools.parameters(turn.ask, turn.plan)
        self._theirs = {tool.name: tool for tool in session.tools} if session else {}
        self._seen: set[tuple[str, str]] = set()

    def offered(self) -> tuple[Tool, ...]:
        """The tools that the model may call."""
        searches = [tool for tool in self._theirs.values() if search_tools.searches(tool)]
        others = [tool for tool in self._theirs.values() if tool not in searches]
        if searches and self._injected is not None:
            return (*map(search_tools.offered, searches), *others)
        return (_local_search(), *(tool for tool in others if tool.name != LOCAL_SEARCH))

    async def result(self, call: ToolCall) -> Result:
        """What the call returned; raises ToolsUnavailable, and what a search here failed with."""
        arguments = _arguments(call)
        if arguments is None:
            return "The arguments are no JSON object. Call it again.", "no JSON"
        key = (call.name, json.dumps(arguments, sort_keys=True))
        if key in self._seen:
            return "This was called before, with the same arguments.", "called before"
        self._seen.add(key)
        tool = self._theirs.get(call.name)
        if tool is None or self._session is None:
            return await self.search_here(_query(arguments, self._turn.question))
        if search_tools.searches(tool):
            return await self._search_there(self._session, tool, arguments)
        return await self._call_tool(self._session, call, arguments)

    async def search_here(self, query: str = "") -> Result:
        """Search the documents for `query`, or else for the question as it was understood."""
        found = await self._search(self._turn, query)
        self.gathered.searched_here(found)
        asked = query or self._turn.question
        return _passage_text(found.hits), f"{asked!r}: {len(found.hits)} passages"

    async def _search_there(
        self, session: ToolSession, tool: Tool, arguments: dict[str, Any]
    ) -> Result:
        """Search by the gateway's tool, and here where that fails."""
        query = _query(arguments, self._turn.question)
        if self._injected is None:
            return await self.search_here(query)
        told = search_tools.injected(tool, {**arguments, "query": query}, self._injected)
        try:
            returned = await session.call(tool.name, told)
            why = "the gateway's search reports an error" if returned.failed else ""
        except ToolsUnavailable as error:
            why = str(error)
        if why:
            text, said = await self.search_here(query)
            return text, f"local search, {said}, as {why}"
        hits = self._hits(returned.data)
        if not hits and returned.text.strip() and returned.data not in EMPTY:
            text = returned.text[: self._most_chars]
            self.gathered.output(ToolCall("", tool.name), text, searches=True)
            return text, f"{query!r}: {len(text)} characters"
        self.gathered.searched(hits)
        return _passage_text(hits), f"{query!r}: {len(hits)} passages"

    async def _call_tool(
        self, session: ToolSession, call: ToolCall, arguments: dict[str, Any]
    ) -> Result:
        returned = await session.call(call.name, arguments)
        text = returned.text[: self._most_chars]
        if returned.failed:
            return f"The tool reports an error: {text}", "the tool reports an error"
        hits = self._hits(returned.data)
        if hits:
            self.gathered.searched(hits)
            return _passage_text(hits), f"{len(hits)} passages"
        if text.strip():
            self.gathered.output(call, text)
        return text or "It returned nothing.", f"{len(text)} characters"

    def _hits(self, data: Any) -> tuple[Hit, ...]:
        """The passages in what a tool returned, if that is a result of the knowledge base, or a
        list of them."""
        data = [data] if isinstance(data, dict) else data
        if not isinstance(data, list):
            return ()
        most = self._turn.ask.top_k or self._turn.plan.top_k
        try:
            hits = [from_kdb(row, self._turn.ask, i) for i, row in enumerate(data[:most])]
        except (KeyError, TypeError, ValueError, AttributeError):
            return ()
        return tuple(_cut(hit, self._most_chars) for hit in hits)


def _local_search() -> Tool:
    query = {"type": "string", "description": "What to look for, in a few words."}
    return Tool(
        LOCAL_SEARCH,
        "Searches the documents of this conversation.",
        {"type": "object", "properties": {"query": query}, "required": ["query"]},
    )


def _arguments(call: ToolCall) -> dict[str, Any] | None:
    """The arguments as an object; None if they are none."""
    try:
        found = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _query(arguments: dict[str, Any], question: str) -> str:
    """What the model wants to search, or else the question."""
    query = arguments.get("query")
    words = " ".join(query.split()) if isinstance(query, str) else ""
    return words[:QUERY_CHARS] or question


def _cut(hit: Hit, most: int) -> Hit:
    chunk = hit.chunk
    if len(chunk.text) <= most:
        return hit
    return replace(hit, chunk=replace(chunk, text=chunk.text[:most], end=chunk.start + most))


def _passage_text(hits: Sequence[Hit]) -> str:
    passages = (f"{hit.chunk.heading or hit.chunk.path}\n{hit.chunk.text}" for hit in hits[:SHOWN])
    return "\n\n".join(passages) or "Nothing was found."
