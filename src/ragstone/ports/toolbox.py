"""The port to tools that other servers have."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from ragstone.core.tool import Tool


@dataclass(frozen=True, slots=True)
class Returned:
    """What a tool returned: its text, and its data where it sent any as JSON. `failed` says that
    the tool reported an error, which the text is about; `length` is how many characters the text
    had before it was cut."""

    text: str
    data: Any = None
    failed: bool = False
    length: int = 0


RESULT_CHARS = 8000
"""Characters of one result of a tool that are read."""


class ToolSession(Protocol):
    """One connection to the tools."""

    @property
    def tools(self) -> Sequence[Tool]: ...

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Returned:
        """Call one of the tools; raises ToolsUnavailable."""
        ...


class Toolbox(Protocol):
    """The tools of a gateway, of which each organisation has its own."""

    def session(self, organisation: str) -> AbstractAsyncContextManager[ToolSession]:
        """Connect; entering raises ToolsUnavailable."""
        ...
