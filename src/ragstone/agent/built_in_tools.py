"""Which tools every agent has, besides the search and those of an MCP server."""

from ragstone.agent.built_in import BuiltInTool
from ragstone.agent.calculator import Calculator
from ragstone.agent.section_tool import ReadSection
from ragstone.agent.table_tool import TablesTool

BUILT_IN: tuple[BuiltInTool, ...] = (ReadSection(), TablesTool(), Calculator())
"""In the order in which the chat model is offered them."""
