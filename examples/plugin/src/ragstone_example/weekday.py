"""A tool for the agent: the day of the week of a date."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from ragstone.core.errors import InputError
from ragstone.core.tool import Tool
from ragstone.retrieve.built_in_tools import ToolContext, ToolFinding, text_argument


@dataclass(frozen=True)
class Weekday:
    """Tells the day of the week of a date."""

    tool: Tool = Tool(
        "weekday",
        "The day of the week of a date.",
        {
            "type": "object",
            "properties": {"date": {"type": "string", "description": "As 2026-01-31."}},
            "required": ["date"],
        },
        changes=False,
    )
    of_documents: bool = False

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolFinding:
        text = text_argument(arguments, "date")
        try:
            day = date.fromisoformat(text)
        except ValueError as error:
            raise InputError(f"Not a date: {text[:40]!r}. Write it as 2026-01-31.") from error
        found = f"{day} is a {day:%A}."
        return ToolFinding(found, found, output=found)
