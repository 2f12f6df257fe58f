"""Makes the trees of summaries of documents, after they are readable.

A tree is of one version of one document: its nodes have that one's readers and go with it. Which
documents lack theirs is asked of the index, so an ingest that was cut off goes on where it was, and
what a chat model has said of the same sources is not asked again, in a new version either.
"""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ragstone.core.answer import Usage
from ragstone.core.chunk import SUMMARY, Chunk, SummaryNode, revision, summary_id
from ragstone.core.document import STRUCK
from ragstone.core.errors import RagstoneError
from ragstone.core.filters import OWN_TEXT, And, Range, eq
from ragstone.core.records import Collection, Document
from ragstone.ingest.progress import Tracker
from ragstone.ingest.readers import upsert_made
from ragstone.language.code_blocks import fence_text
from ragstone.language.language import language_name
from ragstone.language.markers import (
    citation_numbers,
    neutralize_markers,
    normalise_markers,
    renumber_markers,
)
from ragstone.language.templates import choose_by_language, fill_places, load_shipped
from ragstone.local.added import EnricherParts
from ragstone.plugins.graph.summaries.tree import (
    MIN_CHUNKS,
    excerpt_lines,
    excerpt_text,
    extractive_tree,
    in_order,
    node_chunk,
)
from ragstone.ports import Catalog, ChunkIndex, Completer, Templates

PROMPT = "sum_up"

FORMAT = 1
"""Raised when trees are made otherwise, so that they are made anew."""

MAX_CHUNKS = 20_000
"""A document of more chunks has no tree: its vectors are held in memory at once, 1.5 KB each."""

MAX_REVISIONS = 1_000_000

AT_ONCE = 256
"""Chunks, nodes and vectors in one call of the index."""

AT_A_TIME = 4
"""Calls of the chat model; the questions that are being answered meanwhile need it too."""

REPLY_TOKENS = 500

SHOWN = 6_000
"""Characters of each passage or summary that the model reads."""


