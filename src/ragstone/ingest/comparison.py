"""Which of the found files are to be read: what looks as it did when it was read is unchanged, what
looks otherwise is hashed."""

import asyncio
import hashlib
import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

from ragstone.core.errors import (
    CopyPassedOver,
    DocumentError,
    EmptyDocument,
    PathTaken,
    ReadersRefused,
    TooLarge,
)
from ragstone.core.readers import FolderReaders, is_subset, list_folders
from ragstone.core.records import Collection, Document, DocumentStatus
from ragstone.core.turn import Principal
from ragstone.ingest import changes, file_threads, readers, uploads
from ragstone.ingest.files import COPY, WITHOUT_TEXT, FoundFile, find_given_folder, printable_path
from ragstone.ingest.formats.includes import may_include, read_included
from ragstone.ingest.formats.types import check_before_hashing, is_picture
from ragstone.ingest.metadata import FoundMetadata, MetadataFiles
from ragstone.ingest.places import keep_folder, resolve_links
from ragstone.ingest.progress import Tracker
from ragstone.ingest.write import document_id
from ragstone.ports import Catalog, ChunkIndex, Look
from ragstone.service import FileCopy, IngestRequest
from ragstone.settings import IngestSettings

SETTLED_SECONDS = 2.0
"""A file that was changed so lately may change again within the same tick of its clock, and look
the same: it is hashed once more the next time."""

MAX_PATH_CHARS, MAX_FOLDER_CHARS = 4_096, 100_000
"""Characters of a document's path; and times the folders in it, which is twice what all have."""

