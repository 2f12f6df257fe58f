"""Answers questions that count, add up, compare or filter rows from the whole table, and those that
ask what some of its cells come to."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import ClassVar, Literal

from pydantic import Field

from ragstone.answer.stream import AnswerStream
from ragstone.core.answer import Computed, GeneratedAnswer, Usage
from ragstone.core.chunk import Chunk
from ragstone.core.errors import Busy, InputError, ModelUnavailable, QueryRefused
from ragstone.core.events import Note, Sources, Token
from ragstone.core.filters import CURRENT_TEXT, And, Filter, eq
from ragstone.core.records import Collection
from ragstone.core.turn import Hit, Passage, Turn
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.language.arithmetic import calculate
from ragstone.language.language import detect
from ragstone.language.markers import MAX_NUMBER, neutralize_markers
from ragstone.plugins.tables.asked_model import ModelQuery, ask_model
from ragstone.plugins.tables.cell_choice import asks_of_cells, choose_candidate
from ragstone.plugins.tables.cells import read_cells
from ragstone.plugins.tables.computation import (
    ComputedRows,
    agrees,
    build_sql,
    compute,
    is_equal,
    number_rows,
)
from ragstone.plugins.tables.intervals import has_ranges
from ragstone.plugins.tables.plain_queries import PlainQueries
from ragstone.plugins.tables.queries import QueryResult, TableQueries
from ragstone.plugins.tables.question_text import read_question_text
from ragstone.plugins.tables.reading_choice import MIN_ASKED, choose_reading, weigh_rows
from ragstone.plugins.tables.sandbox import own_sandbox
from ragstone.plugins.tables.saying import SHOWN, describe_computation, record, sentence
from ragstone.plugins.tables.table_question import TableQuestion
from ragstone.ports import Adapters
from ragstone.recipes.stages import AddedStage, RecipeKey
from ragstone.retrieve.searching import visible
from ragstone.retrieve.typed_table import Record, TypedRow, TypedTable, read_records, read_tables

BY_ROWS, BY_CELLS, BY_MODEL = "tables", "tables, by their cells", "tables, by the chat model"
"""Who answers."""

RECORD_FILES = (".csv", ".tsv")
"""Files of records, in which only a query over the columns means something."""

LESS_SURE = 0.6
"""How likely an answer is what was asked where the chat model wrote the query."""

LONGEST_ROW = 600
"""Characters of a row that is shown whole."""

LOOKED_AT = 10
"""The best passages whose documents are looked at."""


@dataclass(frozen=True, slots=True)
class _ReadDocument:
    """A document as it was read: its chunks in order, and why it is left out if it is."""

    chunks: Sequence[Chunk] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class _Reply:
    """An answer: its first sentence, the rows that it shows, and what it was computed from."""

    sentence: str
    rows: Sequence[tuple[TypedRow | Record, str]]
    computed: Computed
    by: str
    sure: float


@dataclass(frozen=True, slots=True)
class _Attempt:
    """An answer, or why there is none; whether surely something has to be computed."""

    reply: _Reply | None = None
    why: str = ""
    computes: bool = False
    usage: Usage = Usage()


class Tables(Stage):
    """Looks for tables in the documents of the best passages, reads them whole, and answers where
    the question is one that a query over a table answers.

    Learned weights choose what is asked of the rows, among everything that may be; the answer is
    given where they are sure of it, and the query and a second computation agree. Where they are
    not, others may find the cells that the question means and what to compute of them, or a chat
    model may write the query. Queries run in a sandbox. Otherwise nothing is said, and the question
    is answered like any other.
    """

    name: ClassVar[str] = "tables"
    needs: ClassVar[frozenset[str]] = frozenset({"question", "passages", "hits"})
    gives: ClassVar[frozenset[str]] = frozenset({"passages"})
    fails: ClassVar[Literal["open", "closed"]] = "open"

    timeout: float = Field(30.0, gt=0, description="Seconds that the stage may take.")
    holds: bool = Field(False, description="Whether the text waits until it is checked.")
    asks_model: bool = Field(
        True, description="Whether the chat model may write a query where nothing else is sure."
    )
    documents: int = Field(5, ge=1, le=20, description="Documents whose tables are read.")
    chunks: int = Field(
        3_000, ge=1, description="Chunks that a document may have; larger ones are left alone."
    )

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        if why := _skip_reason(turn):
            return Step(turn, "skipped", why)
        likely = await weigh_rows(turn.question, adapters.embedders.multilingual())
        of_rows, of_cells = likely >= MIN_ASKED, asks_of_cells(turn.question)
        has_number = bool(read_question_text(turn.question).numbers)
        if not of_rows and not of_cells and not has_number:
            return Step(turn, "skipped", "nothing is counted, added up, compared or filtered")
        documents = await _read_documents(turn, adapters, self.documents, self.chunks)
        left_out = "; ".join(document.why for document in documents if document.why)
        if not any(document.chunks for document in documents):
            return Step(turn, "skipped", left_out)
        tables = list[TypedTable]()
        # Other questions are about cells, for which no columns are typed, unless a model may ask.
        if of_rows or has_number or (self.asks_model and adapters.completer):
            tables = [table for table, _ in await _type_tables(documents)]
        # No word of the question finds the row whose range holds its number.
        asked = tables
        if not of_rows:
            asked = await asyncio.to_thread(
                lambda: [table for table in tables if has_number and has_ranges(table)]
            )
        attempt = await _answer(turn, adapters, documents, asked)
        if attempt.reply is None and self.asks_model and (attempt.computes or of_cells):
            attempt = await _by_model(turn, adapters, tables, attempt)
        turn, reply = replace(turn, usage=turn.usage + attempt.usage), attempt.reply
        if reply is None:
            why = "; ".join(filter(None, (attempt.why, left_out)))
            if attempt.computes and not adapters.completer and _is_of_records(turn, tables):
                return await self._refuse(turn, emit, why)
            return Step(turn, "nothing computed", why)
        of = reply.computed.document_id
        chunks = next(
            document.chunks for document in documents
            if document.chunks and document.chunks[0].document_id == of
        )  # fmt: skip
        return await self._write_answer(turn, reply, chunks, emit)

    async def _refuse(self, turn: Turn, emit: Emit, why: str) -> Step:
        """Refuse: what has to be computed over rows, none of them says."""
        refusal = turn.instructions.no_answer
        answer = GeneratedAnswer(refusal, finish="refused", model=BY_ROWS, held=self.holds)
        if not self.holds:
            await emit(Token(refusal))
        return Step(replace(turn, answer=answer), "refused", f"it has to be computed, but {why}")

    async def _write_answer(
        self, turn: Turn, reply: _Reply, chunks: Sequence[Chunk], emit: Emit
    ) -> Step:
        passages = list(turn.passages)
        name = turn.collection.name if turn.collection else ""
        numbers = []
        for row, _ in reply.rows:
            number = _number(row, chunks, passages, name)
            if number is None:
                return Step(turn, "nothing computed", "the rows stand in no chunk")
            numbers.append(number)
        turn = replace(turn, passages=tuple(passages))
        await emit(Sources(turn.passages))
        cited = "".join(f"[{n}]" for n in dict.fromkeys(numbers))
        lines = [f"{reply.sentence} {cited}"]
        lines += [
            f"- {neutralize_markers(text)} [{n}]"
            for (_, text), n in zip(reply.rows, numbers, strict=True)
        ]
        stream = AnswerStream(turn.passages)
        text = stream.feed("\n".join(lines)) + stream.end()
        await emit(Note(self.name, f"Computed with: {reply.computed.sql}"))
        if not self.holds:
            await emit(Token(text))
        answer = GeneratedAnswer(
            text, model=reply.by, confidence=reply.sure, held=self.holds, computed=reply.computed
        )
        turn = replace(turn, answer=answer)
        decision = f"{reply.by}: {reply.computed.used} rows of {reply.computed.table!r}"
        return Step(turn, decision, reply.computed.sql)


async def readable_tables(
    turn: Turn, adapters: Adapters, documents: int, most_chunks: int
) -> tuple[list[tuple[TypedTable, Sequence[Chunk]]], str]:
    """Return the tables of the documents that the best hits are of, of at most so many, each with
    all chunks of its document, and why others are left out.

    Only what the asker may read is read."""
    read = await _read_documents(turn, adapters, documents, most_chunks)
    why = "; ".join(document.why for document in read if document.why)
    return await _type_tables(read), why


async def _type_tables(
    documents: Sequence[_ReadDocument],
) -> list[tuple[TypedTable, Sequence[Chunk]]]:
    """Return the typed tables of documents, each with all chunks of its document."""

    def read() -> list[tuple[TypedTable, Sequence[Chunk]]]:
        return [(table, item.chunks) for item in documents for table in read_tables(item.chunks)]

    return await asyncio.to_thread(read)


async def _read_documents(
    turn: Turn, adapters: Adapters, documents: int, most_chunks: int
) -> list[_ReadDocument]:
    best = [hit.chunk for hit in turn.hits[:LOOKED_AT]]
    # Tables that are nearly equal to a better passage are no passages, but may be meant too.
    seen = (*best, *turn.chunks.values())
    holders = dict.fromkeys(chunk.revision for chunk in seen if has_table(chunk))
    collection = turn.collection
    if collection is None:
        return []
    async with adapters.catalog.snapshot(collection) as hidden:
        readable = And((visible(turn.ask, hidden), CURRENT_TEXT))
        wanted = [And((readable, eq("revision", holder))) for holder in list(holders)[:documents]]
        return await asyncio.gather(
            *(_read_document(adapters, collection, where, most_chunks) for where in wanted)
        )


async def _read_document(
    adapters: Adapters, collection: Collection, where: Filter, most_chunks: int
) -> _ReadDocument:
    count = await adapters.index.count(collection, where)
    if count > most_chunks:
        return _ReadDocument(
            why=f"a document of {count:,} chunks is larger than stages.tables.chunks"
        )
    chunks = [item async for batch in adapters.index.scan(collection, where) for item in batch]
    chunks.sort(key=lambda item: item.chunk_index)
    if len(chunks) != 1 + max((chunk.chunk_index for chunk in chunks), default=-1):
        return _ReadDocument(why="a document is not readable as a whole")
    return _ReadDocument(chunks)


def _is_of_records(turn: Turn, tables: Sequence[TypedTable]) -> bool:
    """Tell whether the best hit is of a table of records: one without rows that sum up others."""
    best = turn.hits[0].chunk
    own = [table for table in tables if table.document_id == best.document_id]
    return has_table(best) and bool(own) and not any(table.totals for table in own)


def _skip_reason(turn: Turn) -> str:
    """Tell why no table is looked at; empty if one is."""
    if turn.answer and turn.answer.text:
        return "it is answered already"
    if turn.ask.tools or turn.subqueries or turn.plan.strategy == "sequential":
        return "the question is not a single one"
    if not any(has_table(hit.chunk) for hit in turn.hits[:LOOKED_AT]):
        return "no table was found"
    return ""


def has_table(chunk: Chunk) -> bool:
    """Tell whether a chunk holds a table, or a part of one."""
    return any(block.kind == "table" for block in chunk.blocks)


async def _answer(
    turn: Turn, adapters: Adapters, documents: Sequence[_ReadDocument], tables: Sequence[TypedTable]
) -> _Attempt:
    """Return what is surely asked of cells, or else of rows of the tables."""
    if reply := await asyncio.to_thread(_by_cells, turn, documents):
        return _Attempt(reply)
    if not tables:
        return _Attempt(why="the tables that were found name no columns")
    try:
        return await _by_rows(turn, adapters, tables)
    except QueryRefused as error:
        return _Attempt(why=f"the query was refused: {error.message}")


async def _by_rows(turn: Turn, adapters: Adapters, tables: Sequence[TypedTable]) -> _Attempt:
    """Return what that which is surely asked of a table's rows comes to."""
    read = await choose_reading(
        turn.question, tables, adapters.embedders.multilingual(), adapters.judge
    )
    choice, computes = read.choice, read.computes
    if choice is None:
        return _Attempt(why="it is not clear what is asked of which rows", computes=computes)
    asked = choice.reading.asked
    if any(item.is_like(asked.table) for item in tables if item is not asked.table):
        return _Attempt(why="the document has several tables of this kind", computes=computes)
    found = await asyncio.to_thread(compute, asked)
    if found is None:
        return _Attempt(why="no rows match", computes=computes)
    if asked.operation == "sum" and not _totals_agree(asked, found):
        return _Attempt(why="the table's own total is another one", computes=computes)
    sql = build_sql(asked)
    [result] = await (own_sandbox(adapters) or PlainQueries()).run(
        [number_rows(asked.table)], [sql]
    )
    if not agrees(asked, found, result.rows) and not result.more:
        return _Attempt(why=f"two computations differ: {sql}", computes=computes)
    language = detect(turn.question)
    said = sentence(asked, found, language)
    rows = [
        (row, record(asked, row.cells) if len(row.text) > LONGEST_ROW else row.text)
        for row in found.rows[:SHOWN]
    ]
    computed = _build_computed(said, sql, asked.table, result, len(found.rows), recomputed=True)
    return _Attempt(_Reply(said, rows, computed, BY_ROWS, choice.likelihood))


