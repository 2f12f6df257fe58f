"""Questions for a whole document: how many of its sections does what is answered from tell of?

Three ways, over the documents of `RAGSTONE_TREE_FILES` (a folder; without it the PDFs of
financebench): the ten best passages of a search, what is read of a long document without a tree
(its beginning, and where its upper sections begin), and its tree of summaries. Each question names
one document, and every way may find that one only. The answerer is the extractive one, so that all
of it is text of the documents: a section is told of where at least one sentence below its heading,
before the next one, is in the passages. Sections without a sentence do not count.
"""

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Literal

from benchmarks.common import eval_data
from benchmarks.row import Row
from ragstone import build
from ragstone.core.chunk import Chunk, revision
from ragstone.core.events import Done
from ragstone.core.filters import OWN_TEXT, And, eq
from ragstone.core.turn import Ask
from ragstone.language.outline import outline
from ragstone.language.sentences import says_something, sentences
from ragstone.language.tokens import count
from ragstone.local import Ragstone
from ragstone.service import IngestRequest
from ragstone.settings import CacheSettings, IngestSettings, RagSettings, Settings

QUESTIONS = ("Summarize {name}", "What is {name} about?", "Give me an overview of {name}")
MIN_SECTIONS = 10
PASSAGES = 10
BEST, PLAIN, TREE = "the ten best passages", "read without a tree", "the tree"

Span = tuple[int, int]


@dataclass(frozen=True)
class _Document:
    """A document and the spans of the sentences of each of its sections."""

    path: str
    sections: Sequence[Sequence[Span]]


@dataclass(frozen=True)
class _Told:
    """The share of sections that passages of so many tokens tell of, and how many sections the
    answer cites."""

    share: float
    tokens: int
    cited: int


def run() -> Iterator[Row]:
    folder = os.environ.get("RAGSTONE_TREE_FILES")
    yield from asyncio.run(_measure(Path(folder) if folder else eval_data() / "financebench/pdfs"))


async def _measure(folder: Path) -> list[Row]:
    with tempfile.TemporaryDirectory() as directory:
        data = Path(directory)
        async with build.open(_settings(data, "traversal")) as service:
            async for step in service.ingest(IngestRequest((str(folder),))):
                last = step
            print(*last.notes, sep="\n")
            documents = await _documents(service)
            found = {
                BEST: await _tell(service, documents, _best),
                TREE: await _tell(service, documents, _answer),
            }
        async with build.open(_settings(data, "off")) as service:
            found[PLAIN] = await _tell(service, documents, _answer)
    return list(_rows(f"{folder.parent.name}/{folder.name}", documents, found))


def _rows(
    files: str, documents: Sequence[_Document], found: Mapping[str, Sequence[_Told]]
) -> Iterator[Row]:
    sections = mean(len(document.sections) for document in documents)
    for way, told in found.items():
        yield Row(
            f"Sections told of: {way}, {files}",
            mean(item.share for item in told),
            note=f"{len(documents)} documents of {sections:.0f} sections on average, "
            f"{mean(item.tokens for item in told):,.0f} tokens",
            detail=way != TREE,
        )
    times = mean(item.share for item in found[TREE]) / mean(item.share for item in found[BEST])
    yield Row(f"Sections told of: the tree to the ten best passages, {files}", times, "times", 2.0)
    for way in (PLAIN, TREE):
        said = mean(item.cited for item in found[way])
        yield Row(f"Sections that an answer cites: {way}, {files}", said, detail=True)


def _settings(data: Path, tree: Literal["off", "traversal"]) -> Settings:
    """Return settings without a chat model and a cache."""
    return Settings(
        ragstone_data=data,
        ingest=IngestSettings(tree="extractive", token_vectors="none"),
        rag=RagSettings(tree=tree),
        cache=CacheSettings(enabled=False),
    )


async def _documents(service: Ragstone) -> list[_Document]:
    """Return the documents that have sections enough, with these."""
    adapters, found = service._adapters, list[_Document]()
    [collection] = await adapters.catalog.collections()
    for document in await adapters.catalog.documents(collection.tenant, collection.id):
        where = And((eq("revision", revision(document.id, document.version)), OWN_TEXT))
        chunks = [c async for batch in adapters.index.scan(collection, where) for c in batch]
        sections = _sections(sorted(chunks, key=lambda chunk: chunk.chunk_index))
        if len(sections) >= MIN_SECTIONS:
            found.append(_Document(document.path, sections))
    return found


def _sections(chunks: Sequence[Chunk]) -> list[list[Span]]:
    """Return the sentences under each heading, up to the next one."""
    headings: set[int] = set()
    said: set[Span] = set()
    for chunk in chunks:
        for block in chunk.blocks or outline(chunk.text):
            text = chunk.text[block.start : block.end]
            if block.kind == "heading":
                headings.add(chunk.start + block.start)
                continue
            for span in sentences(text):
                line = " ".join(text[span.start : span.end].split())
                if line and says_something(line):
                    start = chunk.start + block.start
                    said.add((start + span.start, start + span.end))
    edges = [*sorted(headings), max(chunk.end for chunk in chunks) + 1]
    parts = [[s for s in said if low <= s[0] < high] for low, high in pairwise(edges)]
    return [part for part in parts if part]


async def _tell(
    service: Ragstone,
    documents: Sequence[_Document],
    way: Callable[[Ragstone, Ask], Awaitable[tuple[list[Span], int, list[Span]]]],
) -> list[_Told]:
    told = []
    for document in documents:
        name = Path(document.path).stem.replace("_", " ")
        for question in QUESTIONS:
            ask = Ask(question.format(name=name), where=eq("path", document.path), top_k=PASSAGES)
            spans, tokens, cited = await way(service, ask)
            share = _count_covered(document, spans) / len(document.sections)
            told.append(_Told(share, tokens, _count_covered(document, cited)))
    return told


def _count_covered(document: _Document, spans: Sequence[Span]) -> int:
    """Tell how many sections have a sentence of which most is in one of the spans."""

    def holds(span: Span, sentence: Span) -> bool:
        shared = min(span[1], sentence[1]) - max(span[0], sentence[0])
        return 2 * shared > sentence[1] - sentence[0]

    return sum(any(holds(a, b) for a in spans for b in part) for part in document.sections)


async def _best(service: Ragstone, ask: Ask) -> tuple[list[Span], int, list[Span]]:
    """Return the best passages of a search."""
    hits = (await service.search(ask)).hits[:PASSAGES]
    return [(h.chunk.start, h.chunk.end) for h in hits], sum(count(h.chunk.text) for h in hits), []


async def _answer(service: Ragstone, ask: Ask) -> tuple[list[Span], int, list[Span]]:
    """Return what an answer is made from, and what it cites."""
    async for event in service.ask(replace(ask, top_k=None)):
        if isinstance(event, Done):
            turn = event.turn
    answer = turn.answer
    spans = [
        (passage.hit.chunk.start, passage.hit.chunk.start + len(passage.text))
        for passage in turn.passages
    ]
    cited = [(s.start, s.end) for c in answer.citations for s in c.spans] if answer else []
    return spans, sum(count(passage.text) for passage in turn.passages), cited
