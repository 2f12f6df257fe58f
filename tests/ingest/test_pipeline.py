"""Ingest on the real index and the real catalog: what goes in, stays, changes and goes."""

import os
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from ragstone.core.chunk import Chunk
from ragstone.core.errors import Conflict, EmbeddingMismatch
from ragstone.core.filters import EVERYTHING, AnyOf, Not
from ragstone.core.records import Collection, Document
from ragstone.index.edge.index import EdgeIndex
from ragstone.ingest import batch_writer, document_changes, file_threads, uploads
from ragstone.ingest.files import content_hash
from ragstone.ingest.pipeline import NOT_TEXT, Pipeline
from ragstone.ingest.progress import MAX_REPORTED_FAILURES
from ragstone.ports import Search, Vectors
from ragstone.service import IngestRequest, Progress, Skipped
from ragstone.settings import IngestSettings
from ragstone.store.sql.catalog import SqlCatalog
from ragstone.store.sql.database import open_database
from tests.hashing import WIDTH, HashingEmbedder, OneEmbedder
from tests.ingest.formats.test_embedded import picture

pytestmark = pytest.mark.slow


@dataclass
class House:
    """A pipeline with all that it works on."""

    index: EdgeIndex
    catalog: SqlCatalog
    embedders: OneEmbedder
    pipeline: Pipeline
    documents: Path

    async def ingest(self, *names: str, **options: object) -> Progress:
        paths = tuple(str(self.documents / name) for name in names) or (str(self.documents),)
        reports: list[Progress] = []
        request = IngestRequest(paths, **options)  # type: ignore[arg-type]
        last = await self.pipeline.ingest("job", request, reports.append)
        assert reports[-1] == last
        assert last.finished
        return last

    async def rebuild(self) -> Progress:
        return await self.pipeline.rebuild("job", await self.collection(), lambda progress: None)

    async def collection(self) -> Collection:
        found = await self.catalog.collection("default", "default")
        assert found
        return found

    async def chunks(self) -> list[Chunk]:
        """What a reader can see."""
        async with self.catalog.snapshot() as hidden:
            where = Not(AnyOf("revision", tuple(hidden))) if hidden else EVERYTHING
            scan = self.index.scan(await self.collection(), where)
            return [chunk async for batch in scan for chunk in batch]

    async def known(self) -> dict[str, Document]:
        return {d.path: d for d in await self.catalog.documents("default")}

    def write(self, name: str, text: str) -> Path:
        file = self.documents / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    documents = tmp_path / "docs"
    documents.mkdir()
    async with open_database(tmp_path / "state.sqlite") as database:
        index = EdgeIndex(tmp_path / "index")
        catalog = await SqlCatalog.open(database)
        embedders = OneEmbedder()
        pipeline = Pipeline(index, catalog, embedders, IngestSettings())
        yield House(index, catalog, embedders, pipeline, documents)
        await pipeline.aclose()
        await index.aclose()


async def test_given_files_when_ingested_then_their_text_is_found_and_nothing_waits(
    house: House,
) -> None:
    house.write("a.txt", "Whales sing in the deep sea.")
    house.write("sub/b.md", "# Cats\n\nCats purr at night.")
    last = await house.ingest()
    assert (last.indexed, last.unchanged, last.failed, last.total) == (2, 0, (), 2)
    assert last.chunks == last.embedded == 2
    collection = await house.collection()
    [found] = await house.index.search(collection, [Search("purr")], EVERYTHING, 5)
    [chunk] = (await house.index.fetch(collection, [found.found[0].chunk_id])).values()
    assert (chunk.path, chunk.section) == ("/docs/sub/b.md", ("Cats",))
    assert await house.index.without_vectors(collection, 5) == []
    assert {d.status for d in (await house.known()).values()} == {"ready"}


@pytest.mark.parametrize(("french", "language"), [(3, "mul"), (1, "en")])
async def test_given_files_of_two_languages_then_the_collection_is_of_several_from_a_tenth_on(
    house: House, french: int, language: str
) -> None:
    for number in range(20 - french):
        house.write(
            f"en/{number:02}.txt", "The whales sing in the deep sea, and nobody hears them."
        )
    for number in range(french):
        house.write(
            f"fr/{number}.txt", "Les baleines chantent dans la mer et personne ne les entend."
        )
    await house.ingest()
    assert (await house.collection()).language == language


async def test_given_unchanged_files_when_ingested_again_then_nothing_is_embedded(
    house: House,
) -> None:
    house.write("a.txt", "Whales sing.")
    await house.ingest()
    before = list(house.embedders.embedder.embedded)
    last = await house.ingest()
    assert (last.indexed, last.unchanged) == (0, 1)
    assert house.embedders.embedder.embedded == before


async def test_given_a_touched_file_then_its_content_decides(house: House) -> None:
    file = house.write("a.txt", "Whales sing.")
    await house.ingest()
    os.utime(file, (1, 1))
    assert (await house.ingest()).unchanged == 1


async def test_given_a_changed_file_then_only_its_new_version_is_left(house: House) -> None:
    house.write("a.txt", "Whales sing.")
    await house.ingest()
    house.write("a.txt", "Whales are silent now.")
    assert (await house.ingest()).indexed == 1
    assert [c.text for c in await house.chunks()] == ["Whales are silent now."]
    assert await house.index.count(await house.collection()) == 1
    [document] = (await house.known()).values()
    assert document.version == 2


