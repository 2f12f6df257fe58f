"""Answers what customers say: counts the comments that a question means, and quotes some."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field

from ragstone.answer.stream import AnswerStream
from ragstone.core.answer import Computed, GeneratedAnswer
from ragstone.core.chunk import Chunk
from ragstone.core.events import Note, Sources, Token
from ragstone.core.filters import matches
from ragstone.core.turn import Hit, Passage, Turn
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.language.language import detect
from ragstone.language.markers import neutralize_markers
from ragstone.plugins.comments.comment_reader import ReadComments, own_reader
from ragstone.plugins.comments.comments import CustomerComment, ToneCounts
from ragstone.plugins.comments.counting import CountedComments, count_comments
from ragstone.plugins.comments.reading_question import asks_of_comments, read_query
from ragstone.plugins.comments.saying import sentence
from ragstone.ports import Adapters
from ragstone.recipes.stages import AddedStage, RecipeKey
from ragstone.retrieve.searching import visible

BY = "comments"
"""Who answers."""

SURE, LESS_SURE = 0.9, 0.6
"""How likely an answer is what was asked where all comments of some days and values are counted,
and where a model says which speak of a topic."""

LONGEST_QUOTE = 600
"""Characters of a row that is quoted."""

MAX_ROWS = 200
"""Counted rows that the answer names besides those that it quotes."""

LOOKED_AT = 10
"""The best passages among which a table has to be, so that a question that does not say what it is
to be answered from is taken for one about comments."""

NO_COMMENTS = "The collection holds no table of comments that you may read."


class AskComments(Stage):
    """Counts customers' comments and quotes some, where the request asks for these, or where the
    question does and a table of comments is among what was found. Otherwise nothing is said, and
    the question is answered like any other.
    """

    name: ClassVar[str] = "ask_comments"
    needs: ClassVar[frozenset[str]] = frozenset({"question", "passages", "hits"})
    gives: ClassVar[frozenset[str]] = frozenset({"passages"})
    fails: ClassVar[Literal["open", "closed"]] = "open"

    timeout: float = Field(60.0, gt=0, description="Seconds that the stage may take.")
    holds: bool = Field(False, description="Whether the text waits until it is checked.")
    quotes: int = Field(5, ge=1, le=50, description="Comments that are quoted at most.")
    seconds: float = Field(
        40.0,
        gt=0,
        description="Seconds that a question waits for comments that are read the first time.",
    )

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        wanted = turn.ask.search_type == "voc"
        reader, collection = own_reader(adapters), turn.collection
        if why := _skip_reason(turn):
            return Step(turn, "skipped", why)
        if reader is None or collection is None:
            return Step(turn, "skipped", "there is nothing to count")
        async with adapters.catalog.snapshot(collection) as hidden:
            where = visible(turn.ask, hidden)
            read = await reader.read(collection, where, self.seconds)
            why = _why_nothing(read)
            if why:
                if wanted:
                    await emit(Note(self.name, why))
                return Step(_add_note(turn, why) if wanted else turn, "nothing counted", why)
            query = read_query(turn.question, read.comments)
            found = await count_comments(query, read, reader)
            if not found.counted and not wanted:
                return Step(turn, "nothing counted", "no comment speaks of it")
            quoted = _choose_quotes(found, self.quotes)
            chunks = await adapters.index.fetch(
                collection, sorted({comment.chunk_id for comment in quoted})
            )
        chunks = {id: chunk for id, chunk in chunks.items() if matches(where, chunk.payload())}
        turn = replace(turn, passages=_passages(quoted, chunks, collection.name))
        return await self._write_answer(turn, found, quoted, read.left_out, emit)

    async def _write_answer(
        self,
        turn: Turn,
        found: CountedComments,
        quoted: Sequence[CustomerComment],
        left_out: Sequence[str],
        emit: Emit,
    ) -> Step:
        await emit(Sources(turn.passages))
        numbers = {passage.hit.chunk.chunk_id: passage.number for passage in turn.passages}
        lines = [
            f"- {neutralize_markers(_quote(comment.row))} [{numbers[comment.chunk_id]}]"
            for comment in quoted
            if comment.chunk_id in numbers
        ]
        said = sentence(found, detect(turn.question))
        cited = "".join(f"[{n}]" for n in dict.fromkeys(numbers.values()))
        first = f"{neutralize_markers(said)} {cited}" if cited else neutralize_markers(said)
        stream = AnswerStream(turn.passages)
        text = stream.feed("\n".join([first, *lines])) + stream.end()
        computed = _build_computed(said, found)
        notes = [f"Counted: {computed.sql}"]
        notes += [f"Left out: {item}." for item in left_out]
        for note in notes:
            await emit(Note(self.name, note))
        if not self.holds:
            await emit(Token(text))
        sure = LESS_SURE if found.query.topic else SURE
        answer = GeneratedAnswer(
            text, model=BY, confidence=sure, held=self.holds, computed=computed
        )
        turn = replace(turn, answer=answer, notes=(*turn.notes, *notes[1:]))
        return Step(turn, f"{len(found.counted)} of {len(found.among)} comments", computed.sql)


def _skip_reason(turn: Turn) -> str:
    """Tell why no comments are looked for; empty if some are."""
    if turn.answer and turn.answer.text:
        return "it is answered already"
    if turn.ask.search_type == "voc":
        return ""
    if turn.ask.tools or turn.subqueries or turn.ask.search_type != "rag":
        return "the question is not a single one"
    if not asks_of_comments(turn.question):
        return "nobody's comments are asked for"
    if not any(hit.chunk.kind == "table" for hit in turn.hits[:LOOKED_AT]):
        return "no table was found"
    return ""


def _why_nothing(read: ReadComments) -> str:
    """Tell why nothing can be counted; empty if something can. A count of a part would be wrong."""
    if read.waiting:
        return f"{read.waiting:,} comments are being read for the first time. Ask again in a while."
    return "" if read.comments else "; ".join((NO_COMMENTS, *read.left_out))


def _add_note(turn: Turn, note: str) -> Turn:
    return replace(turn, notes=(*turn.notes, note))


def _choose_quotes(found: CountedComments, most: int) -> list[CustomerComment]:
    """Return the comments that are quoted: the most central one of each theme where no topic is
    asked for, else those that speak most surely of it; each tone has its share."""
    if not found.query.topic and found.themes:
        return [found.counted[theme.places[0]] for theme in found.themes[:most]]
    counts = ToneCounts.count("", found.counted)
    leading = [item for item in found.counted if item.tone == counts.mostly]
    others = [item for item in found.counted if item.tone != counts.mostly]
    share = max(1, round(most * len(leading) / max(1, len(found.counted))))
    kept = [*leading[:share], *others[: most - share]]
    more = [item for item in found.counted if item not in kept]
    return [*kept, *more][:most]


def _passages(
    quoted: Sequence[CustomerComment], chunks: dict[str, Chunk], name: str
) -> tuple[Passage, ...]:
    held = [id for id in dict.fromkeys(comment.chunk_id for comment in quoted) if id in chunks]
    return tuple(
        Passage(number, chunks[id].text, Hit(replace(chunks[id], collection=name), 1.0))
        for number, id in enumerate(held, 1)
    )


def _quote(row: str) -> str:
    """Return a row, cut at a word where it is too long."""
    return row if len(row) <= LONGEST_QUOTE else row[:LONGEST_QUOTE].rsplit(" ", 1)[0]


def _build_computed(said: str, found: CountedComments) -> Computed:
    """What was counted, with the rows that were: those that speak of the topic, if there is one."""
    query = found.query
    meant = [f"meaning of {query.topic!r}"] if query.topic else []
    meant += [f"tone {query.tone}"] if query.tone else []
    if query.since or query.until:
        meant.append(f"days {query.since or ''}..{query.until or ''}")
    meant += [f"{name} = {value!r}" for name, value in query.labels.items()]
    own = found.counted
    tables = ", ".join(sorted({item.table for item in found.among}))
    documents = sorted({item.document_id for item in found.among})
    return Computed(
        said,
        f"comments of {tables}: {', '.join(meant) or 'all'}",
        tables,
        documents[0] if len(documents) == 1 else "",
        ("tone", "path", "row"),
        tuple((item.tone, item.path, _quote(item.row)) for item in own[:MAX_ROWS]),
        len(own),
    )


def _make(key: RecipeKey) -> AskComments | None:
    return AskComments(holds=key.holds) if key.answers_alone else None


PLACE = AddedStage(AskComments, before="generate", make=_make)
