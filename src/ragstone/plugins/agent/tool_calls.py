"""Which tools an agent may call, and what its calls return.

Arithmetic as a tool.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ragstone.core.errors import InputError, ToolsUnavailable
from ragstone.core.events import AgentState
from ragstone.core.tool import Tool, ToolCall
from ragstone.core.turn import Hit, Turn
from ragstone.language.arithmetic import FUNCTIONS, calculate
from ragstone.plugins.agent import search_tools
from ragstone.plugins.agent.call_reports import CallReports
from ragstone.plugins.agent.gathered import Gathered
from ragstone.plugins.agent.section_tool import ReadSection
from ragstone.ports import Adapters, ToolSession
from ragstone.registry import Registry
from ragstone.retrieve.built_in_tools import BuiltInTool, ToolContext, ToolFinding, text_argument
from ragstone.retrieve.local_search import LocalSearch


@dataclass(frozen=True)
class Calculator:
    """Arithmetic with exact decimals."""

    tool: Tool = Tool(
        "calculator",
        f"Computes a number exactly: + - * / // % ** and {', '.join(FUNCTIONS)}.",
        {
            "type": "object",
            "properties": {"expression": {"type": "string", "description": "Like (3 + 4) * 2."}},
            "required": ["expression"],
        },
        changes=False,
    )
    of_documents: bool = False

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolFinding:
        expression = text_argument(arguments, "expression")
        found = calculate(expression)
        equals = "=" if found.exact else "is about"
        said = f"{' '.join(expression.split())} {equals} {found.text}"
        return ToolFinding(said, said, output=said)


LOCAL_SEARCH = "local_search"
QUERY_CHARS = 2000
SHOWN = 10
"""Passages of one search that the model is shown."""

TOOLS: Registry[BuiltInTool] = Registry("ragstone.tools", "tool", {}, makes=BuiltInTool)
"""Tools that plugins and other packages add, by their name, made without arguments."""


def built_in_tools() -> tuple[BuiltInTool, ...]:
    """Return the tools that every agent has besides the search and those of an MCP server, in the
    order in which the chat model is offered them."""
    added = TOOLS.make_usable(TOOLS, "Agents go on without it.")
    return (ReadSection(), *added.values(), Calculator())


@dataclass(frozen=True, slots=True)
class CallResult:
    """What the model reads of a call, and what the trace says; `repeated` where it was made
    before."""

    text: str
    said: str
    state: AgentState = "done"
    repeated: bool = False


class ToolCalls:
    """Answers the calls of one question; what they find goes to `gathered`.

    The model is offered one way to search. It is the gateway's, whose collection and filter the
    request decides; it is ours where there is no gateway, where the gateway's fails, and where it
    cannot be told the request's filter, as it would show what that hides. Tools that read documents
    go with ours.

    A tool that may change anything is called when who asked approves it. Such is every tool of a
    server that does not say that it only reads, but for a search, which has to say that it changes
    something.
    """

    def __init__(
        self,
        turn: Turn,
        adapters: Adapters,
        session: ToolSession | None,
        search: LocalSearch,
        reports: CallReports,
        most_chars: int,
        seconds: float,
    ) -> None:
        self.gathered = Gathered(turn)
        self.reports = reports
        self._turn = turn
        self._adapters = adapters
        self._session = session
        self._search = search
        self._most_chars = most_chars
        self._seconds = seconds
        self._injected = search_tools.parameters(turn.ask, turn.plan)
        self._ours = {item.tool.name: item for item in built_in_tools()}
        taken = (LOCAL_SEARCH, *self._ours)
        tools = session.tools if session else ()
        self._theirs = {tool.name: tool for tool in tools if tool.name not in taken}
        self._seen: set[tuple[str, str]] = set()

    def offerable_tools(self) -> tuple[Tool, ...]:
        """Return the tools that the model may call."""
        searches = [tool for tool in self._theirs.values() if search_tools.is_search(tool)]
        others = [tool for tool in self._theirs.values() if tool not in searches]
        if searches and self._injected is not None:
            found = [item.tool for item in self._ours.values() if not item.of_documents]
            return (*map(search_tools.tool_for_model, searches), *found, *others)
        return (_local_search(), *(item.tool for item in self._ours.values()), *others)

    async def result(self, call: ToolCall) -> CallResult:
        """What the call returned; raises ToolsUnavailable, and what a search here failed with."""
        arguments = _arguments(call)
        if arguments is None:
            wrong = "The arguments are no JSON object. Call it again."
            return CallResult(wrong, "its arguments are no JSON object", "failed")
        key = (call.name, json.dumps(arguments, sort_keys=True))
        if key in self._seen:
            again = "This was called before, with the same arguments."
            return CallResult(again, "called before", "failed", repeated=True)
        self._seen.add(key)
        offered = {tool.name for tool in self.offerable_tools()}
        if call.name not in offered and call.name != LOCAL_SEARCH:
            names = ", ".join(sorted(offered))
            unknown = f"There is no such tool. There are: {names}."
            return CallResult(unknown, "there is no such tool", "failed")
        if ours := self._ours.get(call.name):
            if why := await self._objection(ours.tool, call):
                return _decline(why)
            return await self._call_ours(ours, arguments)
        tool = self._theirs.get(call.name)
        if tool is None or self._session is None:
            return await self.search_here(_query(arguments, self._turn.question))
        if search_tools.is_search(tool):
            return await self._search_there(self._session, tool, arguments)
        if why := await self._objection(tool, call):
            return _decline(why)
        return await self._call_tool(self._session, call, arguments)

    async def _objection(self, tool: Tool, call: ToolCall) -> str:
        """Why a call may not be made, empty where it may: who asked approves what may change."""
        return await self.reports.objection(call) if tool.changes is not False else ""

    async def search_here(self, query: str = "") -> CallResult:
        """Search the documents for `query`, or else for the question as it was understood."""
        found = await self._search(self._turn, query)
        self.gathered.add_search(found)
        asked = query or self._turn.question
        return CallResult(_passage_text(found.hits), f"{asked!r}: {len(found.hits)} passages")

    async def _call_ours(self, tool: BuiltInTool, arguments: dict[str, Any]) -> CallResult:
        """Call a tool of our own, within its time."""
        name = tool.tool.name
        context = ToolContext(
            self._turn, self._adapters, self._search, self.gathered.chunks, self._most_chars
        )
        try:
            async with asyncio.timeout(self._seconds):
                found = await tool.call(arguments, context)
        except InputError as error:
            return CallResult(error.message, error.message, "failed")
        except TimeoutError as error:
            raise ToolsUnavailable(f"{name} took more than {self._seconds:g} s.") from error
        self.gathered.usage += found.usage
        if found.hits:
            self.gathered.add_hits(found.hits)
        if found.output:
            self.gathered.output(ToolCall("", name), found.output)
        return CallResult(found.text, found.said)

    async def _search_there(
        self, session: ToolSession, tool: Tool, arguments: dict[str, Any]
    ) -> CallResult:
        """Search by the gateway's tool, and here where that fails."""
        query = _query(arguments, self._turn.question)
        if self._injected is None:
            return await self.search_here(query)
        told = search_tools.inject_arguments(tool, {**arguments, "query": query}, self._injected)
        try:
            returned = await session.call(tool.name, told)
            why = "the gateway's search reports an error" if returned.failed else ""
        except ToolsUnavailable as error:
            why = str(error)
        if why:
            found = await self.search_here(query)
            return replace(found, said=f"local search, {found.said}, as {why}")
        hits = self._hits(returned.data)
        if not hits and returned.text.strip() and returned.data not in search_tools.EMPTY:
            text = returned.text[: self._most_chars]
            self.gathered.output(ToolCall("", tool.name), text, searches=True)
            return CallResult(text, f"{query!r}: {self._length(text, returned.length)}")
        self.gathered.add_hits(hits)
        return CallResult(_passage_text(hits), f"{query!r}: {len(hits)} passages")

    async def _call_tool(
        self, session: ToolSession, call: ToolCall, arguments: dict[str, Any]
    ) -> CallResult:
        returned = await session.call(call.name, arguments)
        text = returned.text[: self._most_chars]
        if returned.failed:
            said = f"The tool reports an error: {text}"
            return CallResult(said, "the tool reports an error", "failed")
        hits = self._hits(returned.data)
        if hits:
            self.gathered.add_hits(hits)
            return CallResult(_passage_text(hits), f"{len(hits)} passages")
        length = self._length(text, returned.length)
        if text.strip():
            self.gathered.output(call, text)
        if returned.length > len(text):
            text = f"{text}\n({length}.)"
        return CallResult(text or "It returned nothing.", length)

    def _length(self, text: str, whole: int) -> str:
        """Tell how long a result is, and how much of it was read."""
        if whole > len(text):
            return f"{whole:,} characters, of which the first {len(text):,} were read"
        return f"{len(text):,} characters"

    def _hits(self, data: Any) -> tuple[Hit, ...]:
        return search_tools.read_hits(data, self._turn.ask, self._turn.plan, self._most_chars)