def _by_cells(turn: Turn, documents: Sequence[_ReadDocument]) -> _Reply | None:
    """What some cells of a table near the best hits come to, where it is clear which are meant."""
    if not asks_of_cells(turn.question):
        return None
    tables = []
    for document in documents:
        best = [
            (hit.chunk.start, hit.chunk.end)
            for hit in turn.hits[:LOOKED_AT]
            if document.chunks and hit.chunk.revision == document.chunks[0].revision
        ]
        if best and not document.chunks[0].path.casefold().endswith(RECORD_FILES):
            first = document.chunks[0]
            tables += [(first, table) for table in read_records(document.chunks, best)]
    choice = choose_candidate(turn.question, [read_cells(table) for _, table in tables])
    if choice is None:
        return None
    item, (first, table) = choice.candidate, tables[choice.table]
    if item.figure is None or not _recompute(item.expression, item.figure):
        return None
    said = neutralize_markers(describe_computation(item, detect(turn.question)))
    records = [table.records[row] for row in dict.fromkeys(cell.row for cell in item.cells)]
    rows = [(record, record.text) for record in records[:SHOWN]]
    cells = tuple((cell.label, cell.header, cell.text) for cell in item.cells)
    title = next(iter((*table.titles, first.title)), "")
    computed = Computed(
        said, item.expression, title, first.document_id, ("row", "column", "cell"), cells,
        len(records), recomputed=True, places=tuple((c.start, c.end) for c in item.cells),
    )  # fmt: skip
    return _Reply(said, rows, computed, BY_CELLS, choice.likelihood)