MAX_CONTENTS = 10_000
"""Files to be read whose content is remembered: the catalog knows those before them by then."""


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file to read, its document as it will be, and the one that is known."""

    item: FoundFile
    document: Document
    known: Document | None
    look: Look | None = None


@dataclass(frozen=True, slots=True)
class _DescribedFile:
    item: FoundFile
    said: FoundMetadata
    document: Document


class FileComparison:
    """Compares the files of one ingest with the documents of a collection."""

    def __init__(
        self,
        index: ChunkIndex,
        catalog: Catalog,
        originals: uploads.Originals,
        settings: IngestSettings,
        tracker: Tracker,
    ) -> None:
        self._index = index
        self._catalog = catalog
        self._originals = originals
        self._settings = settings
        self._beside = MetadataFiles()
        self._folders: set[str] = set()
        self._ruled: set[str] = set()
        self._told: set[str] = set()
        self._contents: dict[str, Document] = {}
        """The first of the newest files to be read with each content, by its hash."""
        self._tracker = tracker

    async def find_changed(
        self, collection: Collection, request: IngestRequest, found: Sequence[FoundFile]
    ) -> list[ChangedFile]:
        """Return those of the files that are to be read; of the others the tracker hears."""
        roots = {str(item.root) for item in found}
        described, known, rules = await self._describe(collection, request, found)
        looks = await self._catalog.looks([entry.document.id for entry in described])
        compared = await file_threads.run(
            roots, _compare_all, described, known, looks, request.by, rules, self._settings
        )
        changed: list[ChangedFile] = []
        same: list[_DescribedFile] = []
        refused: list[tuple[_DescribedFile, DocumentError]] = []
        seen: dict[str, Look] = {}
        for entry, result in zip(described, compared, strict=True):
            item = entry.item
            if isinstance(result, ChangedFile):
                changed.append(result)
            elif isinstance(result, DocumentError):
                refused.append((entry, result))
            elif result is _ENDED:
                self._report_earlier_end(known.get(entry.document.id), item)
            else:
                same.append(entry)
                if isinstance(result, Look):
                    seen[entry.document.id] = result
                if item.handed:
                    await asyncio.to_thread(self._originals.keep, item, entry.document)
        passed = await self._find_unwanted_copies(collection, request, changed)
        refused += [(item, CopyPassedOver()) for item in described if item.document.id in passed]
        new = [file for file in changed if file.document.id not in passed]
        for file in new:
            self._tracker.count_changed(file.item.size)
        await self._give_readers(collection, same, known)
        await self._refuse(refused, known)
        if seen:
            await self._catalog.put_looks(seen)
        return new

    async def _find_unwanted_copies(
        self, collection: Collection, request: IngestRequest, changed: Sequence[ChangedFile]
    ) -> Set[str]:
        """Return the ids of the documents that are not to be made, as others have their content;
        the tracker hears of all such files."""
        passed = set()
        originals = await self._find_originals(collection, request, changed)
        for file, several in zip(changed, originals, strict=True):
            document, known = file.document, file.known
            # A copy that is passed over must not be missed by who could read it.
            covered = any(is_subset(document.allowed, item.allowed) for item in several)
            skipped = request.skip_copies and covered and not (known and known.version)
            if several:
                self._tracker.count_copy(FileCopy(file.item.path, several[0].path, skipped))
            if skipped:
                passed.add(document.id)
        return passed

    async def _find_originals(
        self, collection: Collection, request: IngestRequest, changed: Sequence[ChangedFile]
    ) -> list[list[Document]]:
        """For each of these files the other documents with its content that who hands it over may
        read, those of this ingest too."""
        hashes = {file.document.content_hash for file in changed}
        readers = request.by.names if request.by else None
        place = collection.tenant, collection.id
        there = await self._catalog.find_copies(*place, hashes, readers) if hashes else {}
        gone: Set[str] = set()
        if request.prune and there:
            # A file that was renamed is no copy of the one that is about to be forgotten.
            sources = {item.source for several in there.values() for item in several}
            gone = await file_threads.run(request.paths, _find_missing, request.paths, sources)
        found = []
        for file in changed:
            content, id = file.document.content_hash, file.document.id
            # The version that answers at the place of the file is about to be replaced.
            several = [
                item for item in there.get(content, ()) if item.id != id and item.source not in gone
            ]
            first = self._contents.setdefault(content, file.document)
            found.append([*several, first] if first.id != id else several)
        while len(self._contents) > MAX_CONTENTS:
            del self._contents[next(iter(self._contents))]
        return found

    async def find_chapters(
        self, collection: Collection, request: IngestRequest, found: Sequence[FoundFile]
    ) -> Mapping[str, str]:
        """Return the places of files that another one includes whole, each with the id of the
        document that it would be by itself: its text is found once, in the other one. Those stay
        documents that have metadata of their own, or readers who may not read the other one."""
        books = [item for item in found if _may_include_chapters(item)]
        if len(books) < 2:
            return {}
        roots = {str(item.root) for item in books}
        ids = {
            item.place: document_id(collection.tenant, collection.id, item.path) for item in books
        }
        looks = await self._catalog.looks(list(ids.values()))
        # What is a document already stays one where two files include each other.
        books.sort(key=lambda item: ids[item.place] not in looks)
        included = await file_threads.run(
            roots, _read_chapters, books, {place: looks.get(id) for place, id in ids.items()}
        )
        wanted = {*included, *(place for parts in included.values() for place in parts)}
        described, _, _ = await self._describe(
            collection, request, [item for item in books if item.place in wanted]
        )
        by_place = {entry.item.place: entry for entry in described}
        chapters: dict[str, str] = {}
        for book, parts in included.items():
            if book not in chapters:
                known = [by_place[place] for place in parts if place in by_place]
                chapters |= {
                    part.item.place: part.document.id
                    for part in known
                    if _covers(by_place[book], part)
                }
        return chapters

    async def _describe(
        self, collection: Collection, request: IngestRequest, found: Sequence[FoundFile]
    ) -> tuple[list[_DescribedFile], Mapping[str, Document], Sequence[FolderReaders]]:
        """Return the files with their documents to be and who may read those; the documents that
        are known and the readers of folders."""
        roots = {str(item.root) for item in found}
        described = await file_threads.run(roots, self._describe_files, collection, request, found)
        for beside in (beside for entry in described for beside in entry.said.refused):
            if beside.path not in self._told:
                self._told.add(beside.path)
                self._tracker.count_failed(printable_path(beside.path), beside.error.message)
        rules = await self._rules(collection, described)
        known = await self._catalog.find_documents([entry.document.id for entry in described])
        described = [
            replace(
                entry,
                document=changes.assign_readers(
                    entry.document, known.get(entry.document.id), rules
                ),
            )
            for entry in described
        ]
        return described, known, rules

    async def _rules(
        self, collection: Collection, described: Sequence[_DescribedFile]
    ) -> Sequence[FolderReaders]:
        """Return the readers of the collection's folders, with those that their files say now."""
        place = collection.tenant, collection.id
        found = {rule.folder: rule for item in described for rule in item.said.readers}
        self._ruled |= found.keys()
        for item in described:
            if item.item.handed is None and not item.said.closed:
                self._folders.update(list_folders(item.document.path))
        known = await self._catalog.folder_readers(*place)
        if not set(known).issuperset(found.values()):
            await readers.put_folder_readers(
                self._index, self._catalog, collection, list(found.values())
            )
            known = await self._catalog.folder_readers(*place)
        return known

    async def note_former_rules(self, collection: Collection) -> None:
        """Tell of folders whose files spoke of readers and do not any more: they stay closed."""
        for rule in await self._catalog.folder_readers(collection.tenant, collection.id):
            if rule.file and rule.folder in self._folders - self._ruled:
                self._tracker.note(
                    f"{printable_path(rule.file)} says nothing of readers any more. What is in "
                    f"{rule.folder} stays for {', '.join(rule.readers)}; 'ragstone readers folder "
                    f"{rule.folder} inherit' ends that."
                )

    async def _give_readers(
        self, collection: Collection, same: Sequence[_DescribedFile], known: Mapping[str, Document]
    ) -> None:
        """Give documents whose content has not changed the readers that they come with."""
        # By readers, as one transaction gives many documents the same ones.
        given: dict[tuple[str, ...] | None, list[str]] = {}
        for described in same:
            document, size = described.document, described.item.size
            if changes.gives_readers(known[document.id], document):
                given.setdefault(document.own_readers, []).append(document.id)
                self._tracker.count_rights(size)
            else:
                self._tracker.count_unchanged(size)
        for own, some in given.items():
            await readers.give_readers(self._index, self._catalog, collection, some, own)

    def _describe_files(
        self, collection: Collection, request: IngestRequest, found: Sequence[FoundFile]
    ) -> list[_DescribedFile]:
        described = []
        for item in found:
            said = FoundMetadata() if item.handed else self._beside.describe(item)
            document = changes.describe_file(collection, request, item, said.metadata)
            described.append(_DescribedFile(item, said, document))
        return described

    async def _refuse(
        self, refused: Sequence[tuple[_DescribedFile, DocumentError]], known: Mapping[str, Document]
    ) -> None:
        """Keep why files are not read, where that is not known already, and tell it."""
        failed = []
        for item, error in refused:
            before = known.get(item.document.id)
            is_copy = isinstance(error, CopyPassedOver)
            skipped = is_copy or (
                not is_kept(before) and (item.item.skipped or is_textless_picture(item.item, error))
            )
            status: DocumentStatus = "skipped" if skipped else "failed"
            document = replace(item.document, status=status, error=error.message)
            if not (skipped or item.item.skipped):
                self._tracker.count_failed(item.item.path, error.message, item.item.size)
            elif not item.item.skipped:
                kind = COPY if is_copy else WITHOUT_TEXT
                self._tracker.count_passed(kind, item.item.size, read=False)
            elif not skipped:
                continue  # What could be read of it before goes on answering.
            untold = isinstance(error, PathTaken | ReadersRefused) or error is item.said.closed
            if not untold and not (before and _is_known_failure(before, document)):
                failed.append(document)
        if failed:
            await self._catalog.fail_all(failed)
        for item, _ in refused:
            # How it ended is known when its content goes.
            if item.item.handed:
                await asyncio.to_thread(uploads.forget, item.item)

    def _report_earlier_end(self, known: Document | None, item: FoundFile) -> None:
        """Tell how an earlier run of this job, which was cut off, left a document."""
        if known and known.status != "failed":
            self._tracker.count_unchanged(item.size)
        else:
            error = known.error if known else "It is gone before it was indexed. Send it again."
            self._tracker.count_failed(item.path, error, item.size)


