"""Documents in the spool: uploads, and content that a connector fetched.

Their content waits in a spool of the data directory until it is indexed. A job that was cut off
and is run again finds what it had done already by the files that are gone. What cannot be fetched
again is kept after that, for as long as its document, so that an index can be made anew from it.
"""

import hashlib
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from ragstone.core.errors import DocumentError, StorageFull
from ragstone.core.records import Document
from ragstone.core.turn import Principal
from ragstone.ingest.document import cut_title
from ragstone.ingest.files import FoundFile, content_hash, find_given_folder
from ragstone.ingest.formats.includes import read_included
from ragstone.ingest.formats.recognition import is_installed
from ragstone.service import Handed

SPOOL, ORIGINALS, KEPT = "spool", "originals", "files"
RESTORED = "originals-restored"
"""Uploads of a backup until the restore is done; one that was interrupted leaves them."""
LINKED = "originals-backup-"
"""Beginnings of the folders of uploads that are in a backup while it is written."""
_HANDLE = re.compile(r"[0-9a-f]{32}")
FETCHED = ("http://", "https://")
"""Beginnings of sources that a connector can fetch again."""
FORGOTTEN = 30 * 86_400.0
MAX_NAME_BYTES, MAX_ENDING_BYTES = 200, 20
"""In bytes: file systems take 255."""


class Spool:
    """The folder of the data directory where content waits. Blocking: use it in a thread."""

    def __init__(self, data: Path) -> None:
        self._folder = data.expanduser().absolute() / SPOOL

    def add(
        self, content: BinaryIO, name: str, owner: str = "", whose: Principal | None = None
    ) -> str:
        """Keep `content` in a file of this name in a folder of its own; raises StorageFull. The
        folder's name tells an `owner`, in hexadecimal digits, and the user."""
        parts = (uuid4().hex, owner, owner_digits(whose.tenant, whose.user) if whose else "")
        file = self._folder / "-".join(filter(None, parts)) / plain_name(name)
        try:
            file.parent.mkdir(mode=0o700, parents=True)
            with private_file(file) as target:
                shutil.copyfileobj(content, target)
                target.flush()
                # The sender deletes its copy once this has answered.
                os.fsync(target.fileno())
        except OSError as error:
            shutil.rmtree(file.parent, ignore_errors=True)
            raise StorageFull(
                f"The document could not be kept ({error.strerror}). Make room and send it again."
            ) from error
        return str(file)

    def link(self, content: Path, name: str) -> str:
        """Keep what is in another file, without writing it again where that can be had."""
        file = self._folder / uuid4().hex / plain_name(name)
        try:
            file.parent.mkdir(mode=0o700, parents=True)
            os.link(content, file)
        except OSError:
            shutil.rmtree(file.parent, ignore_errors=True)
            with content.open("rb") as source:
                return self.add(source, name)
        return str(file)

    def locate(self, handed: Handed, elsewhere: bool) -> Handed:
        """Return the document with its file in this spool: the directory may have been moved since,
        or be a copy, which has nothing to do with the files of the original. `elsewhere` says that
        other servers have spools too."""
        *_, folder, id, name = ("", "", "", *Path(handed.file).parts)
        mine = self._folder / id / name
        # What a program hands over itself lies wherever it has put it.
        if folder != SPOOL or (elsewhere and not mine.exists()):
            return handed
        return replace(handed, file=str(mine))

    def find_file(self, handle: str, owner: str) -> str | None:
        """Return the file that this owner has added, by the first part of its folder's name."""
        if not _HANDLE.fullmatch(handle):
            return None
        folder = f"{handle}-{owner}"
        files = (
            file for name in (folder, f"{folder}-*") for file in self._folder.glob(f"{name}/*")
        )
        return next(map(str, files), None)

    def drop(self, file: str) -> None:
        """Delete what `add` kept, and nothing else."""
        place = Path(file)
        if place.parent.parent == self._folder:
            shutil.rmtree(place.parent, ignore_errors=True)

    def forget(self, whose: str) -> None:
        """Delete all of a user or a source, by the digits that its folders' names end in."""
        for folder in self._folder.glob(f"*-{whose}"):
            shutil.rmtree(folder)

    def sweep(self, seconds: float = FORGOTTEN) -> None:
        """Delete old files that no job took: the sender left before a job began."""
        for folder in self._folder.glob("*"):
            with suppress(OSError):
                if time.time() - folder.stat().st_mtime > seconds:
                    shutil.rmtree(folder, ignore_errors=True)