async def test_given_new_permissions_then_the_document_is_indexed_again(house: House) -> None:
    house.write("a.txt", "Whales sing.")
    await house.ingest()
    assert (await house.ingest(allowed=("group:staff",))).indexed == 1
    assert [c.allowed for c in await house.chunks()] == [("group:staff",)]


async def test_given_a_bad_file_then_it_fails_with_a_reason_and_the_rest_is_indexed(
    house: House,
) -> None:
    house.write("a.txt", "Whales sing.")
    house.write("b.pdf", "this is not a PDF")
    house.write("c.txt", "")
    last = await house.ingest()
    assert last.indexed == 1
    assert {failure.path for failure in last.failed} == {"/docs/b.pdf", "/docs/c.txt"}
    assert all(failure.reason.endswith(".") for failure in last.failed)
    assert len(await house.chunks()) == 1
    assert (await house.known())["/docs/b.pdf"].status == "failed"


async def test_given_a_picture_without_text_then_it_is_passed_over_unless_it_is_named(
    house: House,
) -> None:
    house.write("whales.txt", "Whales sing.")
    Image.new("RGB", (200, 100), "teal").save(house.documents / "logo.png")
    progress = await house.ingest()
    assert (progress.files, progress.indexed, progress.failed) == (2, 1, ())
    assert progress.skipped == (Skipped("picture without text", 1),)
    (failure,) = (await house.ingest("logo.png")).failed
    assert "no text was recognised" in failure.reason


async def test_given_a_file_that_became_bad_then_its_last_good_version_still_answers(
    house: House,
) -> None:
    house.write("a.txt", "Whales sing.")
    await house.ingest()
    (house.documents / "a.txt").write_bytes(b"")
    last = await house.ingest()
    assert len(last.failed) == 1
    assert [c.text for c in await house.chunks()] == ["Whales sing."]


async def test_given_a_removed_file_when_pruned_then_its_chunks_go_and_others_stay(
    house: House,
) -> None:
    house.write("a.txt", "Whales sing.")
    gone = house.write("sub/b.txt", "Cats purr.")
    await house.ingest()
    gone.unlink()
    assert (await house.ingest()).pruned == 0
    assert len(await house.chunks()) == 2
    assert (await house.ingest(prune=True)).pruned == 1
    assert [c.text for c in await house.chunks()] == ["Whales sing."]
    assert list(await house.known()) == ["/docs/a.txt"]


class Killed(BaseException):
    """Stands for the end of the process."""