@dataclass(frozen=True, slots=True)
class SummaryMaker:
    """Makes the trees of a collection's documents (`ingest.enricher.Enricher`), with the chat
    model's words where there is `model`, else of the documents' own sentences. Where it
    `lacks_model`, that is wanted and cannot be done."""

    index: ChunkIndex
    catalog: Catalog
    templates: Templates
    model: Completer | None = None
    lacks_model: bool = False

    @property
    def reads_former(self) -> bool:
        """Whether the model is not asked again what it said of the version before."""
        return self.model is not None

    def wake(self, collection: Collection) -> None:
        """Nothing: trees are made by an ingest."""

    async def aclose(self) -> None:
        """Nothing goes on in the background."""

    async def make(self, collection: Collection, tracker: Tracker) -> bool:
        """Make what lacks in a collection. Where the model fails the rest is left for the next
        ingest, and a note says so."""
        if self.lacks_model:
            tracker.note(
                "INGEST__TREE=model has no effect: no chat model is set (LLM__MODEL). The "
                "summaries are of the documents' own sentences."
            )
        lacking = await self._find_lacking(collection)
        made = _Made(tracker)
        for document in lacking:
            failure = await self._make_one(collection, document, made)
            if failure:
                made.failure = failure
                break
        for sentence in self._report_lines(made, len(lacking)):
            tracker.note(sentence)
        return True

    async def _find_lacking(self, collection: Collection) -> list[Document]:
        """Return the documents of which no tree of this kind is complete."""
        documents = {
            revision(document.id, document.version): document
            for document in await self.catalog.documents(collection.tenant, collection.id)
            if document.version and document.status == "ready" and document.chunks >= MIN_CHUNKS
        }
        where = eq("kind", SUMMARY)
        held = await self.index.facet(collection, "revision", where, limit=MAX_REVISIONS)
        roots = {
            summary_id(documents[name].id, documents[name].version, count - 1): (name, count)
            for name, count in held.items()
            if name in documents
        }
        ids, whole = list(roots), set[str]()
        for start in range(0, len(ids), AT_ONCE):
            found = await self.index.fetch(collection, ids[start : start + AT_ONCE])
            for id, chunk in found.items():
                name, count = roots[id]
                node = SummaryNode.decode(chunk.layout)
                if (node.count, node.recipe) == (count, self._recipe(collection)):
                    whole.add(name)
        return [document for name, document in documents.items() if name not in whole]

    def _recipe(self, collection: Collection) -> str:
        return f"{FORMAT} {'model' if self.model else 'extractive'} {collection.fingerprint}"

    async def _make_one(self, collection: Collection, document: Document, made: "_Made") -> str:
        """Make the tree of one document; why it could not be, else nothing."""
        if document.chunks > MAX_CHUNKS:
            made.long += 1
            return ""
        read = await self._read(collection, document)
        if read is None:
            return ""
        chunks, vectors = read
        recipe = self._recipe(collection)
        nodes = await asyncio.to_thread(extractive_tree, chunks, vectors, recipe)
        known = await self._known_texts(collection, document) if self.model else {}
        texts: dict[int, _Text] = {}
        for level in range(1, nodes[-1].level + 1):
            those = [node for node in nodes if node.level == level]
            for start in range(0, len(those), AT_A_TIME if self.model else AT_ONCE):
                some = those[start : start + (AT_A_TIME if self.model else AT_ONCE)]
                said = await asyncio.gather(
                    *(self._text(item, nodes, chunks, texts, known, made) for item in some)
                )
                if failure := next((item.failure for item in said if item.failure), ""):
                    return failure
                texts.update({item.number: text for item, text in zip(some, said, strict=True)})
                rows = [
                    node_chunk(replace(item, cited=text.cited, key=text.key), text.text, chunks)
                    for item, text in zip(some, said, strict=True)
                ]
                await upsert_made(self.index, self.catalog, collection, rows)
        old = And((_node_filter(document), Range("chunk_index", len(nodes))))
        await self.index.delete(collection, old)
        made.trees, made.nodes = made.trees + 1, made.nodes + len(nodes)
        return ""

    async def _read(
        self, collection: Collection, document: Document
    ) -> tuple[list[Chunk], NDArray[np.float32]] | None:
        """The chunks of a document in order with their vectors; None while some are missing."""
        chunks: list[Chunk] = []
        where = And((eq("revision", revision(document.id, document.version)), OWN_TEXT))
        async for batch in self.index.scan(collection, where):
            chunks += batch
        chunks.sort(key=lambda item: item.chunk_index)
        if [chunk.chunk_index for chunk in chunks] != list(range(document.chunks)):
            return None
        chunks = [chunk for chunk in chunks if chunk.kind != STRUCK]
        rows: list[NDArray[np.float32]] = []
        for start in range(0, len(chunks), AT_ONCE):
            ids = [chunk.chunk_id for chunk in chunks[start : start + AT_ONCE]]
            found = await self.index.vectors(collection, ids)
            if len(found) < len(ids):
                return None
            rows.append(np.stack([found[item] for item in ids]).astype(np.float32))
        return chunks, np.concatenate(rows)

    async def _known_texts(
        self, collection: Collection, document: Document
    ) -> Mapping[str, "_Text"]:
        """Return what the chat model has said of this document's parts, by the hash of what it was
        shown; also of versions whose chunks are not deleted yet."""
        known: dict[str, _Text] = {}
        where = And((eq("document_id", document.id), eq("kind", SUMMARY)))
        async for batch in self.index.scan(collection, where):
            for chunk in batch:
                node = SummaryNode.decode(chunk.layout)
                if node.key:
                    offsets = tuple(cited - node.first for cited in node.cited)
                    known[node.key] = _Text(chunk.text, offsets, node.key)
        return known

    async def _text(
        self,
        node: SummaryNode,
        nodes: Sequence[SummaryNode],
        chunks: Sequence[Chunk],
        texts: Mapping[int, "_Text"],
        known: Mapping[str, "_Text"],
        made: "_Made",
    ) -> "_Text":
        """Return what a node says."""
        own = _Text(excerpt_lines(node.said, chunks) or chunks[node.first].heading or "-")
        if self.model is None:
            return own
        shown, cited = _node_text(node, nodes, chunks, texts)
        language = chunks[node.first].language
        templates = await self.templates.texts(chunks[0].tenant)
        rules = (
            choose_by_language(templates, PROMPT, lambda: language) or load_shipped(PROMPT) or ""
        )
        rules = fill_places(rules, language=language_name(language)).strip()
        asked = fence_text("part", shown)
        # The same text of another version must name the same chunks by the same numbers.
        places = [index - node.first for index in cited]
        key = hashlib.blake2b(f"{rules}\0{asked}\0{places}".encode(), digest_size=16).hexdigest()
        if key in known:
            made.reused += 1
            before = known[key]
            return replace(before, cited=tuple(node.first + offset for offset in before.cited))
        try:
            said = await self.model.complete(rules, asked, REPLY_TOKENS)
        except RagstoneError as error:
            return _Text("", failure=error.message)
        made.tracker.count_questions(0, said.usage)
        made.usage += said.usage
        made.asked += 1
        text = normalise_markers(said.text.strip(), lambda number: 0 < number <= len(cited))
        named = citation_numbers(text)
        if not text or not named:
            made.broken += 1
            return own
        new = {number: place for place, number in enumerate(named, 1)}
        return _Text(renumber_markers(text, new), tuple(cited[n - 1] for n in named), key)

    def _report_lines(self, made: "_Made", wanted: int) -> list[str]:
        told = []
        if made.trees:
            told.append(
                f"Trees of summaries were made of {made.trees:,} documents: {made.nodes:,} "
                "summaries."
            )
        if self.model and (made.asked or made.reused):
            used = made.usage
            tokens = f"{used.total_tokens:,} tokens" if used.counted else "tokens it does not count"
            cost = "" if used.cost is None else f", {used.cost:.4f} US dollars"
            told.append(
                f"{self.model.name} wrote {made.asked - made.broken:,} of them, {made.reused:,} "
                f"were known: {tokens}{cost}."
            )
        if made.broken:
            told.append(
                f"{made.broken:,} summaries of the chat model named none of their passages: the "
                "documents' own sentences stand for them."
            )
        if made.long:
            told.append(
                f"{made.long:,} documents have more than {MAX_CHUNKS:,} passages and no tree."
            )
        if made.failure:
            told.append(
                f"No trees were made of {wanted - made.trees - made.long:,} further documents: "
                f"{made.failure} Ingest again to go on."
            )
        return told


