"""Arithmetic as a tool."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragstone.core.tool import Tool
from ragstone.language.arithmetic import FUNCTIONS, calculate
from ragstone.retrieve.built_in_tools import ToolContext, ToolFinding, text_argument


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
