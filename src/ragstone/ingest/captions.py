"""What a chat model that sees says of the pictures of documents, by which they are found.

A description becomes a caption in the text of its document, marked as a model's, by reading the
document once more. It is kept by the digest of the picture, so that the model sees a picture once
however often its document changes. Which pictures lack one is asked of the index, so an ingest that
was cut off goes on where it was.
"""

import asyncio
import base64
import hashlib
import json
import shutil
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from pathlib import Path

from ragstone.core.answer import Usage
from ragstone.core.chunk import MADE, Chunk, revision
from ragstone.core.document import picture_parts
from ragstone.core.errors import DocumentError, RagstoneError
from ragstone.core.filters import eq
from ragstone.core.records import Collection, Document
from ragstone.core.tool import Picture
from ragstone.core.turn import Ask
from ragstone.ingest.formats.redrawn import media_type_of
from ragstone.ingest.handed import private_file
from ragstone.ingest.pictures import DESCRIBED
from ragstone.ingest.progress import Tracker
from ragstone.language.templates import of_language, shipped
from ragstone.ports import Catalog, ChunkIndex, Conversing, Templates

PROMPT = "picture_description"

FOLDER = "captions"

AT_A_TIME = 2
"""Calls of the chat model; the questions that are being answered meanwhile need it too."""

REPLY_TOKENS = 200
LONGEST = 800
"""Characters of a description."""

Draw = Callable[[Document, str], Awaitable[bytes]]
"""Draws a picture of a document by its id; raises DocumentError."""

Reread = Callable[[Collection, Document, Mapping[str, str]], Awaitable[None]]
"""Reads a document once more, with descriptions by the digests of its pictures; raises
DocumentError."""


class Captions:
    """The descriptions of each collection's pictures by their digests, in the data directory; none
    are kept without one. Blocking: use it in a thread."""

    def __init__(self, data: Path | None) -> None:
        self._folder = data.expanduser().absolute() / FOLDER if data else None

    def of(self, collection: Collection, digests: Iterable[str]) -> dict[str, str]:
        """Those that are known."""
        found = {}
        for digest in digests:
            file = self._file(collection, digest)
            with suppress(OSError, ValueError, KeyError, TypeError):
                if file:
                    found[digest] = str(json.loads(file.read_bytes())["text"])
        return found

    def put(self, collection: Collection, digest: str, text: str, model: str) -> None:
        """Keep what a model said. A place that cannot be written costs that call again."""
        file = self._file(collection, digest)
        if file is None:
            return
        with suppress(OSError):
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft = file.with_suffix(".draft")
            draft.unlink(missing_ok=True)
            with private_file(draft) as target:
                target.write(json.dumps({"text": text, "model": model}).encode())
            draft.replace(file)

    def keep_only(self, collection: Collection, digests: Iterable[str]) -> None:
        """Forget what was said of pictures that the collection no longer has."""
        folder = self._of(collection)
        kept = frozenset(digests)
        for file in folder.glob("*") if folder else ():
            if file.stem not in kept:
                file.unlink(missing_ok=True)

    def sweep(self, collections: Iterable[Collection]) -> None:
        """Forget what was said of pictures of collections that are gone."""
        if self._folder is None or not self._folder.is_dir():
            return
        kept = {self._of(one) for one in collections}
        for folder in self._folder.iterdir():
            if folder not in kept:
                shutil.rmtree(folder, ignore_errors=True)

    def _of(self, collection: Collection) -> Path | None:
        name = hashlib.sha256(f"{collection.tenant}\0{collection.id}".encode()).hexdigest()[:32]
        return self._folder / name if self._folder else None

    def _file(self, collection: Collection, digest: str) -> Path | None:
        folder = self._of(collection)
        return folder / f"{digest}.json" if folder else None