def kept_folder(data: Path, owner: Principal) -> Path:
    """Return where the files are that a user keeps apart from documents. The plugin that keeps them
    may be switched off when the user is erased."""
    return data.expanduser().absolute() / KEPT / owner_digits(owner.tenant, owner.user)


def owner_digits(*owner: str) -> str:
    """Digest an owner's names (tenant and user, or more) into 32 hexadecimal digits."""
    return hashlib.sha256(json.dumps(owner).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Linked:
    """Files of documents, by their ids, and the folder that has them until `drop`. Blocking."""

    folder: Path | None
    files: Sequence[tuple[str, Path]]

    def drop(self) -> None:
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)


class Originals:
    """The content of documents that nobody can fetch again, by document. Blocking: use it in a
    thread. Without a data directory nothing is kept."""

    def __init__(self, data: Path | None) -> None:
        self._folder = data.expanduser().resolve() / ORIGINALS if data else None

    def keep(self, item: FoundFile, document: Document) -> None:
        """Move a file from the spool to its document, over an earlier one; delete one that can be
        fetched again."""
        if item.handed is None:
            return
        if self._folder and not item.handed.source.startswith(FETCHED):
            place = self._folder / document.id
            # Copied beside its place and renamed, so that a kill leaves the old or the new one.
            draft = self._folder / f".{document.id}"
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir(mode=0o700, parents=True)
            shutil.copy2(item.source, draft / item.source.name)
            (draft / item.source.name).chmod(0o600)
            shutil.rmtree(place, ignore_errors=True)
            draft.rename(place)
        forget(item)

    def find_file(self, document_id: str) -> Path | None:
        """Return the file that a document was made from, None if it is not kept."""
        if self._folder is None:
            return None
        try:
            return next(iter((self._folder / document_id).iterdir()), None)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def all(self) -> list[tuple[str, Path]]:
        """Return every document of which there is one, by its id, and the file."""
        return [
            (document, file) for document in self.documents() if (file := self.find_file(document))
        ]

    def documents(self) -> list[str]:
        """Return the ids of the documents of which something is kept."""
        if self._folder is None or not self._folder.is_dir():
            return []
        return sorted(name for name in os.listdir(self._folder) if not name.startswith("."))

    def delete(self, document_ids: Iterable[str]) -> None:
        """Delete what is kept of documents."""
        if self._folder is None or not self._folder.is_dir():
            return
        for text in document_ids:
            shutil.rmtree(self._folder / text, ignore_errors=True)

    def link_all(self) -> "Linked":
        """All of them as of now, for a backup: what is replaced or deleted since stays in them."""
        if self._folder is None or not self._folder.is_dir():
            return Linked(None, [])
        folder = Path(tempfile.mkdtemp(prefix=LINKED, dir=self._folder.parent))
        found = []
        for document, file in self.all():
            place = folder / document
            try:
                place.mkdir()
                os.link(file, place / file.name)
            except FileNotFoundError:
                continue  # It has just been replaced or deleted.
            except OSError:
                found.append((document, file))  # The file system has no links.
            else:
                found.append((document, place / file.name))
        return Linked(folder, found)

    def drop_linked(self) -> None:
        """Delete what a backup that was killed has left, at the start of a process."""
        for folder in self._folder.parent.glob(f"{LINKED}*") if self._folder else ():
            shutil.rmtree(folder, ignore_errors=True)

    def begin_restore(self, needed: int) -> None:
        """Make room for others beside these; raises StorageFull without so many free bytes."""
        if not self._folder:
            return
        self.drop_restored()
        self._restore_folder.mkdir(mode=0o700, parents=True)
        free = shutil.disk_usage(self._restore_folder).free
        if needed > free:
            raise StorageFull(
                f"The backup's uploads need {needed:,} bytes, and the disk of "
                f"{self._restore_folder} has {free:,}. Free some space."
            )

    @contextmanager
    def open_restored(self, document_id: str, name: str) -> Iterator[BinaryIO]:
        """A file to write one to; raises StorageFull."""
        folder = self._restore_folder / document_id
        try:
            folder.mkdir(mode=0o700)
            with private_file(folder / name) as file:
                yield file
        except OSError as error:
            raise StorageFull(
                f"An upload of the backup could not be written ({error.strerror}). Make room."
            ) from error

    def end_restore(self, documents: Collection[str]) -> None:
        """Put those that were written in their places, and delete what is of other documents than
        these."""
        for document, _ in self.all():
            if document not in documents:
                self.delete([document])
        if self._folder:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            for folder in list(self._restore_folder.iterdir()):
                self.delete([folder.name])
                folder.rename(self._folder / folder.name)
            self.drop_restored()

    def drop_restored(self) -> None:
        """Delete what a restore that did not end has written."""
        if self._folder:
            shutil.rmtree(self._restore_folder, ignore_errors=True)

    @property
    def _restore_folder(self) -> Path:
        assert self._folder is not None  # noqa: S101 - nothing is restored where nothing is kept
        return self._folder.with_name(RESTORED)