def _find_missing(paths: Iterable[str], sources: Iterable[str]) -> set[str]:
    """Return those of these sources that are below the paths, and no files there."""
    below = tuple(map(resolve_links, paths))
    return {item for item in sources if item.startswith(below) and not os.path.exists(item)}


_SAME, _ENDED = object(), object()


def _may_include_chapters(item: FoundFile) -> bool:
    """Tell whether this is a file in a given folder that may include others as text."""
    apart = item.handed or item.digest or item.skipped or item.source == item.root
    return not apart and may_include(item.source)


def _read_chapters(
    books: Sequence[FoundFile], looks: Mapping[str, Look | None]
) -> dict[str, list[str]]:
    """Return the places of the files that each of these includes whole, where it includes any."""
    found: dict[str, list[str]] = {}
    for item in books:
        look, folder = looks[item.place], find_given_folder(item.path, item.source)
        same = look and (look.size, look.modified) == (item.size, item.modified)
        if folder is None or (same and look and not look.included):
            continue
        file_threads.report_progress(item.source)
        try:
            chapters = read_included(item.source, folder).chapters
        except DocumentError:
            continue  # Whoever reads it tells.
        if chapters:
            found[item.place] = list(map(str, chapters))
    return found


def _covers(book: _DescribedFile, part: _DescribedFile) -> bool:
    """Tell whether who finds a file, by its text or metadata, finds the one that includes it."""
    return (
        part.said.metadata == book.said.metadata
        and not (part.said.closed or book.said.closed)
        and is_subset(part.document.allowed, book.document.allowed)
    )


