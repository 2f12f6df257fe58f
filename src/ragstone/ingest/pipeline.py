"""One ingest: which files, their text, their vectors, and what is gone. Safe to run again.

Everything is decided by what the catalog and the index hold, so a run that was killed is simply
run once more: finished files are unchanged, the rest is done.
"""

import asyncio
import logging
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from ragstone.core.errors import (
    Conflict,
    DocumentError,
    StateUnavailable,
    UnknownCollection,
    UnreadableDocument,
)
from ragstone.core.limits import check_collection_name
from ragstone.core.records import Collection, Document
from ragstone.core.turn import Ask
from ragstone.ingest import changes, document_changes, file_threads, readers, uploads
from ragstone.ingest.batch_writer import BatchWriter, Done
from ragstone.ingest.captions import CaptionMaker, with_picture_text
from ragstone.ingest.comparison import ChangedFile, FileComparison, is_kept, is_textless_picture
from ragstone.ingest.document_changes import DocumentChanges
from ragstone.ingest.embedding import (
    Leaves,
    Pending,
    embed_pending,
    explain_missing_late,
    explain_outgrown,
    late_dimensions,
    leave_nothing,
    main_language,
)
from ragstone.ingest.enricher import Enricher
from ragstone.ingest.files import (
    CHAPTER,
    WITHOUT_TEXT,
    FoundFile,
    RefusedFile,
    SkippedFile,
    discover,
    find_given_folder,
    is_text,
    printable_path,
)
from ragstone.ingest.formats.recognition import is_installed
from ragstone.ingest.members import OpenedArchives, forget_archives, open_archives
from ragstone.ingest.move import Placement, move_if_due
from ragstone.ingest.parse_messages import ArchiveMember
from ragstone.ingest.parse_process import PARSE_PROCESSES, ParseProcesses
from ragstone.ingest.places import find_file, is_archive, keep_folder, open_regular, resolve_links
from ragstone.ingest.progress import MAX_FAILURES, Tracker
from ragstone.ingest.reading_marks import ReadingMarks
from ragstone.ingest.rebuild import rebuild
from ragstone.ingest.sharing import Helping, Sharing
from ragstone.ingest.turns import Owner
from ragstone.ingest.write import Writer, Written, document_id
from ragstone.language.language import detect
from ragstone.ports import Catalog, ChunkIndex, Embedders, Parts, check_late, home, may_share
from ragstone.service import IngestRequest, Progress
from ragstone.settings import IngestSettings

log = logging.getLogger(__name__)

COMPARED_AT_ONCE = 256
"""Files that are compared with their documents in one step."""

NOT_TEXT = "Its name, or that of a folder above it, is not valid text. Rename it."

MAX_SKIPPED = 10_000
"""Skipped files of one ingest that are known by their names; all further ones are counted."""

CHUNK_BYTES = 10_000
"""Bytes of a file for each of its chunks, about: a text has a tenth, a picture a hundred times as
many. What a new collection of many will hold is better begun where it stays."""

SAMPLED_FILES = 16
"""Files whose beginnings tell the language of a new collection."""


