"""Questions that the chat model thinks of for each chunk, by which the chunk is found too.

They are chunks of the kind "question" with the revision, readers and metadata of the chunk they ask
about: they come and go with it, and nobody finds by them what they may not read. Which chunks lack
theirs is asked of the index, so an ingest that was cut off goes on where it was.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from ragstone.core.answer import Usage
from ragstone.core.chunk import QUESTION, Chunk, answer_id, question_id, revision
from ragstone.core.errors import RagstoneError
from ragstone.core.records import Collection
from ragstone.ingest.progress import Tracker
from ragstone.ingest.readers import upsert_made
from ragstone.language.code_blocks import fence_text
from ragstone.language.json_answer import parse_lines, parse_list
from ragstone.language.templates import choose_by_language, fill_places, load_shipped
from ragstone.language.words import words
from ragstone.local.added import EnricherParts
from ragstone.ports import Catalog, ChunkIndex, Completer, Templates

PROMPT = "hypothetical_questions"

ASKED_ABOUT = frozenset({"normal", "table"})
"""Kinds of chunks that answer questions and are none themselves."""

MIN_WORDS = 8
"""A shorter chunk says too little to be asked about."""

AT_A_TIME = 4
"""Calls of the chat model; the questions that are being answered meanwhile need it too."""

REPLY_TOKENS = 60
"""For each question."""

MAX_QUESTION_CHARS = 300
"""Characters of a question."""

SHOWN = 6_000
"""Characters of a chunk that the model reads."""


@dataclass(frozen=True, slots=True)
class QuestionMaker:
    """`Enricher`: has `model` think of at most `most` questions about each chunk."""

    index: ChunkIndex
    catalog: Catalog
    templates: Templates
    model: Completer | None
    most: int

    # Nothing is taken over from a former version: another text asks for other questions.
    reads_former: ClassVar[bool] = False

    def wake(self, collection: Collection) -> None:
        """Do nothing: questions cost calls of a model, so only an ingest makes them."""

    async def make(self, collection: Collection, tracker: Tracker) -> bool:
        """Make what lacks in a collection. Where the model fails the rest is left for the next
        ingest, and a note says so."""
        model = self.model
        if model is None:
            tracker.note("INGEST__QUESTIONS has no effect: no chat model is set (LLM__MODEL).")
            return False
        waiting = await self._list_waiting(collection)
        made, asked, usage, failure = 0, 0, Usage(), ""
        while asked < len(waiting) and not failure:
            ids = waiting[asked : asked + AT_A_TIME]
            chunks = (await self.index.fetch(collection, ids)).values()
            said = await asyncio.gather(*(self._about(chunk, model) for chunk in chunks))
            questions = [question for item in said for question in item.questions]
            if questions:
                await upsert_made(self.index, self.catalog, collection, questions)
            spent = sum((item.usage for item in said), Usage())
            tracker.count_questions(len(questions), spent)
            made, asked, usage = made + len(questions), asked + len(ids), usage + spent
            failure = next((item.failure for item in said if item.failure), "")
        if waiting:
            tracker.note(_report_line(model.name, made, asked, usage))
        if failure:
            left = len(waiting) - asked
            tracker.note(
                f"No questions were made about {left:,} further passages: {failure} Ingest again "
                "to go on."
            )
        return True

    async def aclose(self) -> None:
        """Close nothing: nothing works in the background."""

    async def _list_waiting(self, collection: Collection) -> list[str]:
        """Return the chunks that answer now and have no question."""
        documents = await self.catalog.documents(collection.tenant, collection.id)
        live = {revision(document.id, document.version) for document in documents}
        chunks, known = list[str](), set[str]()
        async for batch in self.index.scan(collection):
            known |= {answer_id(item.chunk_id) for item in batch if item.kind == QUESTION}
            chunks += [item.chunk_id for item in batch if item.revision in live and _is_asked(item)]
        return [chunk for chunk in chunks if chunk not in known]

    async def _about(self, chunk: Chunk, model: Completer) -> "_Thought":
        own = choose_by_language(
            await self.templates.texts(chunk.tenant), PROMPT, lambda: chunk.language
        )
        rules = fill_places(own or load_shipped(PROMPT) or "", count=str(self.most)).strip()
        text = fence_text("passage", chunk.searchable[:SHOWN])
        try:
            said = await model.complete(rules, text, REPLY_TOKENS * self.most)
        except RagstoneError as error:
            return _Thought(failure=error.message)
        found = parse_list(said.text, "questions") or [
            line for line in parse_lines(said.text) if line.endswith(("?", "？", "؟"))
        ]
        return _Thought(tuple(_chunks(chunk, found[: self.most])), said.usage)


def open_maker(parts: EnricherParts) -> QuestionMaker | None:
    """Make what has the questions thought of, None where none are wanted."""
    adapters, most = parts.adapters, parts.settings.ingest.questions
    if not most:
        return None
    model = adapters.completer
    return QuestionMaker(adapters.index, adapters.catalog, adapters.templates, model, most)


@dataclass(frozen=True, slots=True)
class _Thought:
    """The questions about one chunk, what they took, and why there are none where the model
    failed."""

    questions: tuple[Chunk, ...] = ()
    usage: Usage = Usage()
    failure: str = ""


def _is_asked(chunk: Chunk) -> bool:
    return chunk.kind in ASKED_ABOUT and len(words(chunk.text)) >= MIN_WORDS


def _chunks(chunk: Chunk, questions: Sequence[str]) -> list[Chunk]:
    """The questions, each as a chunk that differs from its own in id, kind and text alone."""
    return [
        replace(
            chunk,
            chunk_id=question_id(chunk.chunk_id, number),
            kind=QUESTION,
            # A model that does not stop must not fill the index.
            text=text[:MAX_QUESTION_CHARS],
            layout="",
        )
        for number, text in enumerate(questions)
    ]


def _report_line(model: str, made: int, asked: int, usage: Usage) -> str:
    tokens = f"{usage.total_tokens:,} tokens" if usage.counted else "tokens that it does not count"
    cost = "" if usage.cost is None else f", {usage.cost:.4f} US dollars"
    return (
        f"{model} thought of {made:,} questions about {asked:,} passages: {usage.calls:,} calls, "
        f"{tokens}{cost}."
    )
