"""The port to tools that other servers have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ragstone.tool import Tool


@dataclass(frozen=True, slots=True)
class Returned:
    """What a tool returned: its text, and its data where it sent any. `failed` says that the tool
    itself reported an error, which the text is about."""

    text: str
    data: Any = None
    failed: bool = False


class Toolbox(Protocol):
    """The tools of one gateway, each organisation's own."""

    async def tools(self, organisation: str) -> Sequence[Tool]:
        """What there is now; raises ToolsUnavailable."""
        ...

    async def call(self, organisation: str, name: str, arguments: Mapping[str, Any]) -> Returned:
        """Call a tool; raises ToolsUnavailable."""
        ...

    async def aclose(self) -> None: ...