def private_file(path: Path) -> BinaryIO:
    """Return a new file that only its owner can read, to write to."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def plain_name(name: str) -> str:
    """Return a file name without folders, control characters and leading dots, and not too long;
    empty if nothing is left of it."""
    last = name.replace("\\", "/").rpartition("/")[2].encode("utf-8", "replace").decode()
    clean = "".join(character for character in last if character.isprintable())
    clean = " ".join(clean.split()).strip(" .")
    stem, dot, ending = clean.rpartition(".")
    if not dot:
        return _truncate(clean, MAX_NAME_BYTES)
    ending = _truncate(ending, MAX_ENDING_BYTES)
    return f"{_truncate(stem, MAX_NAME_BYTES - MAX_ENDING_BYTES)}.{ending}"


def _truncate(text: str, most: int) -> str:
    """Cut the text to what fits into so many bytes."""
    return text.encode()[:most].decode("utf-8", "ignore")


def build_found_file(handed: Handed) -> FoundFile:
    """Return the file of a document, as if it had been found."""
    file = Path(os.path.realpath(handed.file))
    size = file.stat().st_size if file.exists() else 0
    return FoundFile(str(file), handed.path, file, size, handed.modified, handed)


def describe_document(document: Document, handed: Handed) -> Document:
    """Return the document with its metadata, without its content. Metadata that the document has
    already is what the request says of all of them."""
    metadata = {**handed.metadata, **(document.metadata or {})}
    said = handed.title or document.title or metadata.get("title")
    return replace(
        document,
        source=handed.source,
        title=cut_title(said) if isinstance(said, str) else "",
        own_readers=handed.allowed or document.own_readers,
        metadata=metadata,
    )


def hash_document(item: FoundFile, document: Document) -> tuple[str, tuple[Path, ...]]:
    """Return a hash of the content, of the files that it includes, and of what is said about it;
    and those files. Raises UnreadableDocument."""
    content = item.digest or content_hash(item.source)
    files, included = ((), ()) if item.handed or item.digest else _find_included(item, document)
    titled = item.handed is not None and document.title
    if not titled and not document.metadata and not included:
        return content, files
    said = [content, document.title, document.metadata, *included]
    text = json.dumps(said, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest(), files


def _find_included(item: FoundFile, document: Document) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """Return the files that a document includes, and their hashes."""
    folder = find_given_folder(document.path, item.source)
    if folder is None:
        return (), ()
    try:
        files = (*read_included(item.source, folder).files, *_pictures(item.source, folder))
        return files, tuple(content_hash(file) for file in files)
    except DocumentError:
        return (), ()  # The parser says why it cannot be read.


def _pictures(path: Path, folder: Path) -> tuple[Path, ...]:
    """Return those whose text is read with a page."""
    if path.suffix.lower() not in (".html", ".htm", ".xhtml") or not is_installed():
        return ()
    from ragstone.ingest.formats.page_pictures import find_picture_files  # Loads lxml.

    return find_picture_files(path, folder)


def is_ingested(item: FoundFile) -> bool:
    """Tell whether an earlier run has done with this document."""
    return not item.source.exists()


def forget(item: FoundFile) -> None:
    """Delete the content of a document that was handed over, and of no other."""
    if item.handed:
        item.source.unlink(missing_ok=True)
        with suppress(OSError):
            item.source.parent.rmdir()
