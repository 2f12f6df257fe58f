"""Documents that are handed over: contents that a program has, and files for a server elsewhere."""

import json
import time
from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from ragstone.api.connection import Session
from ragstone.core.errors import DocumentError, InputError, UnreadableDocument
from ragstone.core.limits import check_collection_name
from ragstone.core.readers import check_readers
from ragstone.ingest import file_threads
from ragstone.ingest.files import FoundFile, RefusedFile, SkippedFile, discover
from ragstone.ingest.metadata import MetadataFiles
from ragstone.ingest.places import open_regular
from ragstone.ingest.progress import MAX_KINDS
from ragstone.service import FileFailure, Handed, IngestRequest, Progress, Skipped

MAX_FILES = 10_000
"""Files that one ingest can send: they are named in one request."""


async def send_files(session: Session, request: IngestRequest) -> AsyncGenerator[Progress, None]:
    """Send files and folders of this machine to the server, and have them indexed there.

    Raises InputError for too many of them.
    """
    paths = request.paths
    items, skipped = await file_threads.run(paths, _discover_files, paths)
    beside = MetadataFiles()
    sent: list[Handed] = []
    failed: list[FileFailure] = []
    for count, item in enumerate(items):
        yield Progress("", files=count, total=len(items), failed=tuple(failed), skipped=skipped)
        if isinstance(item, RefusedFile):
            failed.append(FileFailure(item.path, item.error.message))
            continue
        said = await file_threads.run([item.root], beside.describe, item)
        failed += [FileFailure(entry.path, entry.error.message) for entry in said.refused]
        try:
            handed = await _send_file(session, item, request.allowed)
        except DocumentError as error:
            failed.append(FileFailure(item.path, error.message))
        else:
            sent.append(replace(handed, metadata={**said.metadata, **request.metadata}))
    request = replace(request, paths=(), metadata={}, handed=tuple(sent))
    service = await session.service()
    async with aclosing(service.ingest(request)) as steps:
        async for step in steps:
            yield replace(step, failed=(*failed, *step.failed), skipped=skipped)


async def send_content(
    session: Session,
    path: str,
    content: str | bytes,
    collection: str,
    title: str,
    metadata: Mapping[str, Any],
    allowed: Sequence[str],
) -> AsyncGenerator[Progress, None]:
    """Hand over the content of one document, and have it indexed at this path.

    Raises InputError for what cannot be.
    """
    check_target(collection, allowed)
    _check_described(path, title, metadata)
    if not isinstance(content, str | bytes):
        raise InputError(f"A content is a text or bytes, not {type(content).__name__}.")
    place = "/" + path.strip("/")
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    name = place.rpartition("/")[2]
    handed = Handed(
        file=await session.connection.keep(BytesIO(data), name),
        path=place,
        source=f"put:{place}",
        title=title,
        modified=time.time(),
        allowed=tuple(allowed),
        metadata=dict(metadata),
        single=True,
    )
    service = await session.service()
    request = IngestRequest((), collection, session.principal.tenant, handed=(handed,))
    async with aclosing(service.ingest(request)) as steps:
        async for step in steps:
            yield step


def check_target(collection: str, allowed: Sequence[str]) -> None:
    """Raise InputError unless documents can be put into this collection, for these readers."""
    if not isinstance(collection, str):
        raise InputError(f"The name of a collection is a text, not {type(collection).__name__}.")
    check_collection_name(collection)
    check_readers(allowed)


def _check_described(path: str, title: str, metadata: Mapping[str, Any]) -> None:
    """Raise InputError unless a document can be described like this."""
    texts = isinstance(path, str) and isinstance(title, str)
    if not texts or not path.strip("/") or not (path + title).isprintable():
        raise InputError(
            "A document has a path with an ending, such as /notes/today.md, and a title: texts "
            "without control characters."
        )
    try:
        if not isinstance(metadata, Mapping):
            raise TypeError("it is not a mapping")
        json.dumps(dict(metadata), ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise InputError(f"metadata is a mapping of values that JSON has: {error}.") from error


def _discover_files(
    paths: Sequence[str],
) -> tuple[list[FoundFile | RefusedFile], tuple[Skipped, ...]]:
    """The files below the paths, each once, and what is passed over."""
    items: list[FoundFile | RefusedFile] = []
    kinds, seen = Counter[str](), set[str]()
    for item in discover([Path(path) for path in paths]):
        if isinstance(item, SkippedFile):
            kinds[item.kind] += 1
            continue
        if isinstance(item, FoundFile):
            if item.place in seen:
                continue
            seen.add(item.place)
        items.append(item)
        if len(items) > MAX_FILES:
            raise InputError(
                f"There are more than {MAX_FILES:,} files. Ingest them folder by folder, or on "
                "the machine of the server with 'ragstone ingest'."
            )
    return items, tuple(Skipped(*entry) for entry in kinds.most_common(MAX_KINDS))


def _open_file(item: FoundFile) -> BinaryIO:
    try:
        return open(item.place, "rb", opener=open_regular)
    except OSError as error:
        raise UnreadableDocument(f"{item.place} cannot be read: {error.strerror}.") from error


async def _send_file(session: Session, item: FoundFile, allowed: Sequence[str]) -> Handed:
    """Upload a file; returns the uploaded document."""
    with await file_threads.run([item.root], _open_file, item) as content:
        file = await session.connection.keep(content, item.source.name)
    source = f"upload:{item.path}"
    return Handed(file, item.path, source, modified=item.modified, allowed=tuple(allowed))
