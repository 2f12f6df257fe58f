"""Questions to go on with: about sections of the documents, each tried before it is offered."""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import chain, zip_longest
from operator import attrgetter

from ragstone.core.chunk import QUESTION, SUMMARY, Chunk, join_chunks, revision
from ragstone.core.document import STRUCK
from ragstone.core.filters import And, Filter, eq, reader_filter
from ragstone.core.readers import catalog_ids
from ragstone.core.records import Collection, Document
from ragstone.core.turn import IN_ORDER, Ask, Principal
from ragstone.engine.engine import Engine
from ragstone.ingest.kinds import strip_numbering
from ragstone.ports import Adapters, Answerer, in_bulk, need_collection

MAX_SUGGESTIONS = 3
MAX_TRIES = 6
"""Questions that are tried for one list: each costs what an answer without a chat model does."""

MAX_DOCUMENTS = 3
LISTED = 12
"""Documents of a collection among which those are chosen that first questions are about."""

HEADING_CHARS = range(4, 60)
"""A shorter heading says too little, a longer one is a sentence."""

LEFT_OUT = frozenset({"toc", "credits", SUMMARY, STRUCK})


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A question, and the part of the document's text that is to answer it."""

    question: str
    document_id: str
    start: int
    end: int


def without_chat(adapters: Adapters) -> Adapters:
    """Return the adapters as they are where no chat model is set: what is tried costs no tokens."""
    extractive = adapters.answerable
    answerer = extractive if isinstance(extractive, Answerer) else adapters.answerer
    return replace(
        adapters,
        answerer=answerer,
        chat=None,
        completer=None,
        evaluator=None,
        answerable=None,
        ensemble=(),
    )


class Suggestions:
    """Suggests questions. `engine` tries them; nothing is kept of that."""

    def __init__(self, adapters: Adapters, engine: Engine) -> None:
        self._adapters = adapters
        self._engine = engine

    async def aclose(self) -> None:
        """Wait for what ended questions leave behind."""
        await self._engine.aclose()

    async def suggest(
        self,
        principal: Principal,
        name: str,
        cited: Mapping[str, int],
        asked: Sequence[str],
        where: Filter | None,
    ) -> list[str]:
        """At most MAX_SUGGESTIONS questions that are answered from the section that they name."""
        if self._adapters.external_retriever is not None:
            return []
        collection = await need_collection(self._adapters.catalog, principal.tenant, name)
        known = {" ".join(question.split()).casefold() for question in asked}
        suggested: list[str] = []
        candidates = await self._candidates(principal, collection, cited)
        fresh = [item for item in candidates if item.question.casefold() not in known]
        with in_bulk():
            for candidate in fresh[:MAX_TRIES]:
                ask = Ask(
                    candidate.question,
                    principal,
                    name,
                    where=where,
                    collection_id=collection.id,
                    cache=False,
                    keeps=False,
                )
                if await self._is_answered(ask, candidate):
                    suggested.append(candidate.question)
                if len(suggested) == MAX_SUGGESTIONS:
                    break
        return suggested

    async def _is_answered(self, ask: Ask, candidate: _Candidate) -> bool:
        answer = (await self._engine.answer(ask)).answer
        return (
            answer is not None
            and answer.finish == "stop"
            and any(
                citation.document_id == candidate.document_id
                and candidate.start <= citation.start < candidate.end
                for citation in answer.citations
            )
        )

    async def _candidates(
        self, principal: Principal, collection: Collection, cited: Mapping[str, int]
    ) -> list[_Candidate]:
        """Return a question of each document in turn."""
        read = await self._adapters.index.fetch(collection, catalog_ids(cited))
        places: dict[str, list[int]] = {}
        for id, place in cited.items():
            if id in read:
                places.setdefault(read[id].document_id, []).append(place)
        own = [
            await asyncio.to_thread(
                _document_candidates,
                document,
                await self._chunks(principal, collection, document),
                places.get(document.id, ()),
            )
            for document in await self._documents(
                principal, collection, list(places) if cited else None
            )
        ]
        turns = chain.from_iterable(zip_longest(*own))
        return list({item.question: item for item in turns if item}.values())

    async def _documents(
        self, principal: Principal, collection: Collection, cited: Sequence[str] | None
    ) -> list[Document]:
        """Those that are cited, else some of the collection, which the principal may read. What is
        not there and what may not be read are the same: ids can be computed."""
        found = await self._adapters.catalog.documents(
            collection.tenant,
            collection.id,
            readers=principal.names,
            named=cited,
            limit=LISTED if cited is None else None,
        )
        readable = [item for item in found if item.version and item.chunks]
        if cited is not None:
            return sorted(readable, key=lambda item: cited.index(item.id))[:MAX_DOCUMENTS]
        step = max(1, len(readable) // MAX_DOCUMENTS)
        return readable[::step][:MAX_DOCUMENTS]

    async def _chunks(
        self, principal: Principal, collection: Collection, document: Document
    ) -> list[Chunk]:
        edition = eq("revision", revision(document.id, document.version))
        found: list[Chunk] = []
        scan = self._adapters.index.scan(collection, And((reader_filter(principal), edition)))
        async for batch in scan:
            found += [chunk for chunk in batch if chunk.kind not in LEFT_OUT]
            if len(found) >= IN_ORDER:
                break
        return sorted(found, key=attrgetter("start", "end"))


def _document_candidates(
    document: Document, chunks: Sequence[Chunk], cited: Sequence[int]
) -> list[_Candidate]:
    """Return what may be asked of a document: what a chat model thought of when it was indexed,
    else about the sections behind those that are cited, then those before them; where it has none,
    what it is about."""
    own = [chunk for chunk in chunks if chunk.kind != QUESTION]
    made = [
        _Candidate(chunk.text, document.id, chunk.start, chunk.end)
        for chunk in chunks
        if chunk.kind == QUESTION
    ]
    sections = list(_section_candidates(document, own))
    last = max(cited, default=0)
    fresh = [
        item
        for item in (*made, *sections)
        if not any(item.start <= place < item.end for place in cited)
    ]
    fresh.sort(key=lambda item: (item.start < last, item.start))
    if fresh or cited or not own:
        return fresh
    named = document.title or document.path.rpartition("/")[2]
    question = _frame("document", own[0].language).format(named)
    return [_Candidate(question, document.id, 0, own[-1].end)]


def _section_candidates(document: Document, chunks: Sequence[Chunk]) -> Iterator[_Candidate]:
    """Yield a question about each section that has a heading other than the title."""
    text, blocks = join_chunks(chunks)
    headings = [block for block in blocks if block.kind == "heading"]
    languages = {chunk.start: chunk.language for chunk in chunks}
    ends = [*(heading.start for heading in headings), len(text)][1:]
    for heading, end in zip(headings, ends, strict=True):
        start = heading.start
        said = " ".join(strip_numbering(text[start : heading.end].strip("# \n")).split())
        if len(said) in HEADING_CHARS and said not in document.title:
            asks = said.endswith(("?", "？", "؟"))
            language = languages[max(place for place in languages if place <= start)]
            question = said if asks else _frame("section", language).format(said)
            yield _Candidate(question, document.id, start, end)


def _frame(kind: str, language: str) -> str:
    """Tell how a language asks about a section or a document."""
    known = _frames()
    return known.get(language, known["en"])[kind]


@cache
def _frames() -> dict[str, dict[str, str]]:
    path = files("ragstone.local").joinpath("data/suggestions.json")
    frames: dict[str, dict[str, str]] = json.loads(path.read_text(encoding="utf-8"))
    return frames
