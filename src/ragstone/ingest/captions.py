"""What a chat model that sees says of the pictures of documents, by which they are found.

A description becomes a caption in the text of its document, marked as a model's, by reading the
document once more. Descriptions are found again in the index by the digest of the picture, so that
the model sees a picture once however often its document changes, and so is which pictures lack one:
an ingest that was cut off goes on where it was. They go with their documents.
"""

import asyncio
import base64
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ragstone.core.answer import Usage
from ragstone.core.chunk import MADE, Chunk, revision
from ragstone.core.disk import temporary_folder
from ragstone.core.document import picture_parts
from ragstone.core.errors import DocumentError, RagstoneError
from ragstone.core.filters import eq
from ragstone.core.records import Collection, Document
from ragstone.core.tool import Picture
from ragstone.core.turn import Ask
from ragstone.ingest.formats.image_file import detect_media_type
from ragstone.ingest.pictures import DESCRIBED
from ragstone.ingest.progress import Tracker
from ragstone.language.templates import choose_by_language, load_shipped
from ragstone.ports import Catalog, ChunkIndex, Conversing, Templates

PROMPT = "picture_description"

AT_A_TIME = 2
"""Calls of the chat model; the questions that are being answered meanwhile need it too."""

MAX_PICTURES = 1000
"""Pictures that are described in one ingest, each of which costs a call; the next one goes on."""

REPLY_TOKENS = 200
MAX_DESCRIPTION_CHARS = 800
"""Characters of a description."""

Draw = Callable[[Document, str], Awaitable[bytes]]
"""Draws a picture of a document by its id; raises DocumentError."""

Reread = Callable[[Collection, Document, Mapping[str, str]], Awaitable[None]]
"""Reads a document once more, with descriptions by the digests of its pictures; raises
DocumentError."""


@dataclass(frozen=True, slots=True)
class CaptionMaker:
    """Has `model`, which can look at pictures, describe at most MAX_PICTURES an ingest."""

    index: ChunkIndex
    catalog: Catalog
    model: Conversing
    templates: Templates

    async def make(
        self, collection: Collection, tracker: Tracker, draw: Draw, reread: Reread
    ) -> None:
        """Describe what is not described. Where the model fails the rest is left for the next
        ingest, and a note says so."""
        documents = await self.catalog.documents(collection.tenant, collection.id)
        by_name = {revision(item.id, item.version): item for item in documents}
        found: dict[str, _Found] = {}
        async for batch in self.index.scan(collection):
            for chunk in batch:
                if chunk.revision in by_name:
                    found.setdefault(chunk.revision, _Found()).add(chunk)
        known = {digest: text for item in found.values() for digest, text in item.texts().items()}
        open_ = [(by_name[name], item.find_lacking()) for name, item in found.items()]
        wanted = [(document, ids) for document, ids in open_ if ids]
        if wanted:
            await _Making(self, collection, tracker, draw, reread, known).describe(wanted)

    async def find_descriptions(self, collection: Collection, document: Document) -> dict[str, str]:
        """The descriptions that a document has in the index, by the digests of its pictures."""
        found = _Found()
        # Only the version that answers: descriptions of pictures that are gone go with it.
        where = eq("revision", revision(document.id, document.version))
        async for batch in self.index.scan(collection, where):
            for chunk in batch:
                found.add(chunk)
        return found.texts()

    async def describe(self, collection: Collection, data: bytes) -> "PictureDescription":
        """Return what the model says of a picture; raises RagstoneError."""
        texts = await self.templates.texts(collection.tenant)
        rules = (
            choose_by_language(texts, PROMPT, lambda: collection.language)
            or load_shipped(PROMPT)
            or ""
        )
        picture = Picture(detect_media_type(data), base64.b64encode(data).decode())
        ask = Ask(
            "Describe this picture.",
            temperature=0.0,
            max_tokens=REPLY_TOKENS,
            pictures=(picture,),
            search_type="gpt",
            keeps=False,
        )
        text, usage = "", Usage()
        async with aclosing(self.model.converse(ask, rules.strip())) as stream:
            async for said in stream:
                text, usage = text + said.text, usage + said.usage
        return PictureDescription(" ".join(text.split())[:MAX_DESCRIPTION_CHARS], usage)


@dataclass(frozen=True, slots=True)
class PictureDescription:
    """What a model said of a picture, and what that took."""

    text: str
    usage: Usage


