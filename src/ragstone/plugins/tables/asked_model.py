"""What the chat model makes of a question about tables: a query, and one for the rows it uses."""

from collections.abc import Sequence
from dataclasses import dataclass

from ragstone.core.answer import Usage
from ragstone.core.turn import Turn
from ragstone.engine.stage import prompt
from ragstone.language.code_blocks import fence_text
from ragstone.language.json_answer import json_answer
from ragstone.plugins.tables.queries import QueriedTable
from ragstone.ports import Adapters, Completer
from ragstone.retrieve.typed_table import TypedTable

REPLY_TOKENS = 500
EXAMPLES = 3
"""Values of each column that the model sees."""

MAX_QUERY_CHARS = 2_000
"""Characters of a query."""

EXAMPLE_CHARS = 60


@dataclass(frozen=True, slots=True)
class ModelQuery:
    """The table that the model chose, its query, and the one that gives the numbers of the rows
    from which that is computed."""

    table: TypedTable
    sql: str
    rows_sql: str


Shown = Sequence[tuple[TypedTable, QueriedTable]]


async def ask_model(
    turn: Turn, adapters: Adapters, model: Completer, tables: Shown
) -> tuple[ModelQuery | None, Usage]:
    """The query of the chat model, None where it gives none; raises ModelUnavailable, Busy."""
    rules = await prompt(turn, adapters, "table_query")
    shown = "\n\n".join(describe_table(table, queried) for table, queried in tables)
    asked = f"{fence_text('tables', shown)}\n{fence_text('question', turn.question)}"
    said = await model.complete(rules, asked, REPLY_TOKENS)
    reply = json_answer(said.text)
    if not isinstance(reply, dict):
        return None, said.usage
    sql, rows = reply.get("sql"), reply.get("rows")
    table = next((item for item, _ in tables if item.name == reply.get("table")), None)
    if table is None or not (isinstance(sql, str) and isinstance(rows, str)):
        return None, said.usage
    if not (sql.strip() and rows.strip()) or max(len(sql), len(rows)) > MAX_QUERY_CHARS:
        return None, said.usage
    return ModelQuery(table, sql.strip(), rows.strip()), said.usage


def describe_table(table: TypedTable, queried: QueriedTable) -> str:
    """A table for who writes a query: its name, its columns with their types and a few values."""
    lines = [f'table "{table.name}": {table.title}, {len(table.rows)} rows']
    for place, (name, kind) in enumerate(zip(queried.columns, queried.types, strict=True)):
        seen = list(
            dict.fromkeys(str(row[place]) for row in queried.rows if row[place] is not None)
        )
        examples = ", ".join(item[:EXAMPLE_CHARS] for item in seen[:EXAMPLES])
        lines.append(f'  "{name}" {kind}: {examples}')
    return "\n".join(lines)