class Pipeline(DocumentChanges):
    """Runs ingest requests, one at a time per collection. What it reads is marked in `data`."""

    def __init__(
        self,
        index: ChunkIndex,
        catalog: Catalog,
        embedders: Embedders,
        settings: IngestSettings,
        enrichers: Sequence[Enricher] = (),
        data: Path | None = None,
        captions: CaptionMaker | None = None,
        parts: Parts | None = None,
    ) -> None:
        super().__init__(index, catalog, uploads.Originals(data), enrichers)
        self._embedders = embedders
        self._settings = settings
        self._captions = captions
        self._parts = parts
        self._writer = Writer(index, catalog, ParseProcesses(settings))
        # One process of their own: a picture that somebody looks at waits for no ingest.
        self._drawing = ParseProcesses(settings, processes=1)
        self._marks = ReadingMarks(data)
        self._spool = uploads.Spool(data) if data else None
        self.placement = Placement(index, catalog)
        self.helping = Helping(index, catalog, embedders, settings, self._writer, self._read_file)

    async def ingest(
        self,
        job: str,
        request: IngestRequest,
        report: Callable[[Progress], None],
        id: str = "",
        earlier: Progress | None = None,
        leaves: Leaves = leave_nothing,
    ) -> Progress:
        """Do what `request` asks; raises only what stops the whole job. Returns the last word.

        `earlier` is how far the job was when it was cut off. `id` is the collection's, whatever
        its name is by now; if empty, the request's name says which one it is. Raises
        UnknownCollection for one that was dropped, Conflict where another one has its name by now.
        What waited for its vectors before may be left to another ingest when that `leaves` it.
        """
        id = id or await self._catalog.identity(request.tenant, request.collection)
        async with self._lock_collection(job, request.tenant, id):
            # Who hands documents over asks of each how it went.
            tracker = Tracker(job, report, earlier, MAX_FAILURES + len(request.handed))
            only = await self._list_only(request, id)
            shares = file_threads.mount_points() if request.prune else frozenset()
            paths = request.paths
            found = await file_threads.run(paths, self._discover, request, only, tracker)
            opened = await self._open_archives(Owner(request.tenant, id), found, tracker)
            found, archives = list(opened.files), opened.archives
            readable = [item for item in found if not item.skipped]
            collection = await self._collection(request, id, readable, tracker)
            if collection:
                await self._index.create(collection)
                await self.placement.check(collection)
                await readers.apply_rules(self._index, self._catalog, collection)
                found = await self._keep_known_paths(collection, only, found)
                comparison = FileComparison(
                    self._index, self._catalog, self.originals, self._settings, tracker
                )
                chapters = await comparison.find_chapters(collection, request, found)
                found = [item for item in found if item.place not in chapters]
                for _ in chapters:
                    tracker.count_skipped(CHAPTER)
                _expect(found, tracker)
                tracker.set_waiting(await self._index.count_without_vectors(collection))
                await self._index_files(
                    job, collection, request, found, comparison, tracker, leaves
                )
                by_themselves = await self._catalog.find_documents(list(chapters.values()))
                await self.forget(collection, list(by_themselves))
                await self._forget_former(collection, request, found, archives)
                if request.prune:
                    places = {item.place for item in archives}
                    await self._prune(collection, request, only, found, shares, places, tracker)
                await self._describe(collection, tracker)
                # What is known of the versions before is needed for the new ones.
                for enricher in self._enrichers:
                    if await enricher.make(collection, tracker):
                        await self._embed(collection, with_tokens=False)
                await self.purge()
                tracker.phase("building")
                await self._index.optimize(collection)
                self._wake(collection)
                counts = await self._index.facet(collection, "language")
                if sentence := explain_outgrown(collection, counts, self._embedders):
                    tracker.note(sentence)
        if collection and collection.shared:
            await self._move_if_due(collection)
        return tracker.finish()

    async def _move_if_due(self, collection: Collection) -> None:
        """Give a collection that has outgrown what it shares a place of its own."""
        await move_if_due(self._index, self._catalog, collection)
        now = await self._catalog.find_by_id(collection.tenant, collection.id)
        if now is not None and now != collection:
            # Who reads it in the background has not seen all of it where it was.
            self._wake(now)

    @asynccontextmanager
    async def _lock_collection(self, job: str, tenant: str, id: str) -> AsyncIterator[None]:
        """Nobody else changes the collection but who does parts of this job, from now on and until
        the end: an attempt before may have left some."""
        if self._parts is not None:
            await self._parts.drop(job)
        async with self._catalog.alone(tenant, id):
            try:
                yield
            finally:
                if self._parts is not None:
                    with suppress(StateUnavailable):  # They go with the job.
                        await asyncio.shield(self._parts.drop(job))

    async def rebuild(
        self, job: str, collection: Collection, report: Callable[[Progress], None]
    ) -> Progress:
        """Index a collection anew with the configured model; no ingest runs meanwhile."""
        async with self._lock_collection(job, collection.tenant, collection.id):
            return await rebuild(
                job,
                collection,
                self._index,
                self._catalog,
                self._embedders,
                report,
                self._settings,
                self._parts,
            )

    async def embed(self, collection: Collection) -> None:
        """Give the chunks of a collection that wait for vectors theirs."""
        async with self._catalog.alone(collection.tenant, collection.id):
            # It may have been built anew or moved, or dropped, while this waited.
            now = await self._catalog.find_by_id(collection.tenant, collection.id)
            if now is not None:
                await self._embed(now, self._settings.keeps_token_vectors)

    async def _embed(self, collection: Collection, with_tokens: bool) -> None:
        await embed_pending(
            self._index,
            self._catalog,
            self._embedders,
            collection,
            lambda: False,
            lambda _: None,
            with_tokens,
        )

    async def reread(self, document: Document) -> bool:
        """Index a document again from its source, or from what is kept of it; False, and nothing
        has changed, if there is neither or it is unreadable."""
        async with self._catalog.alone(document.tenant, document.collection):
            collection = await self._catalog.find_by_id(document.tenant, document.collection)
            if collection is None:
                return False
            try:
                original = await asyncio.to_thread(self.originals.find_file, document.id)
                with _errors_by_name(collection):
                    folder = find_given_folder(document.path, Path(document.source))
                    captions = await self._find_captions(collection, document)
                    await self._writer.write(collection, document, original, folder, captions)
            except DocumentError:
                return False
        await readers.grant(self._index, self._catalog, collection)
        await self.purge()
        self._wake(collection)
        await self.embed(collection)
        return True

    async def picture(self, document: Document, id: str) -> bytes:
        """Return a picture of a document by its id, drawn anew from the document's file; raises
        DocumentError."""
        source = Path(document.source)
        file = await asyncio.to_thread(self.originals.find_file, document.id) or source
        await file_threads.run([file], _check_readable, file)
        folder, owner = find_given_folder(document.path, source), Owner(document.tenant, "")
        return await self._drawing.picture(file, document.size, id, folder, owner)

    async def with_picture_text(self, ask: Ask) -> Ask:
        """Return the question with the text in its pictures instead of them, where that can be
        recognised and there is some."""
        if not (self._settings.ocr and is_installed()):
            return ask
        owner = Owner(ask.principal.tenant, "")
        return await with_picture_text(ask, partial(self._drawing.read_beginning, owner=owner))

    def forget_marks(self) -> None:
        """Delete what a server that died has left of files that are gone. Blocking."""
        self._marks.sweep()

    async def aclose(self) -> None:
        """End the processes that read files."""
        await self._writer.aclose()
        await self._drawing.aclose()

    async def _list_only(self, request: IngestRequest, id: str) -> list[Path] | None:
        """Return what alone is to be looked at, None for everything: what the request names, and
        the documents that include any of it."""
        if not request.only:
            return None
        real = await file_threads.run(request.paths, _real_paths, request.only)
        including = await self._catalog.find_including(request.tenant, id, real)
        return [Path(item) for item in (*request.only, *including)]

    async def _find_sources(
        self, collection: Collection, only: Sequence[Path] | None, found: Sequence[FoundFile]
    ) -> Mapping[str, Sequence[str]]:
        """Return what is known of the places that are looked at, and of the files found there."""
        if only is None:
            return await self._catalog.sources(collection.tenant, collection.id)
        files, folders = await file_threads.run(only, _files_and_folders, only)
        linked = (item.place for item in found if item.handed is None)
        files |= {entry for entry in linked if not _is_below(entry, folders)}
        return await self._catalog.sources(
            collection.tenant, collection.id, sorted(files), sorted(folders)
        )

    async def _keep_known_paths(
        self, collection: Collection, only: Sequence[Path] | None, found: Sequence[FoundFile]
    ) -> list[FoundFile]:
        """Return each file once, at the path that it has in the collection already."""
        known = await self._find_sources(collection, only, found)
        return await asyncio.to_thread(lambda: list(changes.keep_known_paths(found, known)))

    def _discover(
        self, request: IngestRequest, only: Sequence[Path] | None, tracker: Tracker
    ) -> list[FoundFile]:
        found = []
        skipped = 0
        paths = [Path(path) for path in request.paths]
        how = self._settings
        with keep_folder():
            for item in discover(paths, pictures=how.ocr, only=only):
                if isinstance(item, RefusedFile):
                    tracker.count_failed(
                        printable_path(item.path), printable_path(item.error.message)
                    )
                elif isinstance(item, SkippedFile):
                    tracker.count_skipped(item.kind)
                    if item.file and skipped < MAX_SKIPPED and _is_storable(item.file):
                        found.append(item.file)
                        skipped += 1
                elif not _is_storable(item):
                    tracker.count_failed(printable_path(item.path), NOT_TEXT)
                else:
                    found.append(item)
        shared = self._parts is not None
        spool = self._spool
        found += [
            uploads.build_found_file(spool.locate(entry, shared) if spool else entry)
            for entry in request.handed
        ]
        _expect(found, tracker)
        return found

    async def _open_archives(
        self, owner: Owner, found: Sequence[FoundFile], tracker: Tracker
    ) -> OpenedArchives:
        async def list_members(item: FoundFile, folder: Path | None) -> Sequence[ArchiveMember]:
            with self._marks.mark(item) as heavy:
                return await self._writer.members(item.source, item.size, folder, heavy, owner)

        return await open_archives(found, list_members, tracker, pictures=self._settings.ocr)

    async def _forget_former(
        self,
        collection: Collection,
        request: IngestRequest,
        found: Sequence[FoundFile],
        archives: Sequence[FoundFile],
    ) -> None:
        """Forget what archives were before: one document, or with other members where they were
        handed over; then these themselves."""
        if not archives:
            return
        sources = [_source(item) for item in archives]
        below = [_source(item) for item in archives if item.handed]
        known = await self._catalog.sources(collection.tenant, collection.id, sources, below)
        here = {_source(item) for item in found}
        paths = [path for source in known.keys() - here for path in known[source]]
        ids = [document_id(collection.tenant, collection.id, path) for path in paths]
        documents = await self._catalog.find_documents(ids)
        names = set(request.by.names) if request.by else None
        former = [
            document.id
            for document in documents.values()
            if names is None or names & set(document.allowed)
        ]
        await self.forget(collection, former)
        await asyncio.to_thread(forget_archives, archives)

    async def _collection(
        self, request: IngestRequest, id: str, found: Sequence[FoundFile], tracker: Tracker
    ) -> Collection | None:
        """The collection, made now if it is new: its first files decide model and language."""
        known = await self._catalog.find_by_id(request.tenant, id)
        if known or not found:
            if known:
                embedder = self._embedders.find_indexing(known)
                if said := explain_missing_late(known, embedder, self._settings):
                    tracker.note(said)
            return known
        await self._refuse_if_gone(request, id)
        check_collection_name(request.collection)
        language = await self._language(found, Owner(request.tenant, id))
        embedder = self._embedders.choose(language)
        collection = Collection(
            request.tenant,
            request.collection,
            embedder.name,
            embedder.fingerprint,
            embedder.dimensions,
            language,
            id=id,
            late=late_dimensions(embedder, self._settings),
            place=home(self._index),
            shared=may_share(self._index, sum(item.size // CHUNK_BYTES + 1 for item in found)),
        )
        check_late(self._index, collection)
        await self.placement.check_all()
        await self._index.create(collection)
        try:
            await self._catalog.put_collection(collection)
        except Conflict:
            await self._index.drop(collection)
            raise
        shown = "mixed" if language in ("", "mul") else repr(language)
        tracker.note(
            f"New collection {collection.name!r}: the text is {shown}, "
            f"so {embedder.name} embeds it."
        )
        if said := explain_missing_late(collection, embedder, self._settings):
            tracker.note(said)
        return collection

    async def _refuse_if_gone(self, request: IngestRequest, id: str) -> None:
        """Raise if the collection of this id was dropped."""
        if id in await self._catalog.names(request.tenant, [id]):
            return
        if await self._catalog.collection(request.tenant, request.collection):
            raise Conflict(
                f"Another collection is called {request.collection!r} by now. Ingest again if the "
                "files belong there."
            )
        raise UnknownCollection(request.collection)

    async def _language(self, found: Sequence[FoundFile], owner: Owner) -> str:
        """The main language of sampled files, "mul" for several, English where none is known."""
        number = min(len(found), SAMPLED_FILES)
        sampled = [found[place * len(found) // number] for place in range(number)]
        places = asyncio.Semaphore(PARSE_PROCESSES)

        async def sample(item: FoundFile) -> str:
            try:
                async with places:
                    with self._marks.mark(item, sample=True) as heavy:
                        return await self._writer.sample(item.source, item.size, heavy, owner)
            except DocumentError:
                return ""

        texts = await asyncio.gather(*map(sample, sampled))
        # The first text loads a model.
        languages = await asyncio.to_thread(lambda: Counter(map(detect, texts)))
        return main_language(languages) or "en"

    async def _index_files(
        self,
        job: str,
        collection: Collection,
        request: IngestRequest,
        found: Sequence[FoundFile],
        comparison: FileComparison,
        tracker: Tracker,
        leaves: Leaves,
    ) -> None:
        """Index text and vectors at once: the vectors follow behind the text."""
        pending = Pending(self._index, collection)

        async def refuse(changed: ChangedFile, error: DocumentError) -> None:
            await self._refuse(changed, error, tracker)

        done = self._handle_written(collection, tracker)
        sharing = Sharing(self._parts, job, collection, pending, tracker, done, refuse)
        async with asyncio.TaskGroup() as group:
            reading = group.create_task(
                self._read(collection, request, found, comparison, tracker, pending, sharing)
            )
            group.create_task(sharing.run())
            embedding = group.create_task(
                embed_pending(
                    self._index,
                    self._catalog,
                    self._embedders,
                    collection,
                    lambda: sharing.embedding or not reading.done(),
                    tracker.count_embedded,
                    self._settings.keeps_token_vectors,
                    pending,
                    leaves,
                )
            )
            embedding.add_done_callback(lambda _: sharing.end())

    async def _describe(self, collection: Collection, tracker: Tracker) -> None:
        """Have pictures described, where that is wanted; the documents answer meanwhile."""
        if self._captions is not None:
            await self._captions.make(collection, tracker, self.picture, self._reread_captioned)
            await self._embed(collection, self._settings.keeps_token_vectors)
        elif self._settings.captions:
            tracker.note(
                "INGEST__CAPTIONS has no effect: no chat model that can look at pictures is set "
                "(LLM__MODEL, LLM__VISION)."
            )

    async def _reread_captioned(
        self, collection: Collection, document: Document, captions: Mapping[str, str]
    ) -> None:
        source = Path(document.source)
        original = await asyncio.to_thread(self.originals.find_file, document.id)
        known = {**await self._find_captions(collection, document), **captions}
        with _errors_by_name(collection):
            folder = find_given_folder(document.path, source)
            await self._writer.write(collection, document, original, folder, known)

    async def _find_captions(
        self, collection: Collection, document: Document | None
    ) -> Mapping[str, str]:
        """Return what a model said of the pictures of a document that is indexed."""
        if self._captions is None or document is None:
            return {}
        return await self._captions.find_descriptions(collection, document)

    async def _read(
        self,
        collection: Collection,
        request: IngestRequest,
        found: Sequence[FoundFile],
        comparison: FileComparison,
        tracker: Tracker,
        pending: Pending,
        sharing: Sharing,
    ) -> None:
        """Sort out what is unchanged, and have several files read at once."""
        batch = BatchWriter(
            self._writer, collection, pending, self._handle_written(collection, tracker)
        )
        waiting = sharing.files

        async def find_changed() -> None:
            for start in range(0, len(found), COMPARED_AT_ONCE):
                some = found[start : start + COMPARED_AT_ONCE]
                for changed in await comparison.find_changed(collection, request, some):
                    await waiting.put(changed)
            await comparison.note_former_rules(collection)
            await sharing.all_read()
            for _ in range(PARSE_PROCESSES):
                await waiting.put(None)

        async def read() -> None:
            while (changed := await waiting.get()) is not None:
                sharing.count_taken()
                error = await self._read_file(collection, changed, self._writer, batch, pending)
                if error:
                    await self._refuse(changed, error, tracker)

        with _errors_by_name(collection):
            async with unwrap_error_group(), batch, asyncio.TaskGroup() as group:
                group.create_task(find_changed())
                for _ in range(PARSE_PROCESSES):
                    group.create_task(read())
        tracker.phase("embedding")

    async def _read_file(
        self,
        collection: Collection,
        changed: ChangedFile,
        writer: Writer,
        batch: BatchWriter,
        pending: Pending,
    ) -> DocumentError | None:
        """Read a file, to be written; why it cannot be read if it cannot."""
        item, document = changed.item, changed.document
        try:
            with self._marks.mark(item) as heavy:
                folder = None if item.handed else find_given_folder(document.path, item.source)
                captions = await self._find_captions(collection, changed.known)
                read = await writer.read(
                    collection, document, item.source, pending, heavy, folder, captions
                )
        except DocumentError as error:
            return error
        await batch.add(changed, read)
        return None

    async def _refuse(self, changed: ChangedFile, error: DocumentError, tracker: Tracker) -> None:
        """Note that a file cannot be read."""
        item = changed.item
        if is_textless_picture(item, error) and not is_kept(changed.known):
            tracker.count_passed(WITHOUT_TEXT, item.size)
            document = replace(changed.document, status="skipped", error=error.message)
            await self._catalog.fail_all([document])
            return
        await self._catalog.fail(changed.document, error.message)
        tracker.count_failed(item.path, error.message, item.size, read=True)
        if item.handed:
            await asyncio.to_thread(uploads.forget, item)

    def _handle_written(self, collection: Collection, tracker: Tracker) -> Done:
        """Return what follows when documents can be found by their words."""
        replaced: list[str] = []

        async def purge(several: Sequence[tuple[ChangedFile, Written]]) -> None:
            replaced.extend(changed.document.id for changed, _ in several if changed.known)
            if len(replaced) >= document_changes.HIDDEN_AT_ONCE:
                some = replaced.copy()
                replaced.clear()
                await self.purge(some)

        async def finish_parts(several: Sequence[tuple[ChangedFile, Written]]) -> None:
            looks = {entry.document.id: entry.look for entry, _ in several if entry.look}
            if looks:
                await self._catalog.put_looks(looks)
            # Others may read them than when they were compared.
            await readers.grant(self._index, self._catalog, collection)
            for changed, written in several:
                item = changed.item
                if item.handed:
                    await asyncio.to_thread(self.originals.keep, item, changed.document)
                new = not (changed.known and changed.known.version)
                tracker.count_indexed(item.size, written.chunks, written.pages, new=new)
                tracker.count_reused(written.embedded)
                for note in written.notes:
                    tracker.note_omission(f"{item.path}: {note}")
            if not self._learns_from_former:
                await purge(several)

        return finish_parts

    @property
    def _learns_from_former(self) -> bool:
        """Whether a chat model is not asked again what it said of the version before, which is read
        when all is written."""
        return any(enricher.reads_former for enricher in self._enrichers)

    async def _prune(
        self,
        collection: Collection,
        request: IngestRequest,
        only: Sequence[Path] | None,
        found: Sequence[FoundFile],
        shares: AbstractSet[str],
        archives: AbstractSet[str],
        tracker: Tracker,
    ) -> None:
        """Forget documents whose file was under the given paths and is gone."""
        known = await self._find_sources(collection, only, found)
        gone = await file_threads.run(
            request.paths, changes.find_gone, collection, known, request, found, shares, archives
        )
        for note in gone.notes:
            tracker.note(note)
        number = len(gone.documents)
        if request.hold and changes.is_suspicious(
            number, gone.known, empty=all(item.skipped for item in found)
        ):
            tracker.note(changes.explain_held(number, gone.known))
            tracker.count_pruned(0, held=number)
            return
        await self.forget(collection, gone.documents)
        tracker.count_pruned(number)


def _is_storable(item: FoundFile) -> bool:
    return is_text(item.path) and is_text(item.place)


def _expect(found: Sequence[FoundFile], tracker: Tracker) -> None:
    """Tell what is going to be read."""
    sizes = [item.size for item in found if not item.skipped]
    tracker.expect(len(sizes), sum(sizes))


def _source(item: FoundFile) -> str:
    """Return the source of a file's document."""
    return item.handed.source if item.handed else item.place


def _check_readable(file: Path) -> None:
    """Raise UnreadableDocument for a file that a process could not open, or would wait for."""
    try:
        os.close(open_regular(find_file(file)))
    except OSError as error:
        raise UnreadableDocument(f"{file.name} cannot be read: {error.strerror}.") from error


def _real_paths(paths: Sequence[str]) -> list[str]:
    return [resolve_links(path) for path in paths]


def _files_and_folders(places: Sequence[Path]) -> tuple[set[str], set[str]]:
    """Return the real places that are files, and those that are folders, as archives are too, or
    gone, as a folder may be."""
    real = {resolve_links(place) for place in places}
    files = {item for item in real if os.path.isfile(item)}
    return files, {item for item in real if item not in files or is_archive(item)}


def _is_below(source: str, places: AbstractSet[str]) -> bool:
    """Tell whether a file is at or below one of the places."""
    return source in places or any(str(parent) in places for parent in Path(source).parents)


@asynccontextmanager
async def unwrap_error_group() -> AsyncIterator[None]:
    """Raise the first error of several tasks, which ends the job, instead of a group of them."""
    try:
        yield
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from several


@contextmanager
def _errors_by_name(collection: Collection) -> Iterator[None]:
    """Name the collection in UnknownCollection: the catalog has only its id after a drop."""
    try:
        yield
    except UnknownCollection as error:
        raise UnknownCollection(collection.name) from error
