"""What a collection's name stands for: all that is its goes with it to another name, and nothing of
it to another collection of the old name."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from ragstone import build
from ragstone.core.errors import Conflict, InputError, RagstoneError, UnknownCollection
from ragstone.core.filters import Not, Or, eq
from ragstone.core.turn import Ask, Principal
from ragstone.ingest.write import Writer
from ragstone.local import Ragstone
from ragstone.local.configured import identify_collection
from ragstone.service import IngestRequest, Progress
from ragstone.service.keys import KeyGrant
from ragstone.settings import CacheSettings, Settings
from tests.in_turn import in_turn
from tests.memory_store import MemoryNames

pytestmark = pytest.mark.slow

ME = Principal()
OLD = "The lighthouse of Ost was built in 1871.\n"
NEW = "The lighthouse of West was built in 1999.\n"
QUESTION = Ask("When was the lighthouse built?", collection="notes")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "ost.txt").write_text(OLD)
    (tmp_path / "west.txt").write_text(NEW)
    return Settings(ragstone_data=tmp_path / "data", cache=CacheSettings(enabled=True))


@pytest_asyncio.fixture
async def ragstone(settings: Settings, tmp_path: Path) -> AsyncIterator[Ragstone]:
    """With one collection, `notes`."""
    async with build.open(settings) as ragstone:
        await ingested(ragstone, tmp_path / "ost.txt")
        yield ragstone


async def ingested(ragstone: Ragstone, file: Path, collection: str = "notes") -> Progress:
    return [step async for step in ragstone.ingest(IngestRequest((str(file),), collection))][-1]


async def answered(ragstone: Ragstone, ask: Ask) -> tuple[str, str]:
    """The answer, and what the cache had of it."""
    turn = [event async for event in ragstone.ask(ask)][-1].turn  # type: ignore[union-attr]
    return turn.answer.text if turn.answer else "", turn.recalled.content if turn.recalled else ""


async def test_given_another_name_then_nothing_is_read_anew_and_everything_goes_with_it(
    ragstone: Ragstone,
) -> None:
    await ragstone.settings.put("collection:default/notes", {"rag.top_k": 3}, "ann")
    issued = await ragstone.keys.create(KeyGrant("a", collections=("notes",)))
    first = await answered(ragstone, QUESTION)
    assert "1871" in first[0]
    [before] = await ragstone.documents(ME, "notes")
    renamed = await ragstone.rename_collection(ME, "notes", "archive")
    assert renamed.name == "archive"
    assert await ragstone.documents(ME, "archive") == [replace(before, collection="archive")]
    asked = replace(QUESTION, collection="archive")
    for _ in range(200):  # An answer is kept right after it has left.
        if (again := await answered(ragstone, asked))[1] == "answer":
            break
    assert again == (first[0], "answer")
    fresh = await ragstone.search(replace(asked, question="Who built Ost?", cache=False))
    assert {hit.chunk.collection for hit in fresh.hits} == {"archive"}
    value = await ragstone.settings.get("rag.top_k", "default", "archive")
    assert (value.value, value.where) == (3, "collection:default/archive")
    assert (await ragstone.keys.whose(issued.secret)).collections == ("archive",)
    [job] = await ragstone.jobs.list("default", "ingest")
    assert job.collection == "archive"
    text = await ragstone.reading.read(ME, "archive", "/ost.txt", 0, 100)
    assert (text.text.strip(), text.document.collection) == (OLD.strip(), "archive")
    for gone in (ragstone.documents(ME, "notes"), ragstone.delete(ME, "notes")):
        with pytest.raises(UnknownCollection):
            await gone
    assert [note async for note in ragstone.maintenance.examine(False)][-1].notes == ()


async def test_given_a_new_collection_of_the_old_name_then_it_gets_nothing_of_the_old_one(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    await ragstone.settings.put("collection:default/notes", {"rag.top_k": 3}, "ann")
    issued = await ragstone.keys.create(KeyGrant("a", collections=("notes",)))
    assert "1871" in (await answered(ragstone, QUESTION))[0]
    await ragstone.rename_collection(ME, "notes", "archive")
    await ingested(ragstone, tmp_path / "west.txt")
    text, recalled = await answered(ragstone, QUESTION)
    assert "1999" in text
    assert recalled == ""
    assert [document.path for document in await ragstone.documents(ME, "notes")] == ["/west.txt"]
    assert (await ragstone.settings.get("rag.top_k", "default", "notes")).value == 10
    assert (await ragstone.keys.whose(issued.secret)).collections == ("archive",)
    assert [job.collection for job in await ragstone.jobs.list("default", "ingest")] == [
        "notes",
        "archive",
    ]
    await ragstone.delete(ME, "archive")
    assert (await ragstone.keys.whose(issued.secret)).collections == ()
    assert "1999" in (await answered(ragstone, replace(QUESTION, cache=False)))[0]


async def test_given_a_deleted_collection_then_the_next_of_its_name_gets_nothing_of_it(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    await ragstone.settings.put("collection:default/notes", {"rag.top_k": 3}, "ann")
    issued = await ragstone.keys.create(KeyGrant("a", collections=("notes",)))
    await ragstone.delete(ME, "notes")
    await ingested(ragstone, tmp_path / "west.txt")
    assert (await ragstone.keys.whose(issued.secret)).collections == ()
    assert (await ragstone.settings.get("rag.top_k", "default", "notes")).value == 10


async def test_given_what_waits_for_a_collection_then_it_has_it_when_it_comes(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    await ragstone.settings.put("collection:default/later", {"rag.top_k": 3}, "ann")
    issued = await ragstone.keys.create(KeyGrant("a", collections=("later",)))
    assert (await ragstone.keys.whose(issued.secret)).collections == ("later",)
    await ingested(ragstone, tmp_path / "west.txt", "later")
    await ragstone.rename_collection(ME, "later", "now")
    assert (await ragstone.keys.whose(issued.secret)).collections == ("now",)
    assert (await ragstone.settings.get("rag.top_k", "default", "now")).value == 3


async def test_given_an_ingest_goes_on_then_it_ends_in_the_renamed_collection(
    ragstone: Ragstone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, go_on, put = asyncio.Event(), asyncio.Event(), Writer.put

    async def slow(self: Writer, *given: object) -> object:
        reached.set()
        await go_on.wait()
        return await put(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Writer, "put", slow)
    ingest = asyncio.create_task(ingested(ragstone, tmp_path / "west.txt"))
    await reached.wait()
    await ragstone.rename_collection(ME, "notes", "archive")
    go_on.set()
    assert (await ingest).indexed == 1
    assert len(await ragstone.documents(ME, "archive")) == 2
    assert [collection.collection.name for collection in await ragstone.collections(ME)] == [
        "archive"
    ]


async def test_given_a_name_is_taken_before_its_ingest_begins_then_that_says_so(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    request = {"paths": [str(tmp_path / "west.txt")], "collection": "archive"}
    await ragstone.jobs.pause_kind("ingest")
    job = await ragstone.jobs.submit("ingest", {**request, "allowed": ["*"]}, principal=ME)
    await ragstone.rename_collection(ME, "notes", "archive")
    await ragstone.jobs.resume_kind("ingest")
    last = [view async for view in ragstone.jobs.watch(ME, job.id)][-1]
    assert (last.state, last.code) == ("failed", "conflict")
    assert len(await ragstone.documents(ME, "archive")) == 1


async def test_given_a_collection_is_deleted_then_what_waits_for_it_does_not_bring_it_back(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    issued = await ragstone.keys.create(KeyGrant("a", collections=("notes",)))
    request = {"paths": [str(tmp_path / "west.txt")], "collection": "notes", "allowed": ["*"]}
    await ragstone.jobs.pause_kind("ingest")
    job = await ragstone.jobs.submit("ingest", request, principal=ME)
    await ragstone.delete(ME, "notes")
    await ragstone.jobs.resume_kind("ingest")
    last = [view async for view in ragstone.jobs.watch(ME, job.id)][-1]
    assert (last.state, last.code, last.collection) == ("failed", "unknown_collection", "notes")
    await ingested(ragstone, tmp_path / "ost.txt")
    await ragstone.jobs.retry(ME, job.id)
    last = [view async for view in ragstone.jobs.watch(ME, job.id)][-1]
    assert (last.state, last.code) == ("failed", "conflict")
    assert [document.path for document in await ragstone.documents(ME, "notes")] == ["/ost.txt"]
    assert (await ragstone.keys.whose(issued.secret)).collections == ()


async def test_given_a_question_in_the_background_then_it_is_asked_of_the_renamed_collection(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    await ragstone.jobs.pause_kind("ask")
    job = await ragstone.jobs.ask(replace(QUESTION, cache=False))
    await ragstone.rename_collection(ME, "notes", "archive")
    await ingested(ragstone, tmp_path / "west.txt")
    await ragstone.jobs.resume_kind("ask")
    last = [view async for view in ragstone.jobs.watch(ME, job.id)][-1]
    assert last.result is not None
    assert "1871" in last.result["answer"]
    assert (last.collection, job.collection) == ("archive", "notes")
    again = await ragstone.jobs.ask(replace(QUESTION, cache=False))
    assert again.id != job.id
    same = await ragstone.jobs.ask(replace(QUESTION, collection="archive", cache=False))
    assert same.id == job.id


@in_turn("name", ["", " ", "a ", "\n", "a\0b", "x" * 256, "\ud800", "a\x1b[2J"])
async def test_given_what_is_no_name_then_one_line_says_so(ragstone: Ragstone, name: str) -> None:
    with pytest.raises(InputError, match="name of a collection") as caught:
        await ragstone.rename_collection(ME, "notes", name)
    assert "\n" not in caught.value.message
    assert [collection.collection.name for collection in await ragstone.collections(ME)] == [
        "notes"
    ]


async def test_given_a_name_that_is_taken_or_unknown_then_nothing_changes(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    await ingested(ragstone, tmp_path / "west.txt", "papers")
    wrong: list[tuple[str, str, type[RagstoneError]]] = [
        ("notes", "papers", Conflict),
        ("nowhere", "new", UnknownCollection),
    ]
    for old, new, error in wrong:
        with pytest.raises(error):
            await ragstone.rename_collection(ME, old, new)
    with pytest.raises(UnknownCollection):
        await ragstone.rename_collection(Principal("other"), "notes", "new")
    assert (await ragstone.rename_collection(ME, "notes", "notes")).name == "notes"
    assert [collection.collection.name for collection in await ragstone.collections(ME)] == [
        "notes",
        "papers",
    ]


async def test_given_a_filter_on_the_collection_then_its_name_of_now_is_meant(
    ragstone: Ragstone,
) -> None:
    await ragstone.rename_collection(ME, "notes", "archive")
    ask = replace(QUESTION, collection="archive")
    for where, found in (
        (eq("collection", "archive"), 1),
        (eq("collection", "notes"), 0),
        (Or((eq("collection", "notes"), eq("path", "/ost.txt"))), 1),
        (Not(eq("collection", "archive")), 0),
    ):
        assert len((await ragstone.search(replace(ask, where=where))).hits) == found


async def test_given_a_question_that_says_which_one_then_its_name_is_not_looked_up() -> None:
    names = MemoryNames()
    await names.identity("default", "notes")
    assert (await identify_collection(names, QUESTION)).collection_id == "c0"
    assert (await identify_collection(names, replace(QUESTION, collection="x"))).collection_id == ""
    known = replace(QUESTION, collection_id="c9")
    assert await identify_collection(names, known) == known