def _local_search() -> Tool:
    query = {"type": "string", "description": "What to look for, in a few words."}
    return Tool(
        LOCAL_SEARCH,
        "Searches the documents of this conversation.",
        {"type": "object", "properties": {"query": query}, "required": ["query"]},
        changes=False,
    )


def _arguments(call: ToolCall) -> dict[str, Any] | None:
    """Return the arguments as an object; None if they are none."""
    try:
        found = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _query(arguments: dict[str, Any], question: str) -> str:
    """Return what the model wants to search, or else the question."""
    query = arguments.get("query")
    words = " ".join(query.split()) if isinstance(query, str) else ""
    return words[:QUERY_CHARS] or question


def _passage_text(hits: Sequence[Hit]) -> str:
    return "\n\n".join(_passage(hit) for hit in hits[:SHOWN]) or "Nothing was found."


def _passage(hit: Hit) -> str:
    """Return a passage with its place, by which the model can read on."""
    chunk = hit.chunk
    page = f", page {chunk.page}" if chunk.page else ""
    return f"{chunk.path}{page}: {chunk.heading}\n{chunk.text}"


def _decline(why: str) -> CallResult:
    no = f"The call was not made: {why}. Do without it, and do not say that it was made."
    return CallResult(no, f"declined: {why}", "declined")