class _Making:
    """One round over the pictures of a collection."""

    def __init__(
        self,
        maker: CaptionMaker,
        collection: Collection,
        tracker: Tracker,
        draw: Draw,
        reread: Reread,
        known: dict[str, str],
    ) -> None:
        self._maker, self._collection, self._tracker = maker, collection, tracker
        self._draw, self._reread, self._known = draw, reread, known
        self._usage = Usage()
        self._asked = 0
        self._missing = 0
        self._failure = ""
        self._estimated = False

    async def describe(self, wanted: Sequence[tuple[Document, set[str]]]) -> None:
        digests = {_digest(id) for _, ids in wanted for id in ids}
        left = len(digests - self._known.keys())
        for document, ids in wanted:
            waiting = sorted({_digest(id): id for id in ids}.items())
            new = [id for digest, id in waiting if digest not in self._known]
            for start in range(0, len(new), AT_A_TIME):
                if self._failure or self._asked >= MAX_PICTURES:
                    break
                room = min(AT_A_TIME, MAX_PICTURES - self._asked)
                await asyncio.gather(*(self._one(document, id) for id in new[start : start + room]))
                self._estimate(left)
            found = {digest: self._known[digest] for digest, _ in waiting if digest in self._known}
            if found:
                with suppress(DocumentError):  # Its file is gone; what is indexed of it stays.
                    await self._reread(self._collection, document, found)
        self._tell(left)

    async def _one(self, document: Document, id: str) -> None:
        """Have one picture described."""
        try:
            data = await self._draw(document, id)
        except DocumentError:
            self._missing += 1
            return
        try:
            said = await self._maker.describe(self._collection, data)
        except RagstoneError as error:
            self._failure = error.message
            return
        self._asked += 1
        self._usage += said.usage
        self._tracker.count_questions(0, said.usage)
        if said.text:
            self._known[_digest(id)] = said.text

    def _estimate(self, left: int) -> None:
        """Say once what all will take, by what the first ones took."""
        if self._estimated or not self._asked:
            return
        self._estimated = True
        share = min(left, MAX_PICTURES) / self._asked
        tokens = f"about {self._usage.total_tokens * share:,.0f} tokens"
        cost = "" if self._usage.cost is None else f", {self._usage.cost * share:.4f} US dollars"
        self._tracker.note(
            f"{self._maker.model.name} describes {min(left, MAX_PICTURES):,} pictures: "
            f"{tokens if self._usage.counted else 'tokens that it does not count'}{cost}, by the "
            "first ones."
        )

    def _tell(self, left: int) -> None:
        used = self._usage
        if self._asked:
            cost = "" if used.cost is None else f", {used.cost:.4f} US dollars"
            tokens = f", {used.total_tokens:,} tokens" if used.counted else ""
            self._tracker.note(
                f"{self._maker.model.name} described {self._asked:,} pictures: {used.calls:,} "
                f"calls{tokens}{cost}."
            )
        if self._missing:
            self._tracker.note(f"{self._missing:,} pictures could not be drawn from their files.")
        rest = left - self._asked - self._missing
        if rest > 0:
            why = f": {self._failure}" if self._failure else "."
            self._tracker.note(f"{rest:,} pictures are not described{why} Ingest again to go on.")


def _digest(id: str) -> str:
    parts = picture_parts(id)
    return parts[0] if parts else ""


class _Found:
    """What the chunks of one document say of its pictures."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}
        self._parts: dict[str, dict[int, str]] = {}

    def add(self, chunk: Chunk) -> None:
        if chunk.kind in MADE or '"' not in chunk.layout:
            return
        for block in chunk.blocks:
            for id in block.pictures:
                self._ids.setdefault(_digest(id), id)
                if block.label == DESCRIBED:
                    parts = self._parts.setdefault(_digest(id), {})
                    text, start = chunk.text[block.start : block.end], chunk.start + block.start
                    # Of two that begin at one place the longer one holds the other.
                    parts[start] = max(text, parts.get(start, ""), key=len)

    def find_lacking(self) -> set[str]:
        """Return the ids of the pictures of which no model has said anything."""
        return {id for digest, id in self._ids.items() if digest not in self._parts}

    def texts(self) -> dict[str, str]:
        """The descriptions by digest: their parts in several chunks, which overlap, joined."""
        return {digest: _join_parts(parts) for digest, parts in self._parts.items()}


def _join_parts(parts: Mapping[int, str]) -> str:
    text, end = "", -1
    for start, part in sorted(parts.items()):
        if start + len(part) > end:
            text += part if start >= end >= 0 or not text else part[end - start :]
            end = start + len(part)
    return " ".join(text.split())


MAX_CHARS = 4_000
"""Characters of a question that are read from its pictures."""

_ENDINGS = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp"}

Beginning = Callable[[Path, int, int], Awaitable[str]]
"""At most so many characters, the last number, of the text of a file with so many bytes; raises
DocumentError."""


async def with_picture_text(ask: Ask, beginning: Beginning) -> Ask:
    """Return the question with the text that is recognised in its pictures instead of them,
    answered from the documents; unchanged where there is none."""
    texts: list[str] = []
    with temporary_folder() as folder:
        for number, picture in enumerate(ask.pictures):
            room = MAX_CHARS - sum(map(len, texts))
            ending = _ENDINGS.get(picture.media_type)
            if not ending or room <= 0:
                continue
            file = folder / f"picture{number + 1}.{ending}"
            data = base64.b64decode(picture.base64)
            await asyncio.to_thread(file.write_bytes, data)
            try:
                found = await beginning(file, len(data), room)
            except DocumentError:
                continue  # Without text, damaged or too large: the others may still say something.
            texts.append(found.strip()[:room])
    said = "\n".join(text for text in texts if text)
    if not said:
        return ask
    question = f"{ask.question}\n\n{said}".strip()
    kind = "rag" if ask.search_type == "gpt" else ask.search_type
    return replace(ask, question=question, pictures=(), search_type=kind)