def _compare_all(
    described: Sequence[_DescribedFile],
    known: Mapping[str, Document],
    looks: Mapping[str, Look],
    by: Principal | None,
    rules: Sequence[FolderReaders],
    settings: IngestSettings,
) -> list[ChangedFile | DocumentError | Look | object]:
    with keep_folder():
        return [
            _compare(item, known.get(item.document.id), looks, by, rules, settings)
            for item in described
        ]


def is_textless_picture(item: FoundFile, error: DocumentError) -> bool:
    """Tell whether this is a logo or a drawing in a folder, which nobody asked to read."""
    alone = item.source == item.root
    return not alone and isinstance(error, EmptyDocument) and is_picture(item.source.name)


def is_kept(known: Document | None) -> bool:
    """Tell whether a document is known as more than a file that is passed over."""
    return known is not None and known.status != "skipped"


def _is_known_failure(known: Document, failed: Document) -> bool:
    """Tell whether a document is known to have failed so."""
    if known.version:  # The last good version is described, but for how the newest one failed.
        one = (known.status, known.error, known.source)
        return one == (failed.status, failed.error, failed.source)
    return replace(known, own_readers=failed.own_readers) == failed


def _compare(
    described: _DescribedFile,
    known: Document | None,
    looks: Mapping[str, Look],
    by: Principal | None,
    rules: Sequence[FolderReaders],
    settings: IngestSettings,
) -> ChangedFile | DocumentError | Look | object:
    """Return what is to be done with a file: read it, refuse it, note its new look, or nothing."""
    item, document = described.item, described.document
    try:
        _refuse_long_path(document.path)
        changes.refuse_if_hidden(known, by)
        if described.said.closed:
            raise described.said.closed
        changes.refuse_readers(document, known, rules, by)
        if item.refusal:
            raise item.refusal
        if item.handed is not None and uploads.is_ingested(item):
            return _ENDED
        said = _description_hash(document)
        old = None if item.handed else looks.get(document.id)
        if known and old and _has_same_look(old, item, said):
            as_known = replace(document, content_hash=known.content_hash)
            if changes.is_unchanged(known, as_known):
                return _SAME
        # Hashing ten gigabytes takes a minute, and the file is refused all the same.
        check_before_hashing(item.source, item.size, settings)
        fingerprint, included = uploads.hash_document(item, document)
        document = replace(document, content_hash=fingerprint)
        # Files of the spool and of archives are unpacked anew each time, and look new.
        look = None if item.handed or item.digest else _look(item, said, included)
        if known and changes.is_unchanged(known, document):
            return look or _SAME
        if known:
            changes.refuse_if_taken(known, document, by)
    except DocumentError as error:
        return error
    return ChangedFile(item, document, known, look)


def _refuse_long_path(path: str) -> None:
    """Raise DocumentError where the folders above a document, which each of its chunks names in
    full, would fill the index."""
    if len(path) > MAX_PATH_CHARS or len(path) * path.count("/") > MAX_FOLDER_CHARS:
        raise TooLarge("Its path is too long, or leads through too many folders. Shorten it.")


def _description_hash(document: Document) -> str:
    """Return a hash of what is said about a document apart from its content."""
    text = json.dumps([document.title, document.metadata], sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _look(item: FoundFile, said: str, included: Sequence[Path]) -> Look | None:
    """Tell how a file looks; None if it was changed so lately that this says nothing."""
    files = []
    for path in included:
        file_threads.report_progress(path)
        try:
            facts = path.stat()
        except OSError:
            return None
        files.append((str(path), facts.st_size, facts.st_mtime))
    newest = max([item.modified, *(at for _, _, at in files)])
    if time.time() - newest < SETTLED_SECONDS:
        return None
    return Look(item.size, item.modified, said, tuple(files))


def _has_same_look(look: Look, item: FoundFile, said: str) -> bool:
    if (look.size, look.modified, look.said) != (item.size, item.modified, said):
        return False
    for path, size, modified in look.included:
        file_threads.report_progress(path)
        try:
            facts = Path(path).stat()
        except OSError:
            return False
        if (facts.st_size, facts.st_mtime) != (size, modified):
            return False
    return True