def _recompute(expression: str, figure: Decimal) -> bool:
    """Tell whether the calculator gets the same."""
    try:
        return is_equal(figure, calculate(expression).text)
    except InputError:
        # It is longer than what can be read beside an answer.
        return False


def _queries(adapters: Adapters) -> TableQueries:
    sandbox = own_sandbox(adapters)
    if sandbox is None:
        raise QueryRefused("DuckDB is not installed")
    return sandbox


def _totals_agree(asked: TableQuestion, found: ComputedRows) -> bool:
    """Tell whether the row of totals, if there is one, has the sum of all rows."""
    if asked.conditions or asked.group or len(asked.table.totals) != 1:
        return True
    stated = asked.table.totals[0].values[asked.table.place(asked.measure)]
    return stated is None or stated == found.figure


async def _by_model(
    turn: Turn, adapters: Adapters, tables: Sequence[TypedTable], before: _Attempt
) -> _Attempt:
    """Return the answer that a query of the chat model gives."""
    model = adapters.completer
    if model is None or not tables:
        return before
    if own_sandbox(adapters) is None:
        needed = "queries of a chat model need DuckDB: pip install 'ragstone[tables]'"
        return replace(before, why=f"{before.why}; {needed}")
    seen = [(table, number_rows(table)) for table in tables[:5]]
    try:
        wanted, usage = await ask_model(turn, adapters, model, seen)
    except (ModelUnavailable, Busy) as error:
        return replace(before, why=f"the query was refused: {error.message}")
    if wanted is None:
        return _Attempt(why=f"{model.name} sees nothing to compute", usage=usage)
    try:
        reply, why = await _ran(turn, adapters, wanted)
    except QueryRefused as error:
        why = f"the query of {model.name} was refused: {error.message}"
        return _Attempt(why=why, usage=usage)
    return _Attempt(reply, why, usage=usage)