async def most_hidden(house: House, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many revisions were hidden before each deletion of chunks, from now on."""
    collection, seen = await house.collection(), list[int]()
    delete = house.index.delete

    async def deleting(*given: Any) -> None:
        async with house.catalog.snapshot(collection) as hidden:
            seen.append(len(hidden))
        await delete(*given)

    monkeypatch.setattr(house.index, "delete", deleting)
    return seen


async def test_given_many_removed_files_then_few_are_hidden_at_a_time(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_changes, "HIDDEN_AT_ONCE", 4)
    for number in range(11):
        house.write(f"sub/{number}.txt", f"Whale {number} sings.")
    house.write("a.txt", "Cats purr.")
    await house.ingest()
    hidden = await most_hidden(house, monkeypatch)
    shutil.rmtree(house.documents / "sub")
    assert (await house.ingest(prune=True)).pruned == 11
    assert hidden == [4, 4, 3]
    assert [c.text for c in await house.chunks()] == ["Cats purr."]
    assert await house.index.count(await house.collection()) == 1


async def test_given_many_changed_files_then_few_former_versions_are_hidden_at_a_time(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_changes, "HIDDEN_AT_ONCE", 4)
    monkeypatch.setattr(batch_writer, "CHUNKS", 1)  # Each is written alone.
    for number in range(20):
        house.write(f"{number}.txt", f"Whale {number} sings.")
    await house.ingest()
    hidden = await most_hidden(house, monkeypatch)
    for number in range(20):
        house.write(f"{number}.txt", f"Whale {number} is silent now.")
    assert (await house.ingest()).indexed == 20
    assert len(hidden) > 3
    assert max(hidden) < 12
    assert {c.text for c in await house.chunks()} == {
        f"Whale {number} is silent now." for number in range(20)
    }


async def test_given_a_kill_while_many_are_forgotten_then_each_is_whole_or_gone(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_changes, "HIDDEN_AT_ONCE", 4)
    for number in range(10):
        house.write(f"{number}.txt", f"Whale {number} sings.")
    await house.ingest()
    collection, known = await house.collection(), await house.known()
    ids = [known[path].id for path in sorted(known)]
    delete, left = house.index.delete, [2]

    async def killed(*given: Any) -> None:
        left[0] -= 1
        if not left[0]:
            raise Killed
        await delete(*given)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(house.index, "delete", killed)
        await house.pipeline.forget(collection, ids)
    there = {document.id for document in (await house.known()).values()}
    assert there == set(ids[8:])
    assert {chunk.document_id for chunk in await house.chunks()} == there
    assert await house.pipeline.purge()
    assert await house.index.count(collection) == 2


async def test_given_a_removed_folder_when_pruned_then_all_below_it_goes(house: House) -> None:
    house.write("a.txt", "Whales sing.")
    house.write("sub/b.txt", "Cats purr.")
    await house.ingest()
    shutil.rmtree(house.documents / "sub")
    assert (await house.ingest(prune=True)).pruned == 1


async def test_given_what_changed_then_nothing_else_is_looked_at(house: House) -> None:
    a, b = house.write("a.txt", "Whales sing."), house.write("sub/b.txt", "Cats purr.")
    house.write("c.txt", "Dogs bark.")
    await house.ingest()
    a.write_text("Whales are silent now.", encoding="utf-8")
    b.unlink()
    house.write("c.txt", "Dogs howl, but nobody says so.")
    last = await house.ingest(prune=True, only=(str(a), str(b), str(house.documents / "new.txt")))
    assert (last.total, last.indexed, last.unchanged, last.pruned) == (1, 1, 0, 1)
    assert {c.text for c in await house.chunks()} == {"Whales are silent now.", "Dogs bark."}


async def test_given_a_folder_that_was_moved_away_then_what_was_below_goes(house: House) -> None:
    house.write("a.txt", "Whales sing.")
    house.write("sub/b.txt", "Cats purr.")
    house.write("sub_/c.txt", "Dogs bark.")
    await house.ingest()
    (house.documents / "sub").rename(house.documents / "moved")
    places = tuple(str(house.documents / name) for name in ("sub", "moved"))
    last = await house.ingest(prune=True, only=places)
    assert (last.indexed, last.pruned) == (1, 1)
    assert set(await house.known()) == {"/docs/a.txt", "/docs/moved/b.txt", "/docs/sub_/c.txt"}


async def test_given_a_changed_file_that_others_include_then_those_are_read_again(
    house: House,
) -> None:
    included = house.write("part.inc", "Whales sing.")
    main = house.write("main.rst", "Sea\n===\n\n.. include:: part.inc\n")
    for file in (included, main):
        os.utime(file, (1, 1))
    await house.ingest()
    included.write_text("Whales are silent now.", encoding="utf-8")
    assert (await house.ingest(only=(str(included),))).indexed == 1
    assert "silent" in (await house.chunks())[0].text


async def test_given_a_file_known_at_another_path_then_its_change_is_of_that(house: House) -> None:
    file = house.write("sub/a.txt", "Whales sing.")
    await house.ingest("sub")
    file.write_text("Whales are silent now.", encoding="utf-8")
    await house.ingest(only=(str(file),))
    assert list(await house.known()) == ["/sub/a.txt"]


async def test_given_a_share_that_is_not_mounted_then_nothing_is_forgotten(house: House) -> None:
    house.write("a.txt", "Whales sing.")
    house.write("sub/b.txt", "Cats purr.")
    await house.ingest()
    house.documents.rename(house.documents.parent / "elsewhere")
    last = await house.ingest(prune=True)
    assert last.pruned == 0
    assert "2 documents stay" in last.notes[0]
    assert "does not exist" in last.failed[0].reason
    house.documents.mkdir()
    for only in ((), (str(house.documents),)):
        last = await house.ingest(prune=True, only=only)
        assert (last.pruned, len(last.notes)) == (0, 1)
    assert len(await house.chunks()) == 2


@pytest.mark.parametrize("listed", [True, False])
async def test_given_a_share_below_that_is_not_mounted_any_more_then_its_documents_stay(
    house: House, tmp_path: Path, listed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the system lists it, or where it was mounted when the ingest began."""
    house.write("a.txt", "Whales sing.")
    house.write("a share/b/c.txt", "Cats purr.")
    await house.ingest()
    shutil.rmtree(house.documents / "a share" / "b")
    place = str(house.documents / "a share")
    table = tmp_path / "fstab"
    table.write_text(f"# shares\nserver:/export {place.replace(' ', chr(92) + '040')} nfs ro 0 0\n")
    if listed:
        monkeypatch.setattr(file_threads, "FSTAB", str(table))
    else:
        monkeypatch.setattr(file_threads, "mount_points", lambda: frozenset({place}))
    last = await house.ingest(prune=True)
    assert (last.pruned, len(await house.chunks())) == (0, 2)
    assert last.notes == (
        f"{place} is not mounted: its 1 documents stay. Forget them with 'ragstone delete'.",
    )
    house.write("a share/b/c.txt", "Cats purr.")
    assert (await house.ingest(prune=True)).unchanged == 2
    monkeypatch.undo()
    shutil.rmtree(house.documents / "a share" / "b")
    assert (await house.ingest(prune=True)).pruned == 1


@pytest.mark.parametrize("gone", ["", "sub"])
async def test_given_a_folder_that_goes_while_it_is_read_then_nothing_is_forgotten(
    house: House, gone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragstone.ingest.progress.MIN_INTERVAL", 0.0)
    house.write("a.txt", "Whales sing.")
    for number in range(40):
        house.write(f"sub/{number}.txt", f"Cat number {number} purrs.")
    await house.ingest("a.txt", "sub/1.txt")
    folder = house.documents / gone
    elsewhere = house.documents.parent / "elsewhere"

    def report(now: Progress) -> None:
        if now.total and folder.exists():
            folder.rename(elsewhere)

    request = IngestRequest((str(house.documents),), prune=True)
    last = await house.pipeline.ingest("job", request, report)
    assert last.pruned == 0
    assert last.failures
    assert all("exist" in item.reason or "No such file" in item.reason for item in last.failed)
    assert {"Whales sing.", "Cat number 1 purrs."} <= {c.text for c in await house.chunks()}
    elsewhere.rename(folder)
    last = await house.ingest(prune=True)
    assert (last.failures, last.pruned, len(await house.chunks())) == (0, 0, 41)


async def test_given_a_folder_above_whose_name_is_no_text_then_its_files_fail_alone(
    house: House,
) -> None:
    odd = os.path.join(os.fsencode(house.documents), b"odd\xff", b"in")
    os.makedirs(odd)
    Path(os.fsdecode(odd), "a.txt").write_text("Cats purr.", encoding="utf-8")
    (house.documents / "sub").symlink_to(os.fsdecode(odd))
    house.write("b.txt", "Whales sing.")
    last = await house.ingest()
    assert (last.indexed, {item.reason for item in last.failed}) == (1, {NOT_TEXT})
    assert {item.path for item in last.failed} == {"/docs/odd\ufffd/in/a.txt", "/docs/sub/a.txt"}


async def test_given_the_last_file_that_a_watcher_saw_go_then_it_is_forgotten(
    house: House,
) -> None:
    file = house.write("a.txt", "Whales sing.")
    await house.ingest()
    file.unlink()
    assert (await house.ingest(prune=True, only=(str(file),))).pruned == 1


async def test_given_very_many_files_that_fail_then_the_first_are_told_and_all_are_counted(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragstone.ingest.pipeline.MAX_FAILURES", 2 * MAX_REPORTED_FAILURES)
    for number in range(3 * MAX_REPORTED_FAILURES):
        house.write(f"{number}.txt", "")
    reports: list[Progress] = []
    request = IngestRequest((str(house.documents),))
    last = await house.pipeline.ingest("job", request, reports.append)
    assert len({failure.path for failure in last.failed}) == 2 * MAX_REPORTED_FAILURES
    assert (last.more_failed, last.failures) == (MAX_REPORTED_FAILURES, 3 * MAX_REPORTED_FAILURES)
    assert max(len(report.failed) for report in reports[:-1]) <= MAX_REPORTED_FAILURES
    known = await house.known()
    assert len(known) == 3 * MAX_REPORTED_FAILURES
    assert {item.error for item in known.values()} == {
        f"{n}.txt is empty (0 bytes)." for n in range(300)
    }


async def test_given_files_that_are_empty_still_then_nothing_is_written_again(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.write("new.txt", "")
    became = house.write("became.txt", "Owls hunt at night.")
    await house.ingest()
    became.write_text("")
    assert (await house.ingest()).failures == 2
    before = await house.known()
    monkeypatch.setattr(house.catalog, "fail_all", None)
    assert (await house.ingest()).failures == 2
    assert await house.known() == before
    assert [chunk.text for chunk in await house.chunks()] == ["Owls hunt at night."]
    monkeypatch.undo()
    house.write("new.txt", "Bats hunt at night.")
    assert ((again := await house.ingest()).indexed, again.failures) == (1, 1)


@pytest.mark.parametrize("name", ["a.txt", "a.pdf", "a.csv", "a.md"])
async def test_given_a_file_of_ten_gigabytes_then_it_is_refused_without_being_hashed(
    house: House, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.write("b.txt", "Owls hunt at night.")
    with (house.documents / name).open("wb") as file:
        file.truncate(10 * 2**30)

    def hashed(path: Path) -> str:
        assert path.name != name
        return content_hash(path)

    monkeypatch.setattr("ragstone.ingest.uploads.content_hash", hashed)
    done = await house.ingest()
    assert done.indexed == 1
    [failure] = done.failed
    limit = (
        "128 MB (a quarter of INGEST__MAX_FILE_MB)"
        if name == "a.md"
        else "512 MB (INGEST__MAX_FILE_MB)"
    )
    assert failure.reason == (
        f"{name} has 10,240 MB; the limit is {limit}. Split the file, or raise the limit."
    )


async def test_given_an_embedder_that_breaks_then_the_text_is_searchable_and_a_retry_finishes(
    house: House,
) -> None:
    for number in range(100):
        house.write(f"{number}.txt", f"Whale number {number} sings.")
    house.embedders.embedder.fail_after = 10
    with pytest.raises(ExceptionGroup):
        await house.ingest()
    house.embedders.embedder.fail_after = None
    collection = await house.collection()
    assert await house.index.without_vectors(collection, 200)
    [found] = await house.index.search(collection, [Search("whale")], EVERYTHING, 200)
    assert found.found
    await house.ingest()
    assert await house.index.without_vectors(collection, 1) == []
    assert len(await house.chunks()) == 100
    assert {d.status for d in (await house.known()).values()} == {"ready"}


async def test_given_another_model_then_ingest_is_refused_before_anything_is_written(
    house: House,
) -> None:
    house.write("a.txt", "Whales sing.")
    await house.ingest()
    house.write("b.txt", "Cats purr.")
    house.embedders.embedder = HashingEmbedder("other")
    with pytest.raises(EmbeddingMismatch, match="ragstone rebuild --collection default"):
        await house.ingest()
    assert len(await house.known()) == 1


async def test_given_another_model_when_rebuilt_then_the_collection_is_on_it(
    house: House,
) -> None:
    for number in range(3):
        house.write(f"{number}.txt", f"Whale number {number} sings.")
    await house.ingest()
    before = sorted((c.text, c.chunk_id) for c in await house.chunks())
    old = await house.collection()
    house.embedders.embedder = HashingEmbedder("other")
    last = await house.rebuild()
    assert last.finished
    new = await house.collection()
    assert (new.model, new.build) == ("other", old.build + 1)
    assert sorted((c.text, c.chunk_id) for c in await house.chunks()) == before
    assert await house.index.without_vectors(new, 1) == []
    assert not list((house.documents.parent / "index").rglob("1/segments"))


async def test_given_another_index_than_the_documents_are_in_then_nothing_is_written_to_it(
    house: House, tmp_path: Path
) -> None:
    house.write("a.txt", "Whales sing.")
    await house.ingest()
    house.write("b.txt", "Cats purr.")
    index = EdgeIndex(tmp_path / "another")
    pipeline = Pipeline(index, house.catalog, house.embedders, IngestSettings())
    request = IngestRequest((str(house.documents),))
    with pytest.raises(Conflict, match="set INDEX__URL back"):
        await pipeline.ingest("job", request, lambda progress: None)
    await pipeline.aclose()
    await index.aclose()
    assert list(await house.known()) == ["/docs/a.txt"]
    assert (await house.ingest()).indexed == 1
    assert len(await house.chunks()) == 2


async def test_given_a_rebuild_that_was_cut_then_it_continues(house: House) -> None:
    for number in range(100):
        house.write(f"{number}.txt", f"Whale number {number} sings.")
    await house.ingest()
    breaking = HashingEmbedder("other", fail_after=70)
    house.embedders.embedder = breaking
    with pytest.raises(BaseExceptionGroup):
        await house.rebuild()
    assert (await house.collection()).model == "hashing"
    whole = HashingEmbedder("other")
    house.embedders.embedder = whole
    await house.rebuild()
    assert len(whole.embedded) < 100
    assert len(await house.chunks()) == 100


class Mirrored(HashingEmbedder):
    """Gives other vectors than the embedder of the same width."""

    def _vector(self, text: str) -> Vectors:
        return np.ascontiguousarray(super()._vector(text)[::-1])


@pytest.mark.parametrize("dimensions", [WIDTH, 2 * WIDTH])
async def test_given_a_rebuild_that_was_cut_when_it_is_to_another_model_then_none_are_mixed(
    house: House, dimensions: int
) -> None:
    for number in range(100):
        house.write(f"{number}.txt", f"Whale number {number} sings.")
    await house.ingest()
    house.embedders.embedder = HashingEmbedder("other", fail_after=70)
    with pytest.raises(BaseExceptionGroup):
        await house.rebuild()
    chosen = Mirrored("chosen", dimensions=dimensions)
    house.embedders.embedder = chosen
    await house.rebuild()
    chunks = await house.chunks()
    held = await house.index.vectors(await house.collection(), [chunk.chunk_id for chunk in chunks])
    made = await chosen.embed_passages([chunk.searchable for chunk in chunks])
    assert len(held) == 100
    near = [held[chunk.chunk_id] @ vector for chunk, vector in zip(chunks, made, strict=True)]
    assert min(near) > 0.98


async def test_given_a_version_half_written_by_a_dead_process_then_nobody_sees_it(
    house: House,
) -> None:
    file = house.write("a.txt", "Whales sing.")
    await house.ingest()
    [document] = (await house.known()).values()
    collection = await house.collection()
    [chunk] = await house.chunks()
    version = await house.catalog.begin(replace(document, source=str(file)))
    half = replace(chunk, chunk_id="0" * 31 + "1", version=version, text="Half a whale.")
    half = replace(half, chunk_id="00000000-0000-0000-0000-000000000001")
    await house.index.upsert(collection, [half])
    assert [c.text for c in await house.chunks()] == ["Whales sing."]
    house.write("a.txt", "A whole whale.")
    await house.ingest()
    assert [c.text for c in await house.chunks()] == ["A whole whale."]


async def test_given_progress_then_it_counts_up_and_ends(house: House) -> None:
    for number in range(30):
        house.write(f"{number}.txt", "Whales sing in the sea. " * 300)
    reports: list[Progress] = []
    request = IngestRequest((str(house.documents),))
    await house.pipeline.ingest("job", request, reports.append)
    assert [p.finished for p in reports].count(True) == 1
    counts = [(p.files, p.chunks, p.embedded) for p in reports]
    assert counts == sorted(counts)
    assert reports[-1].chunks == reports[-1].embedded > 30


async def test_given_two_folders_of_one_name_then_neither_overwrites_the_other(
    house: House,
) -> None:
    house.write("one/same/a.txt", "Whales sing.")
    house.write("two/same/a.txt", "Cats purr.")
    assert (await house.ingest("one/same")).indexed == 1
    last = await house.ingest("two/same")
    assert last.indexed == 0
    assert "one/same/a.txt" in last.failed[0].reason
    assert [c.text for c in await house.chunks()] == ["Whales sing."]
    shutil.rmtree(house.documents / "one")
    assert (await house.ingest("two/same")).indexed == 1
    assert [c.text for c in await house.chunks()] == ["Cats purr."]


async def test_given_a_file_name_that_is_no_text_then_it_fails_alone(house: House) -> None:
    house.write("a.txt", "Whales sing.")
    with open(os.fsencode(house.documents) + b"/\xff.txt", "wb") as file:
        file.write(b"Cats purr.")
    last = await house.ingest()
    assert last.indexed == 1
    assert "Rename it" in last.failed[0].reason


async def test_given_metadata_from_everywhere_then_the_nearest_counts(house: House) -> None:
    front = "---\na: own\nb: own\nc: own\nd: own\n---\n\n# Cats\n\nCats purr."
    house.write("a.md", front)
    house.write("ragstone.yaml", '"*.md": {b: folder, c: folder, d: folder}')
    house.write("a.md.meta.yaml", "c: sidecar\nd: sidecar\n")
    last = await house.ingest(metadata={"d": "flag"})
    assert (last.indexed, last.total) == (1, 1)
    [chunk] = await house.chunks()
    held = {key: chunk.metadata[key] for key in "abcd"}
    assert held == {"a": "own", "b": "folder", "c": "sidecar", "d": "flag"}


async def test_given_a_changed_sidecar_then_its_document_is_indexed_anew(house: House) -> None:
    house.write("a.txt", "Whales sing.")
    house.write("b.txt", "Cats purr.")
    house.write("a.txt.meta.yaml", "year: 2022")
    await house.ingest()
    assert (await house.ingest()).unchanged == 2
    house.write("a.txt.meta.yaml", "year: 2023\ntitle: Whales")
    last = await house.ingest()
    assert (last.indexed, last.unchanged) == (1, 1)
    known = (await house.known())["/docs/a.txt"]
    assert (known.metadata, known.title) == ({"year": 2023, "title": "Whales"}, "Whales")
    (house.documents / "a.txt.meta.yaml").unlink()
    assert (await house.ingest()).indexed == 1
    assert (await house.known())["/docs/a.txt"].metadata in (None, {})


async def test_given_a_bad_sidecar_then_it_is_named_and_the_document_is_indexed(
    house: House,
) -> None:
    house.write("a.txt", "Whales sing.")
    house.write("a.txt.meta.yaml", "year: [")
    last = await house.ingest()
    assert (last.indexed, last.files, last.total) == (1, 1, 1)
    [failure] = last.failed
    assert failure.path == "/docs/a.txt.meta.yaml"
    assert "line 1" in failure.reason
    assert [chunk.text for chunk in await house.chunks()] == ["Whales sing."]


async def test_given_a_file_by_folder_and_alone_then_it_is_one_document(house: House) -> None:
    house.write("sub/a.txt", "Whales sing.")
    first = await house.ingest(".", "sub/a.txt", "sub")
    assert (first.indexed, first.total) == (1, 1)
    assert set(await house.known()) == {"/docs/sub/a.txt"}
    for again in (await house.ingest("sub/a.txt"), await house.ingest("sub")):
        assert (again.indexed, again.unchanged) == (0, 1)
    house.write("sub/a.txt", "Whales dive.")
    assert (await house.ingest("sub/a.txt")).indexed == 1
    assert set(await house.known()) == {"/docs/sub/a.txt"}
    assert [chunk.text for chunk in await house.chunks()] == ["Whales dive."]


async def test_given_files_that_are_no_documents_then_they_are_counted_by_type(
    house: House,
) -> None:
    for name in ("a.txt", "a.txt.meta.yaml", "x.mp3", "y.MP3", "LICENSE", ".git/config"):
        house.write(name, "year: 1")
    last = await house.ingest()
    assert set(last.skipped) == {
        Skipped(".mp3", 2),
        Skipped("no ending", 1),
        Skipped("hidden", 1),
    }


async def test_given_a_job_that_was_cut_off_then_it_counts_what_it_did_before(
    house: House,
) -> None:
    house.write("a.txt", "Whales sing.")
    before = await house.ingest()
    house.write("b.txt", "Cats purr.")
    request = IngestRequest((str(house.documents),))
    earlier = replace(before, finished=False, phase="reading")
    last = await house.pipeline.ingest("job", request, lambda _: None, earlier=earlier)
    assert (last.indexed, last.unchanged, last.chunks, last.embedded) == (2, 0, 2, 2)


async def test_given_any_progress_then_it_is_whole_only_when_all_vectors_are_there(
    house: House,
) -> None:
    for number in range(5):
        house.write(f"{number}.txt", f"Whale {number} sings.")
    reports: list[Progress] = []
    request = IngestRequest((str(house.documents),))
    await house.pipeline.ingest("job", request, reports.append)
    for report in reports:
        if report.share == 1.0:
            assert report.embedded == report.vectors == 5


async def test_given_texts_in_several_languages_then_the_new_collection_is_said_to_be_mixed(
    house: House,
) -> None:
    shutil.rmtree(house.documents)
    house.write("a.txt", "The mill stands by the river, and its wheel is new. " * 20)
    house.write("b.txt", "Die Mühle steht am Fluss, und ihr Rad ist neu gebaut. " * 20)

    last = await house.ingest()

    assert last.notes[0].startswith("New collection 'default': the text is mixed, so ")


async def test_given_a_changed_included_file_then_the_document_is_read_again(house: House) -> None:
    shutil.rmtree(house.documents)
    (house.documents / "parts").mkdir(parents=True)
    (house.documents / "a.rst").write_text("Before.\n\n.. include:: parts/b.inc\n")
    (house.documents / "parts/b.inc").write_text("The mill is old.\n")
    assert (await house.ingest()).indexed == 1
    assert [chunk.text for chunk in await house.chunks()] == ["Before.\n\nThe mill is old."]
    assert (await house.ingest()).unchanged == 1
    assert (await house.ingest("a.rst")).unchanged == 1, "known by its folder, given alone"
    (house.documents / "parts/b.inc").write_text("The mill is new.\n")
    assert (await house.ingest()).indexed == 1
    assert [chunk.text for chunk in await house.chunks()] == ["Before.\n\nThe mill is new."]
    (house.documents / "parts/b.inc").unlink()
    last = await house.ingest()
    assert (last.indexed, last.failed) == (1, ())
    assert last.notes[-1].endswith("a.rst: Included files were left out: parts/b.inc (not there).")


@pytest.mark.slow
async def test_given_a_changed_picture_of_a_page_then_the_document_is_read_again(
    house: House, tmp_path: Path
) -> None:
    shutil.rmtree(house.documents)
    house.documents.mkdir()
    (house.documents / "a.html").write_text("<p>Before it.</p><img src='one.png'>")
    for line in ("The mill beside the river is old.", "The barn behind the mill is new."):
        (house.documents / "one.png").write_bytes(picture(tmp_path, line).getvalue())
        await house.ingest()
        assert f"Before it.\n\n{line}" in [chunk.text for chunk in await house.chunks()]
        assert (await house.ingest()).unchanged == 2, "the page and the picture"


def settled(file: Path, seconds: float = 60.0) -> None:
    """Give a file a time that lies back, as that of a file which nobody changes any more."""
    facts = file.stat()
    os.utime(file, (facts.st_atime, facts.st_mtime - seconds))


async def test_given_a_file_that_looks_the_same_then_it_is_not_read(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.txt", "b.txt"):
        settled(house.write(name, f"The text of {name}."))
    await house.ingest()
    hashed: list[Path] = []
    content_hash = uploads.content_hash

    def hashing(path: Path) -> str:
        hashed.append(path)
        return content_hash(path)

    monkeypatch.setattr(uploads, "content_hash", hashing)
    assert (await house.ingest()).unchanged == 2
    assert hashed == []
    (house.documents / "a.txt").touch()
    assert (await house.ingest()).unchanged == 2
    assert hashed == [house.documents / "a.txt"]
    facts = (house.documents / "b.txt").stat()
    house.write("b.txt", "The text of c.txt.")
    os.utime(house.documents / "b.txt", (facts.st_atime, facts.st_mtime + 1))
    last = await house.ingest()
    assert (last.indexed, last.unchanged) == (1, 1)


async def test_given_a_change_within_one_tick_of_the_clock_then_it_is_seen(house: House) -> None:
    file = house.write("a.txt", "The lamp is green.")
    facts = file.stat()
    await house.ingest()
    house.write("a.txt", "The lamp is brown.")
    os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert (await house.ingest()).indexed == 1
    assert [chunk.text for chunk in await house.chunks()] == ["The lamp is brown."]


async def test_given_a_changed_include_of_a_file_that_looks_the_same_then_it_is_read_again(
    house: House,
) -> None:
    part = house.write("part.txt", "The lamp is green.")
    settled(part)
    settled(house.write("page.rst", "Page\n====\n\n.. include:: part.txt\n"))
    await house.ingest()
    assert (await house.ingest()).unchanged == 2
    house.write("part.txt", "The lamp is brown.")
    settled(part, 30.0)
    assert (await house.ingest()).indexed == 2


BOOK = "= Sea\n\ninclude::parts/tides.adoc[]\n\ninclude::parts/owls.adoc[tag=short]\n"


async def paths(house: House) -> set[str]:
    return {path.removeprefix(f"/{house.documents.name}/") for path in await house.known()}


async def test_given_a_chapter_that_another_file_includes_then_its_text_is_found_once(
    house: House,
) -> None:
    house.write("book.adoc", BOOK)
    house.write("parts/tides.adoc", "== Tides\n\nThe tide turns twice.\n\ninclude::moon.adoc[]\n")
    house.write("parts/moon.adoc", "The moon pulls.\n")
    house.write("parts/owls.adoc", "Owls sleep.\n\n// tag::short[]\nOwls hunt.\n// end::short[]\n")

    for _ in range(2):
        last = await house.ingest()

        assert [(item.kind, item.files) for item in last.skipped] == [
            ("part of another document", 2)
        ]
        assert await paths(house) == {"book.adoc", "parts/owls.adoc"}
        texts = [chunk.text for chunk in await house.chunks()]
        for said in ("The tide turns twice.", "The moon pulls."):
            assert sum(said in text for text in texts) == 1


@pytest.mark.parametrize(
    ("ending", "whole", "part"),
    [
        ("rst", ".. include:: {}", ".. include:: {}\n   :start-after: here"),
        ("md", '--8<-- "{}"', '--8<-- "{}:2:3"'),
        ("md", "```{{include}} {}\n```", "```{{include}} {}\n:start-line: 1\n```"),
        ("md", "<!--@include: ./{}-->", "```{{literalinclude}} {}\n```"),
        ("mdx", "{{!{}!}}", "{{!other/{}!}}"),
    ],
    ids=["rst", "snippet", "myst", "vitepress", "markdown-include"],
)
async def test_given_a_chapter_of_any_markup_then_it_stands_in_the_book_alone(
    house: House, ending: str, whole: str, part: str
) -> None:
    house.write(
        f"book.{ending}", f"Sea.\n\n{whole}\n\n{part}\n".format(f"tides.{ending}", f"owls.{ending}")
    )
    house.write(f"tides.{ending}", "The tide turns twice.\n")
    house.write(f"owls.{ending}", "Owls sleep here\n\nand hunt.\n")

    await house.ingest()

    assert await paths(house) == {f"book.{ending}", f"owls.{ending}"}
    texts = [chunk.text for chunk in await house.chunks()]
    assert sum("The tide turns twice." in text for text in texts) == 1


async def test_given_a_chapter_with_front_matter_then_it_stays_a_document(house: House) -> None:
    house.write("book.md", 'Sea.\n\n--8<-- "tides.md"\n')
    house.write("tides.md", "---\ntopic: tides\n---\nThe tide turns twice.\n")
    await house.ingest()
    assert await paths(house) == {"book.md", "tides.md"}


async def test_given_a_chapter_that_was_a_document_then_it_is_one_as_long_as_nothing_includes_it(
    house: House,
) -> None:
    house.write("parts/tides.adoc", "== Tides\n\nThe tide turns twice.\n")
    house.write("book.adoc", "= Sea\n\nText.\n")
    await house.ingest()
    assert await paths(house) == {"book.adoc", "parts/tides.adoc"}

    house.write("book.adoc", "= Sea\n\ninclude::parts/tides.adoc[]\n")
    await house.ingest()
    assert await paths(house) == {"book.adoc"}

    house.write("book.adoc", "= Sea\n\nText.\n")
    await house.ingest()
    assert await paths(house) == {"book.adoc", "parts/tides.adoc"}


async def test_given_files_that_include_each_other_then_the_same_stays_a_document(
    house: House,
) -> None:
    for name, other in (("a", "b"), ("b", "a")):
        settled(house.write(f"{name}.adoc", f"Text of {name}.\n\ninclude::{other}.adoc[]\n"))
    for _ in range(2):
        await house.ingest()
        assert await paths(house) == {"a.adoc"}


@pytest.mark.parametrize(
    "sidecar",
    [
        pytest.param('{"topic": "tides"}', id="metadata of its own"),
        pytest.param('{"readers": ["group:board"]}', id="readers whom the other one excludes"),
    ],
)
async def test_given_a_chapter_that_is_found_otherwise_than_the_book_then_it_stays_a_document(
    house: House, sidecar: str
) -> None:
    house.write("book.adoc", "= Sea\n\ninclude::tides.adoc[]\n")
    house.write("tides.adoc", "The tide turns twice.\n")
    house.write("book.adoc.meta.json", '{"readers": ["user:eva"]}')
    house.write("tides.adoc.meta.json", sidecar)
    await house.ingest()
    assert await paths(house) == {"book.adoc", "tides.adoc"}


async def test_given_a_renamed_or_copied_file_then_its_vectors_are_taken_over(house: House) -> None:
    text = "# Lamps\n\n" + "\n\n".join(f"## Lamp {n}\n\nLamp {n} is green." for n in range(9))
    house.write("old.md", text)
    await house.ingest()
    embedded = len(house.embedders.embedder.embedded)
    assert embedded
    (house.documents / "old.md").rename(house.documents / "new.md")
    house.write("copy/again.md", text)
    last = await house.ingest(prune=True)
    assert (last.indexed, last.pruned) == (2, 1)
    assert last.embedded == last.chunks == 2 * embedded
    assert len(house.embedders.embedder.embedded) == embedded
    known = await house.known()
    assert {item.status for item in known.values()} == {"ready"}
    index, collection = house.index, await house.collection()
    assert await index.count_without_vectors(collection) == 0
    ids = [chunk.chunk_id for chunk in await house.chunks()]
    assert len(await index.vectors(collection, ids)) == len(ids) == 2 * embedded


async def test_given_an_edited_file_then_only_what_was_edited_is_embedded(house: House) -> None:
    parts = [f"## Lamp {n}\n\n" + f"Lamp {n} is green. " * 30 for n in range(6)]
    house.write("lamps.md", "# Lamps\n\n" + "\n\n".join(parts))
    first = await house.ingest()
    before = len(house.embedders.embedder.embedded)
    parts[3] = "## Lamp 3\n\n" + "Lamp 3 is brown. " * 30
    house.write("lamps.md", "# Lamps\n\n" + "\n\n".join(parts))
    last = await house.ingest()
    new = house.embedders.embedder.embedded[before:]
    assert 0 < len(new) < first.chunks
    assert all("brown" in text for text in new)
    assert last.embedded == last.chunks


async def test_given_many_files_then_all_are_found_and_progress_counts_each_once(
    house: House,
) -> None:
    for number in range(300):
        house.write(f"{number % 7}/{number}.txt", f"Note {number} tells of lamp {number}.")
    house.write("bad.pdf", "this is not a PDF")
    last = await house.ingest()
    assert (last.indexed, last.files, len(last.failed)) == (300, 301, 1)
    assert last.chunks == last.embedded == 300
    assert len(house.embedders.embedder.embedded) == 300
    assert {item.status for item in (await house.known()).values()} == {"ready", "failed"}
    assert len(await house.chunks()) == 300


async def test_given_a_document_of_many_chunks_then_it_is_written_while_it_is_read(
    house: House,
) -> None:
    house.write("long.txt", "\n\n".join(f"Part {n}. " + f"word{n} " * 150 for n in range(700)))
    house.write("short.txt", "A short one.")
    last = await house.ingest()
    assert (last.indexed, last.embedded) == (2, last.chunks)
    known = await house.known()
    long = known["/docs/long.txt"]
    assert long.chunks > 512
    numbers = sorted(c.chunk_index for c in await house.chunks() if c.document_id == long.id)
    assert numbers == list(range(long.chunks))
