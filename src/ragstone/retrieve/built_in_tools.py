"""The tools that every agent has, besides the search and those of an MCP server.

Each is an object of `BuiltInTool`. Plugins and other packages add theirs by the entry points
`ragstone.tools`; they are offered, limited, traced, cited and checked like the others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ragstone.core.answer import Usage
from ragstone.core.chunk import Chunk
from ragstone.core.errors import InputError
from ragstone.core.tool import Tool
from ragstone.core.turn import Hit, Turn
from ragstone.ports import Adapters
from ragstone.retrieve.local_search import LocalSearch


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool may use: the question with who asks it, the adapters, a search of the documents
    with the asker's permissions, the chunks found so far, and the longest text of a result."""

    turn: Turn
    adapters: Adapters
    search: LocalSearch
    seen: Sequence[Chunk]
    most_chars: int


@dataclass(frozen=True, slots=True)
class ToolFinding:
    """What a tool found: `text` is what the model reads, `said` what the trace says.

    Sources of the answer are `hits`, which are passages of documents, and `output`, a text of the
    tool's own, if it is not empty.
    """

    text: str
    said: str
    hits: tuple[Hit, ...] = ()
    output: str = ""
    usage: Usage = Usage()


class BuiltInTool(Protocol):
    """A tool that only reads. `of_documents` says that it reads the collection, which is not
    offered where the search is a gateway's."""

    @property
    def tool(self) -> Tool: ...

    @property
    def of_documents(self) -> bool: ...

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolFinding:
        """Return what a call finds. Raises InputError for arguments that do not fit, which the
        model is told, and what a search fails with."""
        ...


def text_argument(arguments: Mapping[str, Any], name: str, default: str | None = None) -> str:
    """Return an argument that is a text; raises InputError for anything else, and for none where
    there is no default."""
    value = arguments.get(name, default)
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or (default is None and not value.strip()):
        raise InputError(f"The argument {name} must be a text.")
    return value.strip()