async def _ran(turn: Turn, adapters: Adapters, wanted: ModelQuery) -> tuple[_Reply | None, str]:
    table = number_rows(wanted.table)
    result, used = await _queries(adapters).run([table], [wanted.sql, wanted.rows_sql])
    places = sorted(
        {int(item[0]) for item in used.rows if item and item[0] and item[0].isdecimal()}
    )
    rows = [wanted.table.rows[n - 1] for n in places if 0 < n <= len(wanted.table.rows)]
    if not result.rows or not rows or all(cell is None for row in result.rows for cell in row):
        return None, "the query returned nothing"
    figures = "; ".join(
        ", ".join(f"{name}: {cell}" for name, cell in zip(result.columns, row, strict=True) if cell)
        for row in result.rows[:SHOWN]
    )
    said = " ".join(f"{figures} ({wanted.table.title}).".split())
    shown = [(row, row.text) for row in rows[:SHOWN]]
    computed = _build_computed(said, wanted.sql, wanted.table, result, len(rows), recomputed=False)
    return _Reply(said, shown, computed, BY_MODEL, LESS_SURE), ""


def _build_computed(
    said: str, sql: str, table: TypedTable, result: QueryResult, used: int, *, recomputed: bool
) -> Computed:
    rows = tuple(tuple(cell or "" for cell in row) for row in result.rows[:SHOWN])
    return Computed(
        said, sql, table.title, table.document_id, result.columns, rows, used, recomputed
    )


def _number(
    row: TypedRow | Record, chunks: Sequence[Chunk], passages: list[Passage], collection: str
) -> int | None:
    """Return the number of the passage that holds a row, which is added where none does yet."""
    chunk = next((item for item in chunks if item.start <= row.start and row.end <= item.end), None)
    chunk = chunk or next((item for item in chunks if item.start <= row.start < item.end), None)
    if chunk is None:
        return None
    for passage in passages:
        if passage.hit.chunk.chunk_id == chunk.chunk_id and chunk.text in passage.text:
            return passage.number
    if len(passages) >= MAX_NUMBER:
        return None
    score = max((item.hit.score for item in passages), default=0.0)
    hit = Hit(chunk.with_collection(collection), score)
    passages.append(Passage(len(passages) + 1, chunk.text, hit))
    return len(passages)


def _make(key: RecipeKey) -> Tables | None:
    return Tables(holds=key.holds) if key.answers_alone else None


PLACE = AddedStage(Tables, before="generate", make=_make)