@dataclass(frozen=True, slots=True)
class CaptionMaker:
    """Has `model`, which can look at pictures, describe at most `most` pictures an ingest."""

    index: ChunkIndex
    catalog: Catalog
    model: Conversing
    templates: Templates
    kept: Captions
    most: int

    async def make(
        self, collection: Collection, tracker: Tracker, draw: Draw, reread: Reread
    ) -> None:
        """Describe what is not described. Where the model fails the rest is left for the next
        ingest, and a note says so."""
        documents = await self.catalog.documents(collection.tenant, collection.id)
        by_name = {revision(one.id, one.version): one for one in documents}
        lacking: dict[str, set[str]] = {}
        described: dict[str, set[str]] = {}
        seen: set[str] = set()
        async for batch in self.index.scan(collection):
            for chunk in batch:
                if chunk.revision in by_name:
                    having, without = _pictures(chunk)
                    seen |= having | without
                    lacking.setdefault(chunk.revision, set()).update(without)
                    described.setdefault(chunk.revision, set()).update(having)
        digests = {_digest(id) for id in seen}
        await asyncio.to_thread(self.kept.keep_only, collection, digests)
        open_ = {name: ids - described[name] for name, ids in lacking.items()}
        wanted = [(by_name[name], ids) for name, ids in open_.items() if ids]
        if wanted:
            await _Making(self, collection, tracker, draw, reread).describe(wanted)

    async def known(self, collection: Collection, document: Document) -> dict[str, str]:
        """The descriptions of the pictures that a document has in the index, by their digests."""
        ids: set[str] = set()
        where = eq("revision", revision(document.id, document.version))
        async for batch in self.index.scan(collection, where):
            for chunk in batch:
                ids = ids.union(*_pictures(chunk))
        return await asyncio.to_thread(self.kept.of, collection, {_digest(id) for id in ids})

    async def describe(self, collection: Collection, data: bytes) -> "Described":
        """What the model says of a picture; raises RagstoneError."""
        texts = await self.templates.texts(collection.tenant)
        rules = of_language(texts, PROMPT, lambda: collection.language) or shipped(PROMPT) or ""
        picture = Picture(media_type_of(data), base64.b64encode(data).decode())
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
        return Described(" ".join(text.split())[:LONGEST], usage)


@dataclass(frozen=True, slots=True)
class Described:
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
    ) -> None:
        self._maker, self._collection, self._tracker = maker, collection, tracker
        self._draw, self._reread = draw, reread
        self._known: dict[str, str] = {}
        self._usage = Usage()
        self._asked = 0
        self._missing = 0
        self._failure = ""
        self._estimated = False

    async def describe(self, wanted: Sequence[tuple[Document, set[str]]]) -> None:
        digests = {_digest(id) for _, ids in wanted for id in ids}
        kept = self._maker.kept
        self._known = await asyncio.to_thread(kept.of, self._collection, digests)
        left = len(digests - self._known.keys())
        for document, ids in wanted:
            waiting = sorted({_digest(id): id for id in ids}.items())
            new = [id for digest, id in waiting if digest not in self._known]
            for start in range(0, len(new), AT_A_TIME):
                if self._failure or self._asked >= self._maker.most:
                    break
                room = min(AT_A_TIME, self._maker.most - self._asked)
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
        self._tracker.asked(0, said.usage)
        if said.text:
            self._known[_digest(id)] = said.text
            put = self._maker.kept.put
            await asyncio.to_thread(
                put, self._collection, _digest(id), said.text, self._maker.model.name
            )

    def _estimate(self, left: int) -> None:
        """Say once what all will take, by what the first ones took."""
        if self._estimated or not self._asked:
            return
        self._estimated = True
        share = min(left, self._maker.most) / self._asked
        tokens = f"about {self._usage.total_tokens * share:,.0f} tokens"
        cost = "" if self._usage.cost is None else f", {self._usage.cost * share:.4f} US dollars"
        self._tracker.note(
            f"{self._maker.model.name} describes {min(left, self._maker.most):,} pictures: "
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
            why = f": {self._failure}" if self._failure else " (INGEST__CAPTIONS_MOST)."
            self._tracker.note(f"{rest:,} pictures are not described{why} Ingest again to go on.")


def _digest(id: str) -> str:
    parts = picture_parts(id)
    return parts[0] if parts else ""


def _pictures(chunk: Chunk) -> tuple[set[str], set[str]]:
    """The ids of a chunk's pictures that are described by a model, and of the others."""
    if chunk.kind in MADE or '"' not in chunk.layout:
        return set(), set()
    described: set[str] = set()
    all_: set[str] = set()
    for block in chunk.blocks:
        all_.update(block.pictures)
        if block.label == DESCRIBED:
            described.update(block.pictures)
    return described, all_ - described
