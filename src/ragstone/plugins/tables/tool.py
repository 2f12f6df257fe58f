"""The tool that computes over tables of the documents: by a question in words, or by SQL."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ragstone.core.answer import GeneratedAnswer
from ragstone.core.chunk import Chunk
from ragstone.core.errors import InputError
from ragstone.core.tool import Tool
from ragstone.core.turn import Hit, Passage, Turn
from ragstone.engine.stage import nowhere
from ragstone.language.markers import sentences_with_citations
from ragstone.plugins.tables.ask_tables import LOOKED_AT, Tables, has_table, readable_tables
from ragstone.plugins.tables.asked_model import MAX_QUERY_CHARS, describe_table
from ragstone.plugins.tables.computation import number_rows
from ragstone.plugins.tables.queries import QueriedTable, QueryResult
from ragstone.plugins.tables.sandbox import own_sandbox
from ragstone.retrieve.built_in_tools import ToolContext, ToolFinding, text_argument
from ragstone.retrieve.typed_table import TypedTable

DOCUMENTS, CHUNKS = 5, 3_000
"""Documents whose tables are read, and chunks that one may have."""

MAX_TABLES = 10
"""Tables that a query sees."""

SHOWN = 50
"""Rows of a result that the model reads."""

CELL_CHARS = 200

NO_SQL = "SQL over tables needs DuckDB, which is not installed. Ask in words, without sql."


@dataclass(frozen=True)
class TablesTool:
    """Computes over the tables of documents that the asker may read."""

    tool: Tool = Tool(
        "tables",
        "Counts, adds up, compares or filters rows of the documents' tables. Without sql the "
        "question is computed by itself, or the tables are described; sql is one SELECT in "
        "DuckDB's dialect over tables that were described.",
        {
            "type": "object",
            "properties": {
                "question": {"type": "string", "description": "What is to be computed."},
                "sql": {"type": "string", "description": "A query over the described tables."},
            },
            "required": ["question"],
        },
        changes=False,
    )
    of_documents: bool = True

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolFinding:
        question, sql = text_argument(arguments, "question"), text_argument(arguments, "sql", "")
        if len(sql) > MAX_QUERY_CHARS:
            raise InputError(f"A query has at most {MAX_QUERY_CHARS:,} characters.")
        if sql and own_sandbox(context.adapters) is None:
            raise InputError(NO_SQL)
        found = await context.search(context.turn, question)
        if not any(has_table(hit.chunk) for hit in found.hits):
            return ToolFinding("No table was found.", "no table was found", usage=found.usage)
        return await (_by_query(sql, found, context) if sql else _in_words(found, context))


async def _in_words(found: Turn, context: ToolContext) -> ToolFinding:
    """Return what the question comes to, or else which tables there are."""
    best = found.hits[:LOOKED_AT]
    passages = tuple(Passage(n, hit.chunk.text, hit) for n, hit in enumerate(best, 1))
    asked = replace(
        found, ask=replace(found.ask, tools=(), steps=()), passages=passages, answer=None
    )
    step = await Tables(holds=True).run(asked, context.adapters, nowhere)
    answer = step.turn.answer or GeneratedAnswer()
    if answer.computed is None:
        tables = await _tables(found, context)
        shown = "\n\n".join(describe_table(item, as_queried) for item, as_queried, _ in tables)
        why = step.reason or "nothing can be computed"
        text = f"Nothing was computed: {why}. The tables:\n\n{shown or 'none that can be read.'}"
        return ToolFinding(
            text[: context.most_chars], f"nothing computed: {why}", usage=step.turn.usage
        )
    computed = answer.computed
    numbers = {number for _, cited in sentences_with_citations(answer.text) for number in cited}
    hits = tuple(passage.hit for passage in step.turn.passages if passage.number in numbers)
    checked = ", computed twice with the same result" if computed.recomputed else ""
    rows = f"{computed.used} rows of {computed.table}"
    output = f"{computed.sentence}\nComputed from {rows}{checked}: {computed.sql}"
    return ToolFinding(
        output[: context.most_chars],
        f"{computed.used} rows: {computed.sql}",
        hits,
        output[: context.most_chars],
        step.turn.usage,
    )


async def _by_query(sql: str, found: Turn, context: ToolContext) -> ToolFinding:
    """Return what a query of the chat model returns; raises QueryRefused."""
    tables = await _tables(found, context)
    runner = own_sandbox(context.adapters)
    if not tables or runner is None:
        return ToolFinding(
            "No table can be read as rows and columns.", "no readable table", usage=found.usage
        )
    [result] = await runner.run([as_queried for _, as_queried, _ in tables], [sql])
    used = [item for item in tables if item[1].name.casefold() in sql.casefold()]
    titles = ", ".join(dict.fromkeys(table.title for table, _, _ in used or tables))
    shown = _format_rows(result)
    output = f"Computed from {titles} by {sql}:\n{shown}"[: context.most_chars]
    hits = tuple(
        Hit(chunk.with_collection(found.collection.name if found.collection else ""), 1.0)
        for _, _, chunks in used[:1]
        for chunk in chunks
        if has_table(chunk)
    )
    return ToolFinding(output, f"{len(result.rows)} rows: {sql}", hits[:2], output, found.usage)


async def _tables(
    found: Turn, context: ToolContext
) -> list[tuple[TypedTable, QueriedTable, Sequence[Chunk]]]:
    """The tables of the best hits with the names by which queries call them, each another one."""
    tables, _ = await readable_tables(found, context.adapters, DOCUMENTS, CHUNKS)
    names = Counter[str]()
    made: list[tuple[TypedTable, QueriedTable, Sequence[Chunk]]] = []
    for table, chunks in tables[:MAX_TABLES]:
        names[table.name] += 1
        count = names[table.name]
        named = replace(table, name=f"{table.name}_of_{count}") if count > 1 else table
        made.append((named, number_rows(named), chunks))
    return made


def _format_rows(result: QueryResult) -> str:
    """Return the first rows, a line each."""
    lines = ["; ".join(result.columns)]
    lines += ["; ".join((cell or "")[:CELL_CHARS] for cell in row) for row in result.rows[:SHOWN]]
    more = result.more or len(result.rows) > SHOWN
    return "\n".join([*lines, *(["(There are further rows.)"] if more else [])])
