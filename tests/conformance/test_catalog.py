"""What every `Catalog` must do, on each database that keeps the state."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ragstone.core.errors import Conflict, UnknownCollection
from ragstone.core.readers import FolderReaders
from ragstone.core.records import Collection, Document, SettingEdit
from ragstone.ports import Catalog, Edition, Look, StatusCount, Total, ValueCount
from ragstone.store.sql.catalog import SqlCatalog
from ragstone.store.sql.settings import SqlSettings
from tests.databases import DatabaseOpener
from tests.patience import PATIENCE

Opener = Callable[[Path], AbstractAsyncContextManager[Catalog]]


LAW = Collection("acme", "law", "minilm", "f1", 384, "en", id="c1")
DOC = Document("d1", "acme", "c1", "/a/one.txt", title="One", content_hash="h1")


@pytest.fixture
def opener(open_state: DatabaseOpener) -> Opener:
    @asynccontextmanager
    async def opened(folder: Path) -> AsyncIterator[Catalog]:
        async with open_state(folder) as database:
            yield await SqlCatalog.open(database)

    return opened


@pytest.fixture
async def catalog(opener: Opener, tmp_path: Path) -> AsyncIterator[Catalog]:
    async with opener(tmp_path) as opened:
        await opened.put_collection(LAW)
        yield opened


async def hidden(catalog: Catalog, collection: Collection | None = None) -> frozenset[str]:
    async with catalog.snapshot(collection) as names:
        return names


async def publish(catalog: Catalog, document: Document) -> int:
    version = await catalog.begin(document)
    await catalog.publish(document, version)
    return version


async def purge(catalog: Catalog) -> list[str]:
    names = [name for _, name in await catalog.list_retired()]
    await catalog.drain()
    await catalog.forget_revisions(names)
    return names


async def test_collections_are_kept_per_tenant_and_replaced_by_id(catalog: Catalog) -> None:
    other = replace(LAW, tenant="bolt")
    await catalog.put_collection(other)
    assert await catalog.collection("acme", "law") == LAW
    assert await catalog.collection("acme", "none") is None
    assert await catalog.collections() == [LAW, other]
    assert await catalog.collections("bolt") == [other]
    rebuilt = replace(LAW, fingerprint="f2", build=2)
    await publish(catalog, DOC)
    await catalog.put_collection(rebuilt)
    assert await catalog.collection("acme", "law") == rebuilt
    assert await catalog.document("d1") is not None
    assert await catalog.find_by_id("acme", "c1") == rebuilt
    assert await catalog.find_by_id("acme", "law") is None


async def test_a_renamed_collection_keeps_all_that_is_its(catalog: Catalog) -> None:
    version = await publish(catalog, DOC)
    before = await edition(catalog)
    renamed = await catalog.rename_collection(LAW, "statutes")
    assert renamed == replace(LAW, name="statutes")
    assert await catalog.collection("acme", "law") is None
    assert await catalog.collection("acme", "statutes") == renamed
    assert await catalog.collections() == [renamed]
    assert await catalog.names("acme", ["c1", "c9"]) == {"c1": "statutes"}
    assert await edition(catalog) == before
    assert await catalog.document("d1") == replace(DOC, version=version, status="text")
    # A rebuild that began before the renaming ends after it.
    rebuilt = replace(LAW, fingerprint="f2", build=2)
    await catalog.put_collection(rebuilt)
    assert await catalog.collection("acme", "statutes") == replace(rebuilt, name="statutes")
    assert await catalog.collection("acme", "law") is None


async def test_a_new_collection_of_the_old_name_is_another_one(
    opener: Opener, tmp_path: Path
) -> None:
    async with opener(tmp_path) as catalog:
        await catalog.put_collection(LAW)
        await publish(catalog, DOC)
        await catalog.rename_collection(LAW, "statutes")
        id = await catalog.identity("acme", "law")
        assert id not in ("", "c1", "law")
        new = replace(LAW, id=id)
        await catalog.put_collection(new)
        assert await catalog.collection("acme", "law") == new
        assert await catalog.documents("acme", id) == []
        first, second = await catalog.edition("acme", id), await edition(catalog)
        assert first is not None
        assert first.stamp != second.stamp
        assert first.readers == frozenset()
    async with opener(tmp_path) as catalog:
        names = [collection.name for collection in await catalog.collections("acme")]
        assert names == ["law", "statutes"]
        assert [document.id for document in await catalog.documents("acme", "c1")] == ["d1"]


async def test_no_two_collections_have_a_name(catalog: Catalog) -> None:
    other = replace(LAW, name="tax", id="c2")
    await catalog.put_collection(other)
    await catalog.put_collection(replace(LAW, tenant="bolt", name="tort"))
    with pytest.raises(Conflict, match="a collection named 'tax' already"):
        await catalog.rename_collection(LAW, "tax")
    with pytest.raises(Conflict, match="a collection named 'tax' already"):
        await catalog.put_collection(replace(LAW, name="tax", id="c3"))
    with pytest.raises(UnknownCollection, match="'gone'"):
        await catalog.rename_collection(replace(LAW, name="gone", id="c4"), "new")
    with pytest.raises(UnknownCollection, match="'once'"):
        await catalog.rename_collection(replace(LAW, name="once"), "new")
    assert await catalog.collections("acme") == [LAW, other]
    assert (await catalog.rename_collection(LAW, "tort")).name == "tort"
    assert (await catalog.rename_collection(other, "law")).id == "c2"


async def test_a_collection_to_come_has_its_id_before(opener: Opener, tmp_path: Path) -> None:
    async with opener(tmp_path) as catalog:
        assert await catalog.identity("acme", "law", make=False) == ""
        ids = await asyncio.gather(*(catalog.identity("acme", "law") for _ in range(5)))
        other = await catalog.identity("bolt", "law")
        assert len({*ids, other}) == 2
    async with opener(tmp_path) as catalog:
        assert await catalog.identity("acme", "law", make=False) == ids[0]
        assert await catalog.names("acme", ids) == {ids[0]: "law"}
        assert await catalog.collections() == []
        await catalog.put_collection(replace(LAW, id=ids[0]))
        assert await catalog.identity("acme", "law") == ids[0]
        await catalog.drop_collection("acme", ids[0])
        assert await catalog.names("acme", ids) == {}
        again = await catalog.identity("acme", "law")
        assert again not in ("", ids[0])
        # Another collection takes the name that this one waits for.
        await catalog.put_collection(replace(LAW, name="tax"))
        await catalog.rename_collection(replace(LAW, name="tax"), "law")
        assert await catalog.identity("acme", "law") == "c1"
        assert await catalog.names("acme", [again, other]) == {}
        assert await catalog.names("bolt", [other]) == {other: "law"}


async def test_settings_end_with_their_collection(
    open_state: DatabaseOpener, tmp_path: Path
) -> None:
    async with open_state(tmp_path) as database:
        catalog, settings = await SqlCatalog.open(database), SqlSettings(database)
        await catalog.put_collection(LAW)
        await settings.edit([SettingEdit("collection:acme/c1", "rag.top_k", 3)], "eva")
        await settings.edit([SettingEdit("tenant:acme", "rag.top_k", 4)], "eva")
        await catalog.rename_collection(LAW, "statutes")
        assert len(await settings.list_stored()) == 2
        await catalog.drop_collection("acme", "c1")
        assert [item.scope for item in await settings.list_stored()] == ["tenant:acme"]
        newest = (await settings.changes(1))[0]
        assert (newest.scope, newest.action, newest.old) == ("collection:acme/c1", "unset", 3)


async def test_a_new_document_is_hidden_until_published(catalog: Catalog) -> None:
    given = replace(
        DOC,
        allowed=("group:hr", "user:eva"),
        own_readers=("group:hr", "user:eva"),
        metadata={"ä": [1, None]},
        size=2**40,
        modified=1.5,
    )
    assert await catalog.begin(given) == 1
    assert await hidden(catalog) == {"d1@1"}
    assert await catalog.document("d1") == given
    published = replace(given, chunks=3, pages=2)
    await catalog.publish(published, 1)
    assert await hidden(catalog) == frozenset()
    assert await catalog.document("d1") == replace(published, version=1, status="text")
    await catalog.mark_embedded(["d1", "unknown"])
    assert await catalog.document("d1") == replace(published, version=1, status="ready")


async def test_a_new_version_takes_over_at_once(catalog: Catalog) -> None:
    first = replace(DOC, chunks=3, allowed=("user:eva",), own_readers=("user:eva",))
    await publish(catalog, first)
    second = replace(DOC, title="Two", content_hash="h2", chunks=5)
    assert await catalog.begin(second) == 2
    assert await hidden(catalog) == {"d1@2"}
    during = await catalog.document("d1")
    assert during == replace(first, version=1, status="writing")
    await catalog.publish(second, 2)
    assert await hidden(catalog) == {"d1@1"}
    assert await catalog.document("d1") == replace(second, version=2, status="text")
    assert await catalog.list_retired() == [(LAW, "d1@1")]
    assert await purge(catalog) == ["d1@1"]
    assert await hidden(catalog) == frozenset()
    assert await catalog.list_retired() == []


async def test_publish_twice_is_publish(catalog: Catalog) -> None:
    await publish(catalog, DOC)
    await catalog.publish(DOC, 1)
    assert await hidden(catalog) == frozenset()
    assert await catalog.list_retired() == []


async def test_begin_continues_what_a_crash_left(opener: Opener, tmp_path: Path) -> None:
    async with opener(tmp_path) as catalog:
        await catalog.put_collection(LAW)
        await publish(catalog, DOC)
        assert await catalog.begin(DOC) == 2
    async with opener(tmp_path) as catalog:
        assert await hidden(catalog) == {"d1@2"}
        assert await catalog.begin(DOC) == 2


async def test_a_failed_version_is_retired_and_the_earlier_answers(catalog: Catalog) -> None:
    await publish(catalog, DOC)
    await catalog.begin(replace(DOC, content_hash="h2"))
    await catalog.fail(replace(DOC, content_hash="h2", title=""), "It is encrypted.")
    assert await catalog.document("d1") == replace(
        DOC, version=1, status="failed", error="It is encrypted."
    )
    assert await hidden(catalog) == {"d1@2"}
    assert await purge(catalog) == ["d1@2"]
    await publish(catalog, replace(DOC, content_hash="h3"))
    fixed = await catalog.document("d1")
    assert fixed is not None
    assert (fixed.status, fixed.error, fixed.content_hash) == ("text", "", "h3")


async def test_a_document_that_never_was_indexed_is_listed_with_its_error(
    catalog: Catalog,
) -> None:
    await catalog.fail(DOC, "It is empty.")
    failed = replace(DOC, status="failed", error="It is empty.")
    assert await catalog.documents("acme") == [failed]
    assert failed.version == 0
    assert await hidden(catalog) == frozenset()


async def test_unread_files_are_found_by_their_endings_of_who_may_read_them(
    catalog: Catalog,
) -> None:
    failed = replace(DOC, id="d2", path="/a/Plan_1.PDF", own_readers=("group:board",))
    skipped = replace(DOC, id="d3", path="/a/talk.key", status="skipped", allowed=("*",))
    other = replace(DOC, id="d4", path="/a/b_pdf", allowed=("*",))
    await catalog.fail_all([replace(item, error="Why.") for item in (failed, skipped, other)])
    place = (DOC.tenant, DOC.collection)

    async def unread(readers: set[str], *endings: str) -> list[tuple[str, str]]:
        found = await catalog.list_unread(*place, readers, endings)
        return [(item.path, item.status) for item in found]

    assert await unread({"group:board", "*"}, ".pdf", ".KEY") == [
        ("/a/Plan_1.PDF", "failed"),
        ("/a/talk.key", "skipped"),
    ]
    assert await unread({"*"}, ".pdf", ".key") == [("/a/talk.key", "skipped")]
    assert await unread({"*"}, ".%") == []
    listed = await catalog.documents(*place, skipped=False)
    assert [item.id for item in listed] == ["d2", "d4"]
    assert await catalog.folders(*place, {"*"}, "", 10) == {"a": 1}

    await publish(catalog, replace(skipped, status="writing"))
    assert await unread({"*"}, ".key") == []


async def test_several_fail_at_once_each_with_its_error(catalog: Catalog) -> None:
    await publish(catalog, DOC)
    await catalog.begin(replace(DOC, content_hash="h2"))
    await catalog.begin(replace(DOC, id="d2", path="/b"))
    errors = {"d1": "It is encrypted.", "d2": "It is a scan.", "d3": "It is empty."}
    await catalog.fail_all(
        [replace(DOC, id=id, path=f"/{id}", error=error) for id, error in errors.items()]
    )
    known = await catalog.documents("acme")
    assert {item.id: (item.status, item.error, item.version) for item in known} == {
        id: ("failed", error, int(id == "d1")) for id, error in errors.items()
    }
    assert await hidden(catalog) == {"d1@2", "d2@1"}
    with pytest.raises(UnknownCollection):
        await catalog.fail_all([DOC, replace(DOC, id="d9", path="/9", collection="gone")])


async def test_retired_documents_are_hidden_at_once(catalog: Catalog) -> None:
    ids = [f"d{number}" for number in range(1200)]
    await publish(catalog, DOC)
    await publish(catalog, replace(DOC, id="d2", path="/two"))
    await catalog.retire(ids)
    assert await catalog.documents("acme") == []
    assert await hidden(catalog) == {"d1@1", "d2@1"}
    assert await purge(catalog) == ["d1@1", "d2@1"]
    await catalog.mark_embedded(ids)
    await catalog.retire([])
    assert await catalog.documents("acme") == []


async def test_a_number_is_never_used_twice(catalog: Catalog) -> None:
    await publish(catalog, DOC)
    await catalog.retire(["d1"])
    await purge(catalog)
    assert await catalog.begin(DOC) == 2
    await catalog.drop_collection("acme", "c1")
    await catalog.put_collection(LAW)
    assert await catalog.begin(DOC) == 3


async def test_a_late_purge_harms_nothing_that_lives(catalog: Catalog) -> None:
    await publish(catalog, DOC)
    await catalog.begin(DOC)
    await catalog.forget_revisions(["d1@1", "d1@2", "d9@9"])
    assert await hidden(catalog) == {"d1@2"}


async def test_deleting_while_writing_stays_deleted(opener: Opener, tmp_path: Path) -> None:
    async with opener(tmp_path) as catalog:
        await catalog.put_collection(LAW)
        version = await catalog.begin(DOC)
        await catalog.retire(["d1"])
        assert await purge(catalog) == ["d1@1"]
        # The writer goes on: what it writes now must not be seen either.
        assert await hidden(catalog) == {"d1@1"}
        await catalog.publish(DOC, version)
        assert await catalog.document("d1") is None
        assert await hidden(catalog) == {"d1@1"}
        assert await purge(catalog) == ["d1@1"]
        assert await hidden(catalog) == frozenset()
        assert await catalog.begin(DOC) == 2
        await catalog.retire(["d1"])
        await purge(catalog)
        assert await hidden(catalog) == {"d1@2"}
    async with opener(tmp_path) as catalog:
        assert await hidden(catalog) == {"d1@2"}
        await purge(catalog)
        assert await hidden(catalog) == frozenset()


async def test_dropping_a_collection_forgets_its_documents(catalog: Catalog) -> None:
    other = replace(LAW, name="tax", id="c2")
    await catalog.put_collection(other)
    await publish(catalog, replace(DOC, id="t1", collection="c2"))
    await catalog.begin(replace(DOC, id="t1", collection="c2"))
    await publish(catalog, DOC)
    await publish(catalog, DOC)
    version = await catalog.begin(DOC)
    await catalog.drop_collection("acme", "c1")
    assert await catalog.collections() == [other]
    assert [document.id for document in await catalog.documents("acme")] == ["t1"]
    assert await hidden(catalog) == {"t1@2"}
    assert await catalog.list_retired() == []
    with pytest.raises(UnknownCollection):
        await catalog.publish(DOC, version)
    with pytest.raises(UnknownCollection):
        await catalog.begin(DOC)
    with pytest.raises(UnknownCollection):
        await catalog.fail(DOC, "Broken.")
    assert await hidden(catalog) == {"t1@2"}


async def test_documents_come_by_path_in_pages(catalog: Catalog) -> None:
    await catalog.put_collection(replace(LAW, name="tax", id="c2"))
    await catalog.put_collection(replace(LAW, tenant="bolt"))
    for number in (3, 1, 4, 0, 2):
        await publish(catalog, replace(DOC, id=f"x{9 - number}", path=f"/{number}"))
    await catalog.mark_embedded(["x9", "x7"])
    await publish(catalog, replace(DOC, id="t", collection="c2", path="/1"))
    await publish(catalog, replace(DOC, id="b", tenant="bolt", path="/1"))

    async def paths(**options: Any) -> list[str]:
        found = await catalog.documents("acme", "c1", **options)
        return [document.path for document in found]

    assert await paths() == ["/0", "/1", "/2", "/3", "/4"]
    assert await paths(limit=2) == ["/0", "/1"]
    assert await paths(limit=2, offset=4) == ["/4"]
    assert await paths(offset=3) == ["/3", "/4"]
    assert await paths(status="ready") == ["/0", "/2"]
    assert await paths(status="failed") == []
    assert len(await catalog.documents("acme")) == 6
    assert [document.id for document in await catalog.documents("bolt")] == ["b"]


async def test_what_a_collection_hides_is_its_own(catalog: Catalog) -> None:
    twin = replace(LAW, tenant="bolt")
    quoted = replace(LAW, id="it's \\ 100 % {c}; --\0", name="quoted")
    homes = (LAW, twin, quoted)
    for number, home in enumerate(homes):
        if home is not LAW:
            await catalog.put_collection(home)
        one = replace(DOC, id=f"h{number}", tenant=home.tenant, collection=home.id)
        await publish(catalog, one)
        await publish(catalog, one)
    assert [await hidden(catalog, home) for home in homes] == [{"h0@1"}, {"h1@1"}, {"h2@1"}]
    assert await hidden(catalog) == {"h0@1", "h1@1", "h2@1"}
    await catalog.retire(["h0", "h2"])
    assert [len(await hidden(catalog, home)) for home in homes] == [2, 1, 2]
    await catalog.forget_revisions(["h0@1"])
    assert await hidden(catalog, LAW) == {"h0@2"}
    await catalog.drop_collection(quoted.tenant, quoted.id)
    assert await hidden(catalog) == {"h0@2", "h1@1"}
    for gone in (quoted, replace(LAW, id="never made", name="quoted")):
        with pytest.raises(UnknownCollection, match="quoted"):
            await hidden(catalog, gone)


async def test_an_index_is_unused_once_its_collection_is_dropped_or_built_anew(
    catalog: Catalog,
) -> None:
    assert await catalog.list_unused() == []
    await catalog.put_collection(replace(LAW, model="another"))
    assert await catalog.list_unused() == []
    anew = replace(LAW, build=LAW.build + 1)
    await catalog.put_collection(anew)
    assert await catalog.list_unused() == [replace(LAW, model="another")]
    await catalog.drop_collection(LAW.tenant, LAW.id)
    await catalog.drop_collection(LAW.tenant, "never made")
    assert await catalog.list_unused() == [replace(LAW, model="another"), anew]
    await catalog.forget_dropped([LAW])
    assert await catalog.list_unused() == [anew]


async def test_what_is_kept_makes_nobody_wait(catalog: Catalog) -> None:
    await publish(catalog, DOC)
    assert not await catalog.is_kept()
    async with catalog.keep_all(), catalog.keep_all():
        assert await catalog.is_kept()
        async with asyncio.timeout(PATIENCE):
            await publish(catalog, DOC)
            await catalog.drain()
        assert await hidden(catalog) == {"d1@1"}
    assert not await catalog.is_kept()


async def test_totals_are_of_every_tenant_and_by_status(catalog: Catalog) -> None:
    assert await catalog.totals() == []
    tax = replace(LAW, tenant="bolt", name="tax", id="c2")
    await catalog.put_collection(tax)
    theirs = replace(DOC, id="d2", tenant="bolt", collection="c2", chunks=5)
    await publish(catalog, replace(DOC, chunks=3))
    await publish(catalog, theirs)
    await catalog.fail(replace(DOC, id="d3"), "It is empty.")
    assert set(await catalog.totals()) == {Total("text", 2, 8), Total("failed", 1, 0)}
    await catalog.mark_embedded(["d2"])
    assert set(await catalog.totals()) == {
        Total("text", 1, 3),
        Total("ready", 1, 5),
        Total("failed", 1, 0),
    }
    await catalog.retire(["d3"])
    await catalog.drop_collection("bolt", "c2")
    [left] = await catalog.totals()
    assert (left, type(left.chunks)) == (Total("text", 1, 3), int)


async def test_drained_waits_for_earlier_readers_only(catalog: Catalog) -> None:
    leave = asyncio.Event()
    entered = asyncio.Event()

    async def read() -> None:
        async with catalog.snapshot():
            entered.set()
            await leave.wait()

    early = asyncio.create_task(read())
    await entered.wait()
    waiting = asyncio.create_task(catalog.drain())
    await asyncio.sleep(0)
    async with catalog.snapshot():
        assert not waiting.done()
        leave.set()
        await asyncio.wait_for(waiting, 5)
    await early


async def test_a_cancelled_reader_does_not_hold_up_draining(catalog: Catalog) -> None:
    async def read() -> None:
        async with catalog.snapshot():
            await asyncio.sleep(60)

    reader = asyncio.create_task(read())
    await asyncio.sleep(0.01)
    reader.cancel()
    await asyncio.wait_for(catalog.drain(), 5)
    with pytest.raises(asyncio.CancelledError):
        await reader


async def test_begin_waits_for_searches_that_do_not_know_the_version(catalog: Catalog) -> None:
    async with catalog.snapshot() as names:
        begun = asyncio.create_task(catalog.begin(DOC))
        assert names == frozenset()
        async with asyncio.timeout(PATIENCE):
            later: frozenset[str] = frozenset()
            while not later:
                # Without this no other task runs where a snapshot waits for nothing.
                await asyncio.sleep(0.01)
                async with catalog.snapshot() as later:
                    pass
        assert later == {"d1@1"}
        assert not begun.done()
    assert await asyncio.wait_for(begun, PATIENCE) == 1


async def test_readers_never_see_a_mixture_or_a_gap(catalog: Catalog) -> None:
    """Writers replace and purge ten documents while searches look at a pretended index."""
    index: set[str] = set()
    seen = 0

    async def write(document: Document) -> None:
        for _ in range(5):
            version = await catalog.begin(document)
            index.add(f"{document.id}@{version}")
            await asyncio.sleep(0)
            await catalog.publish(document, version)
            gone = [name for _, name in await catalog.list_retired()]
            await catalog.drain()
            index.difference_update(gone)
            await catalog.forget_revisions(gone)

    async def search(writers: "asyncio.Future[list[None]]") -> None:
        nonlocal seen
        while not writers.done():
            async with catalog.snapshot() as names:
                before = sorted(index - names)
                await asyncio.sleep(0.001)
                assert sorted(index - names) == before
            assert len({name.split("@")[0] for name in before}) == len(before)
            assert len(before) >= seen
            seen = max(seen, len(before))

    documents = [replace(DOC, id=f"r{n}", path=f"/{n}") for n in range(10)]
    writers = asyncio.gather(*map(write, documents))
    await asyncio.gather(writers, *(search(writers) for _ in range(3)))
    assert seen == 10
    assert await hidden(catalog) == frozenset()


async def test_cancelling_a_caller_leaves_memory_and_disk_alike(
    opener: Opener, tmp_path: Path
) -> None:
    async with opener(tmp_path) as catalog:
        await catalog.put_collection(LAW)
        for number in range(20):
            task = asyncio.create_task(publish(catalog, replace(DOC, content_hash=str(number))))
            await asyncio.sleep(number / 2000)
            task.cancel()
            await asyncio.wait([task])
            await catalog.drain()
        await catalog.list_retired()
        before = await hidden(catalog)
    async with opener(tmp_path) as catalog:
        assert await hidden(catalog) == before


async def test_ready(catalog: Catalog) -> None:
    await catalog.ready()


async def edition(catalog: Catalog) -> Edition:
    found = await catalog.edition("acme", "c1")
    assert found is not None
    return found


async def test_every_change_of_what_is_shown_makes_another_edition(catalog: Catalog) -> None:
    stamps = [(await edition(catalog)).stamp]

    async def changed() -> None:
        stamps.append((await edition(catalog)).stamp)

    await publish(catalog, DOC)
    await changed()
    await catalog.mark_embedded(["d1"])
    await changed()
    await publish(catalog, replace(DOC, allowed=("group:hr",), own_readers=("group:hr",)))
    await changed()
    await publish(catalog, replace(DOC, id="d2", path="/b"))
    await changed()
    await catalog.retire(["d1"])
    await changed()
    await catalog.put_collection(replace(LAW, build=2))
    await changed()
    assert len(set(stamps)) == len(stamps)


async def test_what_is_not_shown_yet_leaves_the_edition(catalog: Catalog) -> None:
    await publish(catalog, DOC)
    before = await edition(catalog)
    version = await catalog.begin(replace(DOC, content_hash="h2"))
    await catalog.begin(replace(DOC, id="d2", path="/b"))
    assert await edition(catalog) == before
    await catalog.publish(replace(DOC, content_hash="h2"), version)
    assert await edition(catalog) != before


async def test_an_edition_names_its_readers_and_outlasts_a_restart(
    opener: Opener, tmp_path: Path
) -> None:
    async with opener(tmp_path) as catalog:
        await catalog.put_collection(LAW)
        await edition(catalog)
        for number in range(5):
            document = replace(
                DOC,
                id=f"d{number}",
                path=f"/{number}",
                allowed=(f"user:{number}",),
                own_readers=(f"user:{number}",),
            )
            await publish(catalog, document)
        await catalog.mark_embedded(["d1", "d2"])
        await catalog.retire(["d0"])
        kept = await edition(catalog)
        assert kept.readers >= {"user:1", "user:4"}
    async with opener(tmp_path) as catalog:
        again = await edition(catalog)
        assert again.stamp == kept.stamp
        assert again.readers == {"user:1", "user:2", "user:3", "user:4"}


async def test_no_collection_has_no_edition(catalog: Catalog) -> None:
    assert await catalog.edition("acme", "none") is None
    assert await catalog.edition("other", "c1") is None
    await publish(catalog, DOC)
    before = await edition(catalog)
    await catalog.drop_collection("acme", "c1")
    assert await catalog.edition("acme", "c1") is None
    await catalog.put_collection(LAW)
    assert await edition(catalog) != before


async def test_documents_are_found_by_their_source_whatever_their_state(catalog: Catalog) -> None:
    await publish(catalog, replace(DOC, source="/home/one.txt"))
    await publish(catalog, replace(DOC, id="d2", path="/b/one.txt", source="/home/one.txt"))
    failed = replace(DOC, id="d3", path="/c.pdf", source="/home/c.pdf")
    await catalog.fail(failed, "It is a scan.")
    assert await catalog.sources("acme", "c1") == {
        "/home/one.txt": ("/a/one.txt", "/b/one.txt"),
        "/home/c.pdf": ("/c.pdf",),
    }
    assert await catalog.sources("bolt", "c1") == {}


async def test_documents_are_found_by_the_places_of_their_sources(catalog: Catalog) -> None:
    sources = ("/s/a.txt", "/s/b/c.txt", "/s/b_/d.txt", "/s/B/e.txt", "/s/b%/f.txt", "/s/b.txt")
    for number, source in enumerate(sources):
        await publish(catalog, replace(DOC, id=f"d{number}", path=f"/{number}.txt", source=source))
    assert await catalog.sources("acme", "c1", ["/s/a.txt", "/s/b_"], ["/s/b"]) == {
        "/s/a.txt": ("/0.txt",),
        "/s/b/c.txt": ("/1.txt",),
    }
    assert await catalog.sources("acme", "c1", [], ["/s/b_"]) == {"/s/b_/d.txt": ("/2.txt",)}
    assert await catalog.sources("acme", "c1", [], ["/s/b.txt"]) == {"/s/b.txt": ("/5.txt",)}
    many = [*map(str, range(250)), "/s"]
    assert len(await catalog.sources("acme", "c1", many, many)) == len(sources)
    assert await catalog.sources("acme", "c1", []) == {}
    assert await catalog.sources("bolt", "c1", [], ["/s"]) == {}


async def test_documents_are_found_by_what_they_include(catalog: Catalog) -> None:
    for number in range(3):
        source = f"/s/{number}.rst"
        await publish(catalog, replace(DOC, id=f"d{number}", path=source, source=source))
    await catalog.put_looks(
        {
            "d0": Look(1, 1.0, ""),
            "d1": Look(1, 1.0, "", (("/s/x.inc", 1, 1.0), ("/s/y.inc", 1, 1.0))),
            "d2": Look(1, 1.0, "", (("/s/z.inc", 1, 1.0),)),
        }
    )
    assert await catalog.find_including("acme", "c1", ["/s/y.inc", "/s/0.rst"]) == ["/s/1.rst"]
    assert await catalog.find_including("acme", "c1", ["/s"]) == []
    assert await catalog.find_including("bolt", "c1", ["/s/y.inc"]) == []


async def test_statuses_count_what_answers_for_whom_and_follow_each_change(
    catalog: Catalog,
) -> None:
    assert await catalog.statuses("acme", "c1") == ()
    await publish(catalog, DOC)
    await publish(
        catalog, replace(DOC, id="d2", path="/b", allowed=("user:eva",), own_readers=("user:eva",))
    )
    await catalog.fail(replace(DOC, id="d3", path="/c"), "It is a scan.")
    waiting = {StatusCount("text", ("*",), 1), StatusCount("text", ("user:eva",), 1)}
    assert set(await catalog.statuses("acme", "c1")) == waiting
    failed = StatusCount("failed", ("*",), 1, answers=False)
    assert set((await catalog.counts("acme", "c1"))["c1"]) == {*waiting, failed}
    await catalog.mark_embedded(["d2"])
    ready = {StatusCount("text", ("*",), 1), StatusCount("ready", ("user:eva",), 1)}
    assert set(await catalog.statuses("acme", "c1")) == ready
    await publish(catalog, replace(DOC, chunks=7))
    answering = [count for count in (await catalog.counts("acme", "c1"))["c1"] if count.answers]
    assert sum(item.chunks for item in answering) == 7
    await catalog.fail(
        replace(DOC, id="d4", path="/d", allowed=("user:max",), own_readers=("user:max",)),
        "It is empty.",
    )
    told = (await catalog.counts("acme", "c1"))["c1"]
    assert {item.allowed for item in told if item.status == "failed"} == {("*",), ("user:max",)}
    await catalog.retire(["d1", "d2"])
    assert await catalog.statuses("acme", "c1") == ()


async def test_several_documents_begin_and_are_published_as_one_by_one(catalog: Catalog) -> None:
    await publish(catalog, DOC)
    await publish(catalog, replace(DOC, id="d2", path="/b"))
    await catalog.retire(["d2"])
    assert await purge(catalog) == ["d2@1"]
    left = await catalog.begin(replace(DOC, id="d3", path="/c"))
    several = [replace(DOC, id=f"d{n}", path=f"/{n}", chunks=n) for n in range(1, 6)]
    begun = await catalog.begin_all(several)
    assert [(item.version, item.resumed) for item in begun] == [
        (2, False),
        (2, False),
        (left, True),
        (1, False),
        (1, False),
    ]
    assert await hidden(catalog) == {"d1@2", "d2@2", "d3@1", "d4@1", "d5@1"}
    assert await catalog.document("d1") is not None
    ready = [replace(item, version=now.version) for item, now in zip(several, begun, strict=True)]
    await catalog.retire(["d4"])
    await catalog.publish_all(ready)
    assert await hidden(catalog) == {"d1@1", "d4@1"}
    assert sorted(await purge(catalog)) == ["d1@1", "d4@1"]
    found = {document.id: document for document in await catalog.documents("acme", "c1")}
    assert found.keys() == {"d1", "d2", "d3", "d5"}
    assert {item.status for item in found.values()} == {"text"}
    assert [found[id].version for id in sorted(found)] == [2, 2, 1, 1]
    assert sorted(await catalog.in_text("acme", "c1")) == sorted(found)
    await catalog.drop_collection("acme", "c1")
    with pytest.raises(UnknownCollection):
        await catalog.begin_all(several)
    with pytest.raises(UnknownCollection):
        await catalog.publish_all(ready[:1])


async def test_looks_are_kept_as_long_as_their_documents(catalog: Catalog) -> None:
    await publish(catalog, DOC)
    look = Look(10, 1.7e9 + 0.25, "said", (("/home/b.txt", 5, 1.5),))
    await catalog.put_looks({"d1": look, "gone": look})
    assert await catalog.looks(["d1", "gone", "d9"]) == {"d1": look}
    await catalog.put_looks({"d1": replace(look, size=11, included=())})
    assert (await catalog.looks(["d1"]))["d1"] == replace(look, size=11, included=())
    await publish(catalog, replace(DOC, content_hash="h2"))
    assert (await catalog.looks(["d1"])).keys() == {"d1"}
    await catalog.mark_embedded(["d1"])
    same = await catalog.of_content("acme", "c1", {"h2", "h9"})
    assert {key: item.id for key, item in same.items()} == {"h2": "d1"}
    assert await catalog.of_content("bolt", "c1", {"h2"}) == {}
    await catalog.retire(["d1"])
    assert await catalog.looks(["d1"]) == {}


async def paths(catalog: Catalog, **which: Any) -> list[str]:
    return [document.path for document in await catalog.documents("acme", "c1", **which)]


async def test_pages_of_documents_go_on_behind_a_path(catalog: Catalog) -> None:
    names = ["/B", "/a", "/a b", "/a/b", "/ä", "/z"]
    for number, name in enumerate(names):
        await publish(catalog, replace(DOC, id=f"d{number}", path=name))
    found: list[str] = []
    while page := await paths(catalog, after=found[-1] if found else "", limit=2):
        found += page
    assert found == sorted(names) == await paths(catalog)
    assert await paths(catalog, offset=4) == found[4:]
    assert await paths(catalog, after=found[1], offset=2, limit=1) == [found[4]]


async def test_documents_are_listed_for_those_who_may_read_them(catalog: Catalog) -> None:
    strange = ('user:"eva"', "group:häuser", "user:\\x", "user:\u2028")
    await publish(catalog, DOC)
    for number, name in enumerate(strange):
        one = replace(
            DOC,
            id=f"r{number}",
            path=f"/r{number}",
            allowed=("group:no", name),
            own_readers=("group:no", name),
        )
        await publish(catalog, one)
    for number, name in enumerate(strange):
        assert await paths(catalog, readers=[name, "user:other"]) == [f"/r{number}"]
    assert await paths(catalog, readers=["*"]) == [DOC.path]
    assert await paths(catalog, readers=["group:n", "user:", "%", "_"]) == []
    assert await paths(catalog, readers=[]) == []
    assert await catalog.ids("acme", "c1", ["*", "group:no"]) == [
        DOC.id,
        *(f"r{number}" for number in range(len(strange))),
    ]


async def test_folders_are_counted_and_listed_for_those_who_may_read_them(catalog: Catalog) -> None:
    names = ["/a", "/a/b", "/a/c/d", "/a/c/e", "/a-b/x", "/a0/x", "/ä%_/ü/x", "/a/'\"/x", "/a//x"]
    for number, name in enumerate(names):
        await publish(catalog, replace(DOC, id=f"d{number}", path=name))
    hidden = replace(DOC, id="h", path="/a/c/h", allowed=("user:eva",), own_readers=("user:eva",))
    await publish(catalog, hidden)

    async def folders(below: str, *readers: str, limit: int = 9) -> dict[str, int]:
        return dict(await catalog.folders("acme", "c1", readers or ["*"], below, limit))

    assert await folders("") == {"a": 5, "a-b": 1, "a0": 1, "ä%_": 1} == await folders("/")
    assert await folders("/a") == {"'\"": 1, "c": 2} == await folders("a/")
    assert await folders("", limit=2) == {"a": 5, "a-b": 1}
    assert await folders("/a", "*", "user:eva") == {"'\"": 1, "c": 3}
    assert await folders("/ä%_") == {"ü": 1}
    assert await folders("/a/c") == await folders("/nowhere") == await folders("/a/b") == {}
    assert await paths(catalog, readers=["*"], below="/a/c") == ["/a/c/d", "/a/c/e"]
    every = await paths(catalog, below="a")
    assert len(every) == 6
    assert await paths(catalog, below="/a", limit=2, offset=1) == every[1:3]


async def test_documents_are_listed_by_their_metadata(catalog: Catalog) -> None:
    described: list[dict[str, Any]] = [
        {"year": 2022, "tags": ["red", "blue"]},
        {"year": 2022.0, "draft": True},
        {"year": "2022", "tags": "red"},
        {"draft": 1, 'say "it"': "x", "ü%_": "100 %_\\"},
        {"size": 10**20, "half": 0.5},
        {"size": 1e20, "half": 5},
        {},
    ]
    for number, metadata in enumerate(described):
        await publish(catalog, replace(DOC, id=f"d{number}", path=f"/{number}", metadata=metadata))

    async def having(metadata: dict[str, Any], **which: Any) -> list[str]:
        return await paths(catalog, having=metadata, **which)

    assert await having({"year": 2022}) == ["/0", "/1"]
    assert await having({"year": 2022}, limit=1, offset=1) == ["/1"]
    assert await having({"year": 2022}, after="/0") == ["/1"]
    assert await having({"year": "2022"}) == ["/2"]
    assert await having({"tags": "red"}) == ["/0", "/2"]
    assert await having({"tags": "red", "year": 2022}) == ["/0"]
    assert (await having({"draft": True}), await having({"draft": 1})) == (["/1"], ["/3"])
    assert await having({'say "it"': "x"}) == ["/3"]
    assert await having({"ü%_": "100 %_\\"}) == ["/3"]
    assert await having({"ü%_": "100 %%"}) == await having({"ü__": "100 %_\\"}) == []
    assert await having({"tags": "green"}) == []
    assert await having({"year": 2022.0}) == ["/0", "/1"]
    assert await having({"size": 1e20}) == await having({"size": 10**20}) == ["/4", "/5"]
    assert await having({"half": 0.5}) == ["/4"]
    assert await having({"year": 22}) == []


async def test_a_place_names_a_document_or_a_folder_and_nothing_beside_it(catalog: Catalog) -> None:
    names = ["/a", "/a/b", "/a/c/d", "/a-b", "/a.txt", "/a0", "/b/a/x"]
    for number, name in enumerate(names):
        await publish(catalog, replace(DOC, id=f"d{number}", path=name))

    async def ids(place: str) -> list[str]:
        return sorted(await catalog.ids("acme", "c1", ["*"], place))

    assert await ids("/a") == await ids("a/") == ["d0", "d1", "d2"]
    assert await ids("/a/c") == ["d2"]
    assert await ids("/b") == ["d6"]
    assert await ids("d4") == await ids("/a.txt") == ["d4"]
    assert await ids("/a/c/d/") == ["d2"]
    assert await ids("/%") == []
    assert await ids("") == await ids("/") == await ids("//") == []
    assert await paths(catalog, named=["d4", "a-b", "/nowhere"]) == ["/a-b", "/a.txt"]
    assert await paths(catalog, named=[]) == []
    known = await catalog.find_documents(["d1", "d9"])
    assert {id: item.path for id, item in known.items()} == {"d1": "/a/b"}


async def test_values_of_metadata_are_counted_by_reader_and_follow_each_change(
    catalog: Catalog,
) -> None:
    many = {"year": 2023, "tags": ["a", "b", "a"], "draft": True, "deep": {"no": 1}}
    await publish(catalog, replace(DOC, metadata=many))
    await publish(catalog, replace(DOC, id="d2", path="/b", metadata={"year": 2023.0, "one": 1}))
    await publish(catalog, replace(DOC, id="d4", path="/d", metadata=many))
    mine = replace(
        DOC,
        id="d3",
        path="/c",
        allowed=("user:eva",),
        own_readers=("user:eva",),
        metadata={"year": "2023"},
    )
    await publish(catalog, mine)
    everyone, eva = ("*",), ("user:eva",)
    keys = await catalog.metadata_keys("acme", "c1")
    assert keys == {
        **dict.fromkeys(("year", "tags", "draft", "deep", "one"), frozenset({everyone})),
        "year": frozenset({everyone, eva}),
    }
    values = await catalog.metadata_values("acme", "c1", ["year", "tags", "deep", "none"])
    assert {key: set(some) for key, some in values.items()} == {
        "year": {ValueCount(2023, everyone, 3), ValueCount("2023", eva, 1)},
        "tags": {ValueCount("a", everyone, 2), ValueCount("b", everyone, 2)},
        "deep": set(),
        "none": set(),
    }
    await catalog.retire(["d3"])
    assert (await catalog.metadata_keys("acme", "c1"))["year"] == frozenset({everyone})
    [year] = (await catalog.metadata_values("acme", "c1", ["year"]))["year"]
    assert (year.value, year.documents) == (2023, 3)


async def test_documents_with_other_readers_are_withheld_until_their_chunks_have_these(
    catalog: Catalog,
) -> None:
    await publish(catalog, DOC)
    before = await catalog.edition(DOC.tenant, DOC.collection)

    await catalog.give_readers([DOC.id], ("user:eva",), fixed=True)

    known = await catalog.document(DOC.id)
    assert known
    assert (known.allowed, known.readers_fixed) == (("user:eva",), True)
    assert await hidden(catalog) == {"d1@1"}
    after = await catalog.edition(DOC.tenant, DOC.collection)
    assert before
    assert after
    assert after.stamp != before.stamp
    assert "user:eva" in after.readers
    place = (DOC.tenant, DOC.collection)
    assert await catalog.list_withheld(9, *place) == [(place, "d1@1", ("user:eva",))]
    await catalog.grant({"d1@1": ("group:hr",)})
    assert await hidden(catalog) == {"d1@1"}, "these are not its readers"
    await catalog.grant({"d1@1": ("user:eva",)})
    assert await hidden(catalog) == set()
    assert await catalog.list_withheld(9) == []


async def test_a_version_is_published_for_whom_its_folder_lets_in_by_then(catalog: Catalog) -> None:
    place, rule = (DOC.tenant, DOC.collection), FolderReaders("/a", ("group:hr",))
    document = replace(DOC, path="/a/x", own_readers=None)
    version = await catalog.begin(document)
    await catalog.put_folder_readers(*place, [rule])
    assert await catalog.list_unapplied_readers() == [(place, rule)]

    await catalog.publish(document, version)

    known = await catalog.document(DOC.id)
    assert known
    assert known.allowed == ("group:hr",)
    assert await hidden(catalog) == {f"d1@{version}"}
    await catalog.mark_readers_applied(*place, [rule])
    assert await catalog.list_unapplied_readers() == []
    assert await catalog.folder_readers(*place) == [rule]


async def test_a_dropped_collection_leaves_no_rules(catalog: Catalog) -> None:
    place = (DOC.tenant, DOC.collection)
    await catalog.put_folder_readers(*place, [FolderReaders("", ("group:hr",))])
    await catalog.drop_collection(*place)
    assert await catalog.folder_readers(*place) == []


async def test_a_document_that_is_withheld_can_be_replaced_and_deleted(catalog: Catalog) -> None:
    await publish(catalog, DOC)
    await catalog.give_readers([DOC.id], ("user:eva",))
    await publish(catalog, replace(DOC, own_readers=None))
    assert await catalog.list_withheld(9) == [((DOC.tenant, DOC.collection), "d1@2", ("user:eva",))]
    await catalog.retire([DOC.id])
    assert await catalog.list_withheld(9) == []
    assert {name for _, name in await catalog.list_retired()} == {"d1@1", "d1@2"}


async def test_the_readers_of_deleted_documents_are_those_that_they_had_last(
    catalog: Catalog,
) -> None:
    for id in ("d1", "d2", "d3"):
        await publish(catalog, replace(DOC, id=id, path=f"/{id}"))
    await catalog.give_readers(["d1", "d2"], ("user:eva",), fixed=True)
    public = (await catalog.find_readers(["d3"]))["d3"]

    await catalog.retire(["d1"])
    await catalog.drop_collection(DOC.tenant, DOC.collection)

    known = await catalog.find_readers(["d1", "d2", "d3", "d9"])
    assert known == {"d1": ("user:eva",), "d2": ("user:eva",), "d3": public}


async def test_a_document_that_is_there_again_has_its_readers_of_now(catalog: Catalog) -> None:
    await publish(catalog, replace(DOC, allowed=("user:eva",), own_readers=("user:eva",)))
    await catalog.retire([DOC.id])
    await publish(catalog, replace(DOC, allowed=("user:ben",), own_readers=("user:ben",)))
    assert await catalog.find_readers([DOC.id]) == {DOC.id: ("user:ben",)}
