"""One part of an ingest, in the process that helps."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ragstone.core.errors import EmbeddingMismatch, JobEnded, UnknownCollection, UnreadableDocument
from ragstone.core.records import Collection, Document
from ragstone.ingest.comparison import ChangedFile
from ragstone.ingest.files import FoundFile, content_hash
from ragstone.ingest.sharing import ReadOutcome, file_request
from ragstone.ingest.write import document_id
from ragstone.ports.jobs import EMBED_PART, READ_PART, Job, NewJob, NewPart
from ragstone.service import IngestRequest, wire
from ragstone.store.sql.jobs import SqlJobs
from ragstone.store.sql.parts import SqlParts
from tests.conformance.postgres_server import PostgresServer
from tests.hashing import HashingEmbedder, OneEmbedder
from tests.ingest.helper_process import Site, site
from tests.jobs.adapters import fresh_database

pytestmark = pytest.mark.slow


class Here:
    """A process that helps, and a folder that it has."""

    def __init__(self, site: Site, folder: Path) -> None:
        self.site = site
        self.folder = folder
        self.told: list[Mapping[str, Any]] = []

    async def collection(self) -> Collection:
        found = await self.site.catalog.collection("default", "law")
        assert found
        return found

    async def part(self, kind: str, **what: Any) -> Job:
        """A part that this process has claimed."""
        collection = await self.collection()
        store = SqlJobs(self.site.database)
        await store.submit(NewJob("big", "ingest", {}, collection=collection.id), 100)
        await store.claim("leader", {"ingest": 1})
        new = NewPart("part", kind, {"collection": wire.dump(collection), **what})
        await SqlParts(self.site.database).offer("big", [new])
        [part] = await store.claim("here", {kind: 1})
        return part

    async def file(self, name: str, text: str) -> ChangedFile:
        """A file as who runs the ingest has found it."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        collection = await self.collection()
        size, at = path.stat().st_size, f"/docs/{name}"
        item = FoundFile(str(path), at, self.folder, size, path.stat().st_mtime)
        id = document_id("default", collection.id, at)
        document = Document(
            id, "default", collection.id, at, source=str(path), size=size, modified=item.modified
        )
        return ChangedFile(item, replace(document, content_hash=content_hash(path)), None)

    async def read(self, part: Job) -> ReadOutcome:
        await self.site.pipeline.helping.read(part, self.told.append)
        return ReadOutcome.from_progress(self.told[-1])

    async def versions(self) -> dict[str, int]:
        known = await self.site.catalog.documents("default", (await self.collection()).id)
        return {item.path: item.version for item in known}


@pytest.fixture
async def here(postgres: PostgresServer, tmp_path: Path) -> AsyncIterator[Here]:
    folder = tmp_path / "docs"
    folder.mkdir()
    (tmp_path / "first.txt").write_text("The first document makes the collection.")
    url = await fresh_database(postgres.url)
    async with site(url, url, tmp_path / "data") as made:
        request = IngestRequest((str(tmp_path / "first.txt"),), collection="law")
        await made.pipeline.ingest("first", request, lambda progress: None)
        yield Here(made, folder)


async def test_files_that_are_here_as_they_are_there_are_read_and_others_go_back(
    here: Here,
) -> None:
    names = ("same.txt", "changed.txt", "missing.txt", "broken.pdf")
    files = {name: await here.file(name, f"This is {name}.") for name in names}
    (here.folder / "changed.txt").write_text("It says something else here.")
    (here.folder / "missing.txt").unlink()
    part = await here.part(READ_PART, files=[file_request(file) for file in files.values()])
    outcome = await here.read(part)
    ids = {name: file.document.id for name, file in files.items()}
    assert set(outcome.written) == {ids["same.txt"]}
    assert set(outcome.back) == {ids["changed.txt"], ids["missing.txt"]}
    assert set(outcome.failed) == {ids["broken.pdf"]}
    # Whoever runs the ingest notes the failure.
    assert await here.versions() == {"/first.txt": 1, "/docs/same.txt": 1}
    written = await here.site.catalog.document(ids["same.txt"])
    assert written
    assert (written.status, written.chunks) == ("text", 1)


async def test_what_is_told_already_is_not_done_again(here: Here) -> None:
    files = [await here.file(f"{number}.txt", f"This is {number}.") for number in range(3)]
    part = await here.part(READ_PART, files=[file_request(file) for file in files])
    before = ReadOutcome(failed={files[0].document.id: ("It is broken.", False)}).format_progress()
    outcome = await here.read(replace(part, progress=before))
    assert set(outcome.written) == {file.document.id for file in files[1:]}
    assert set(outcome.failed) == {files[0].document.id}
    assert sorted(await here.versions()) == ["/docs/1.txt", "/docs/2.txt", "/first.txt"]


async def test_where_no_file_is_the_folder_is_named(here: Here) -> None:
    files = [await here.file(f"{number}.txt", f"This is {number}.") for number in range(3)]
    part = await here.part(READ_PART, files=[file_request(file) for file in files])
    for item in here.folder.iterdir():
        item.unlink()
    here.folder.rmdir()
    with pytest.raises(UnreadableDocument, match=f"does not have {here.folder} as"):
        await here.read(part)


async def test_a_part_that_was_taken_away_is_written_by_nobody_here(here: Here) -> None:
    file = await here.file("a.txt", "This is a.")
    part = await here.part(READ_PART, files=[file_request(file)])
    await SqlParts(here.site.database).drop("big")
    with pytest.raises(JobEnded):
        await here.read(part)
    assert await here.versions() == {"/first.txt": 1}


async def test_chunks_get_the_vectors_of_the_collections_model_unless_it_is_another_here(
    here: Here,
) -> None:
    file = await here.file("a.txt", "This is a.")
    part = await here.part(READ_PART, files=[file_request(file)])
    await here.read(part)
    collection = await here.collection()
    waiting = [chunk.chunk_id for chunk in await here.site.index.without_vectors(collection, 9)]
    assert len(waiting) == 1
    request = {"collection": wire.dump(collection), "chunks": [*waiting, "gone"]}
    chunks = replace(part, kind=EMBED_PART, request=request)
    helping = here.site.pipeline.helping
    own, helping._embedders = helping._embedders, OneEmbedder(HashingEmbedder("another"))
    with pytest.raises(EmbeddingMismatch):
        await helping.embed(chunks, here.told.append)
    helping._embedders = own
    await helping.embed(chunks, here.told.append)
    assert here.told[-1] == {"embedded": 2}
    assert await here.site.index.count_without_vectors(collection) == 0


async def test_chunks_of_a_collection_that_was_built_anew_since_are_left_alone(here: Here) -> None:
    part = await here.part(EMBED_PART, chunks=[])
    collection = await here.collection()
    built = (collection.build, collection.build + 1, collection.build + 2, collection.build - 1)
    requests = [
        {"collection": wire.dump(replace(collection, build=build)), "chunks": []} for build in built
    ]
    helping = here.site.pipeline.helping
    for request in requests[:2]:  # The one that is there, and that which is to replace it.
        await helping.embed(replace(part, request=request), here.told.append)
    for request in requests[2:]:
        with pytest.raises(UnknownCollection):
            await helping.embed(replace(part, request=request), here.told.append)
