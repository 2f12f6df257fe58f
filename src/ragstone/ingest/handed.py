"""Documents in the spool: uploads, and content that a connector fetched.

Their content waits in a spool of the data directory until it is indexed. A job that was cut off
and is run again finds what it had done already by the files that are gone.
"""

import hashlib
import json
import os
import re
import shutil
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from ragstone.core.errors import DocumentError, StorageFull
from ragstone.core.records import Document
from ragstone.ingest.files import FoundFile, content_hash, given_folder
from ragstone.ingest.formats.includes import included_files
from ragstone.service import Handed

SPOOL = "spool"
_HANDLE = re.compile(r"[0-9a-f]{32}")
FORGOTTEN = 30 * 86_400.0
LONGEST_NAME, LONGEST_ENDING = 200, 20
"""In bytes: file systems take 255."""


class Spool:
    """The folder of the data directory where content waits. Blocking: use it in a thread."""

    def __init__(self, data: Path) -> None:
        self._folder = data.expanduser().absolute() / SPOOL

    def add(self, content: BinaryIO, name: str, owner: str = "") -> str:
        """Keep `content` in a file of this name in a folder of its own; raises StorageFull. Of an
        `owner`, in hexadecimal digits, it can be found again by the folder's name."""
        folder = f"{uuid4().hex}-{owner}" if owner else uuid4().hex
        file = self._folder / folder / plain_name(name)
        try:
            file.parent.mkdir(mode=0o700, parents=True)
            with file.open("xb") as target:
                shutil.copyfileobj(content, target)
                target.flush()
                os.fsync(target.fileno())
        except OSError as error:
            shutil.rmtree(file.parent, ignore_errors=True)
            raise StorageFull(
                f"The document could not be kept ({error.strerror}). Make room and send it again."
            ) from error
        return str(file)

    def of(self, handle: str, owner: str) -> str | None:
        """The file that this owner has added, by the first part of its folder's name."""
        if not _HANDLE.fullmatch(handle):
            return None
        return next((str(file) for file in (self._folder / f"{handle}-{owner}").glob("*")), None)

    def drop(self, file: str) -> None:
        """Delete what `add` kept, and nothing else."""
        place = Path(file)
        if place.parent.parent == self._folder:
            shutil.rmtree(place.parent, ignore_errors=True)

    def sweep(self, seconds: float = FORGOTTEN) -> None:
        """Delete old files that no job took: the sender left before a job began."""
        for folder in self._folder.glob("*"):
            with suppress(OSError):
                if time.time() - folder.stat().st_mtime > seconds:
                    shutil.rmtree(folder, ignore_errors=True)


def plain_name(name: str) -> str:
    """A file name without folders, control characters and leading dots, and not too long; empty if
    nothing is left of it."""
    last = name.replace("\\", "/").rpartition("/")[2].encode("utf-8", "replace").decode()
    clean = "".join(character for character in last if character.isprintable())
    clean = " ".join(clean.split()).strip(" .")
    stem, dot, ending = clean.rpartition(".")
    if not dot:
        return _truncate(clean, LONGEST_NAME)
    ending = _truncate(ending, LONGEST_ENDING)
    return f"{_truncate(stem, LONGEST_NAME - LONGEST_ENDING)}.{ending}"


def _truncate(text: str, most: int) -> str:
    """As much of the text as fits into so many bytes."""
    return text.encode()[:most].decode("utf-8", "ignore")


def found(handed: Handed) -> FoundFile:
    """The file of a document, as if it had been found."""
    file = Path(handed.file)
    size = file.stat().st_size if file.exists() else 0
    return FoundFile(file, handed.path, file, size, handed.modified, handed)


def described(document: Document, handed: Handed) -> Document:
    """The document with its metadata, without its content. Metadata that the document has already
    is what the request says of all of them."""
    metadata = {**handed.metadata, **(document.metadata or {})}
    title = document.title or metadata.get("title")
    return replace(
        document,
        source=handed.source,
        title=handed.title or (title if isinstance(title, str) else ""),
        allowed=handed.allowed,
        metadata=metadata,
    )


def fingerprint(item: FoundFile, document: Document) -> str:
    """A hash of the content, of the files that it includes, and of what is said about it; raises
    UnreadableDocument."""
    content = content_hash(item.source)
    included = [] if item.handed else _included_hashes(item, document)
    if item.handed is None and not document.metadata and not included:
        return content
    said = [content, document.title, document.metadata, *included]
    text = json.dumps(said, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _included_hashes(item: FoundFile, document: Document) -> list[str]:
    folder = given_folder(document.path, item.source)
    if folder is None:
        return []
    try:
        return [content_hash(one) for one in included_files(item.source, folder)]
    except DocumentError:
        return []  # The parser says why it cannot be read.


def taken_in(item: FoundFile) -> bool:
    """Whether an earlier run has done with this document."""
    return not item.source.exists()


def forget(item: FoundFile) -> None:
    """Delete the content of a document that was handed over, and of no other."""
    if item.handed:
        item.source.unlink(missing_ok=True)
        with suppress(OSError):
            item.source.parent.rmdir()
