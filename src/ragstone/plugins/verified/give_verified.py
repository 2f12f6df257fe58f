"""Gives a verified answer to a question that asks the same as one of its wordings."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field

from ragstone.cache.same_question import compare, least
from ragstone.core.answer import GeneratedAnswer, Marker, Verification
from ragstone.core.chunk import Chunk
from ragstone.core.clock import state_time
from ragstone.core.events import Sources, Token
from ragstone.core.filters import OWN_TEXT, And, AnyOf
from ragstone.core.records import Collection, Document
from ragstone.core.turn import Hit, Passage, Turn
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.language.markers import find_markers
from ragstone.plugins.verified.contract import State, VerifiedAnswer, VerifiedSource
from ragstone.plugins.verified.store import SqlVerified
from ragstone.ports import Adapters, Embedder, find_collection
from ragstone.recipes.stages import AddedStage, RecipeKey
from ragstone.retrieve.searching import visible
from ragstone.verify.cite import build_citation

BY = "verified answer"
"""What stands for the model's name: clients that show nothing else of it show that."""

NONE = "none for this question"
"""The same where there is none and where the asker may not read it."""


class GiveVerified(Stage):
    """Ends the question with a verified answer, where one answers a question that asks the same,
    who asks may read it and all its sources, and none of these has changed. It fails open: the
    question is answered like any other then.
    """

    name: ClassVar[str] = "give_verified"
    needs: ClassVar[frozenset[str]] = frozenset({"question"})
    gives: ClassVar[frozenset[str]] = frozenset({"passages", "answer"})
    fails: ClassVar[Literal["open", "closed"]] = "open"

    timeout: float = Field(5.0, gt=0, description="Seconds that the stage may take.")

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        ask = turn.ask
        if not turn.whole or ask.tools or ask.pictures or ask.steps or ask.search_type == "voc":
            return Step(turn, "skipped", "the question is more than its words")
        collection = await find_collection(adapters.catalog, ask)
        if collection is None or adapters.external_retriever is not None:
            return Step(turn, "skipped", "there is no collection of ours")
        stale = ""
        now, names = state_time(), set(ask.principal.names)
        embedder = adapters.embedders.find_indexing(collection)
        for answer in await SqlVerified.of(adapters).list_all(collection.tenant, collection.id):
            is_open = not names.isdisjoint(answer.readers)
            if not is_open or not await asks_same(turn.question, answer.wordings, embedder):
                continue
            async with adapters.catalog.snapshot(collection) as hidden:
                passages = await _read_sources(turn, collection, answer, hidden, adapters)
                known = await find_sources([answer], adapters)
            if len(passages) < len(answer.sources):
                continue
            state = find_state(answer, known, now)
            if state == "current":
                return await _give(replace(turn, collection=collection), answer, passages, emit)
            stale = {"expired": "it has expired", "changed": "a source has changed"}.get(state, "")
        return Step(turn, "withheld" if stale else "none", stale or NONE)


async def asks_same(question: str, wordings: Sequence[str], embedder: Embedder) -> bool:
    """Tell whether a question asks the same as one of these, as the cache judges it."""
    for wording in wordings:
        found = compare(question, wording)
        if not found.same:
            continue
        if found.reason:  # The same words: vectors tell no more.
            return True
        first, second = await embedder.embed_queries([question, wording])
        unrelated = embedder.cosines[0]
        if (float(first @ second) - unrelated) / (1 - unrelated) >= least("adaptive"):
            return True
    return False


async def find_sources(
    answers: Sequence[VerifiedAnswer], adapters: Adapters
) -> Mapping[str, Document]:
    """The documents as they are now that these answers stand on, by id, without those gone."""
    ids = {source.document_id for answer in answers for source in answer.sources}
    return await adapters.catalog.find_documents(sorted(ids))


def find_state(answer: VerifiedAnswer, known: Mapping[str, Document], now: float) -> State:
    """Tell whether an answer counts, by what its sources are now."""
    if any(source.document_id not in known for source in answer.sources):
        return "gone"
    if any(known[item.document_id].content_hash != item.content_hash for item in answer.sources):
        return "changed"
    return "expired" if answer.expires_at is not None and answer.expires_at <= now else "current"


async def _read_sources(
    turn: Turn,
    collection: Collection,
    answer: VerifiedAnswer,
    hidden: frozenset[str],
    adapters: Adapters,
) -> tuple[Passage, ...]:
    """Return the passages of an answer's sources, fewer than these where the asker may not read
    one, or where the request's own filter leaves one out."""
    ids = tuple(sorted({source.document_id for source in answer.sources}))
    where = And((visible(turn.ask, hidden), OWN_TEXT, AnyOf("document_id", ids)))
    chunks = [item async for some in adapters.index.scan(collection, where) for item in some]
    found = [(source, _find_chunk(source, chunks)) for source in answer.sources]
    return tuple(
        Passage(number, chunk.text, Hit(chunk.with_collection(collection.name), 1.0))
        for number, (_, chunk) in enumerate(found, 1)
        if chunk is not None
    )


def _find_chunk(source: VerifiedSource, chunks: Sequence[Chunk]) -> Chunk | None:
    """Return the chunk that holds most of a source's span."""
    own = [item for item in chunks if item.document_id == source.document_id]
    return max(
        own,
        key=lambda item: (
            min(item.end, source.end) - max(item.start, source.start),
            -item.chunk_index,
        ),
        default=None,
    )


async def _give(
    turn: Turn, answer: VerifiedAnswer, passages: tuple[Passage, ...], emit: Emit
) -> Step:
    await emit(Sources(passages))
    await emit(Token(answer.text))
    citations = []
    for source, passage in zip(answer.sources, passages, strict=True):
        chunk, length = passage.hit.chunk, len(passage.text)
        start = min(max(0, source.start - chunk.start), length)
        end = min(max(start, source.end - chunk.start), length)
        place = (start, end) if end > start else (0, length)
        citations.append(build_citation(passage, *place, 1.0))
    markers = tuple(
        Marker(match.start(), match.end(), number, citations[number - 1])
        for match in find_markers(answer.text)
        if 0 < (number := int(match[1])) <= len(citations)
    )
    given = GeneratedAnswer(
        answer.text,
        tuple(citations),
        model=BY,
        markers=markers,
        verified=Verification(answer.owner, answer.changed_at, answer.expires_at),
    )
    return Step(
        replace(turn, hits=tuple(item.hit for item in passages), passages=passages, answer=given),
        "given",
        f"{answer.owner} has verified it",
        leaves=True,
    )


def _make(key: RecipeKey) -> GiveVerified | None:
    return GiveVerified() if key.answers_alone or key.variant == "tools" else None


PLACE = AddedStage(GiveVerified, after="classify", make=_make)