def open_maker(parts: EnricherParts) -> SummaryMaker | None:
    """Make what makes the trees, None where none are wanted."""
    adapters, wanted = parts.adapters, parts.settings.ingest.tree
    if wanted == "off":
        return None
    model = adapters.completer if wanted == "model" else None
    lacks_model = wanted == "model" and model is None
    return SummaryMaker(adapters.index, adapters.catalog, adapters.templates, model, lacks_model)


@dataclass(frozen=True, slots=True)
class _Text:
    """What a node says, the chunks that its numbers name, the hash of what the chat model was
    shown for it, and why there is none where the model failed."""

    text: str
    cited: tuple[int, ...] = ()
    key: str = ""
    failure: str = ""


@dataclass(slots=True)
class _Made:
    """What one run has made so far."""

    tracker: Tracker
    trees: int = 0
    nodes: int = 0
    asked: int = 0
    reused: int = 0
    broken: int = 0
    long: int = 0
    usage: Usage = field(default_factory=Usage)
    failure: str = ""


def _node_filter(document: Document) -> And:
    return And((eq("revision", revision(document.id, document.version)), eq("kind", SUMMARY)))


def _node_text(
    node: SummaryNode,
    nodes: Sequence[SummaryNode],
    chunks: Sequence[Chunk],
    texts: Mapping[int, _Text],
) -> tuple[str, list[int]]:
    """What the chat model reads for a node, and the chunks that the numbers in it name, from 1."""
    parts, cited = list[str](), list[int]()

    def number_chunk(chunk_index: int) -> int:
        if chunk_index not in cited:
            cited.append(chunk_index)
        return cited.index(chunk_index) + 1

    if not node.children:
        for index in range(node.first, node.last + 1):
            chunk = chunks[index]
            head = " > ".join(chunk.section)
            said = neutralize_markers(f"{head}\n{chunk.text}" if head else chunk.text)[:SHOWN]
            parts.append(f"[{number_chunk(index)}] {said}")
        return "\n\n".join(parts), cited
    for child in node.children:
        text = texts[child]
        if text.cited:
            new = {place: number_chunk(index) for place, index in enumerate(text.cited, 1)}
            parts.append(renumber_markers(text.text, new)[:SHOWN])
            continue
        for item in in_order(nodes[child].said):
            said = neutralize_markers(excerpt_text(item, chunks[item.chunk_index]))
            parts.append(f"{said} [{number_chunk(item.chunk_index)}]")
    return "\n\n".join(parts), cited
