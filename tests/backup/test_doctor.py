"""The doctor finds what disagrees, mends it, and then finds nothing."""

from collections.abc import AsyncIterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from uuid import UUID

import pytest

from ragstone.backup import doctor
from ragstone.core.filters import eq
from ragstone.ingest.formats.recognition import UNREAD
from ragstone.ingest.uploads import Spool
from ragstone.service import Handed, IngestRequest
from ragstone.store.sql.tables import documents
from tests.backup.house import House, opened


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    (tmp_path / "data").mkdir()
    async with opened(tmp_path / "data") as house:
        house.write("hours.txt", "The museum opens at nine.")
        house.write("rules.txt", "Dogs must be on a lead. " * 60)
        await house.ingest()
        yield house


async def test_given_nothing_wrong_then_nothing_is_found(house: House) -> None:
    assert await house.examine() == ()


async def test_given_chunks_of_an_unknown_document_then_only_forgetting_deletes_them(
    house: House,
) -> None:
    before = await house.chunks()
    stray = replace(next(iter(before.values())), chunk_id="0" * 32, document_id="gone")
    await house.index.upsert(await house.collection(), [stray])
    [found] = await house.examine()
    assert "1 chunks belong to no document" in found
    assert stray.chunk_id in await house.chunks()
    await house.examine(forget=True)
    assert await house.chunks() == before
    assert await house.examine() == ()


async def test_given_chunks_of_an_unknown_version_then_they_are_deleted(house: House) -> None:
    before = await house.chunks()
    stray = replace(next(iter(before.values())), chunk_id="0" * 32, version=99)
    await house.index.upsert(await house.collection(), [stray])
    [found] = await house.examine()
    assert "1 chunks belong to no version" in found
    assert await house.chunks() == before


async def test_given_a_check_only_then_nothing_is_changed(house: House) -> None:
    stray = replace(next(iter((await house.chunks()).values())), chunk_id="0" * 32, version=99)
    await house.index.upsert(await house.collection(), [stray])
    [found] = await house.examine(mend=False)
    assert "They are deleted." in found
    assert stray.chunk_id in await house.chunks()


async def test_given_a_document_without_chunks_then_it_is_read_again(house: House) -> None:
    before = {chunk.text for chunk in (await house.chunks()).values()}
    one = next(iter((await house.chunks()).values()))
    await house.index.delete(await house.collection(), eq("document_id", one.document_id))
    [found] = await house.examine()
    assert f"{one.path}: 0 of its" in found
    assert {chunk.text for chunk in (await house.chunks()).values()} == before
    assert await house.examine() == ()


async def test_given_its_source_is_out_of_reach_then_only_forgetting_ends_it(house: House) -> None:
    house.documents.rename(away := house.documents.with_name("away"))
    for lost in (await house.chunks()).values():
        await house.index.delete(await house.collection(), eq("document_id", lost.document_id))
    found = await house.examine()
    assert all("Bring its source back" in sentence for sentence in found)
    assert len(await house.rows(documents)) == 2
    away.rename(house.documents)
    assert "mended" in (await house.examine())[0]
    assert await house.examine() == ()
    (house.documents / "hours.txt").unlink()
    [lost] = [c for c in (await house.chunks()).values() if c.path.endswith("hours.txt")]
    await house.index.delete(await house.collection(), eq("document_id", lost.document_id))
    await house.examine(forget=True)
    assert [row["path"] for row in await house.rows(documents)] == ["/documents/rules.txt"]
    assert await house.examine() == ()


async def test_given_scans_that_were_not_read_then_they_are_once_they_can_be(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.write("hours.txt.meta.yaml", f"{UNREAD}: 3")
    await house.ingest()
    with monkeypatch.context() as without:
        without.setattr(doctor, "is_installed", lambda: False)
        [found] = await house.examine()
    assert "1 document has scans or pictures that were not read" in found
    assert "pip install 'ragstone[ocr]'" in found
    [found] = await house.examine()
    assert "mended" in found
    assert await house.examine() == ()


async def test_given_an_upload_then_it_is_read_again_from_what_is_kept_until_it_is_deleted(
    house: House, tmp_path: Path
) -> None:
    kept = Spool(tmp_path / "data").add(BytesIO(b"The tower opens at ten."), "tower.txt")
    handed = Handed(kept, "/tower.txt", "upload:/tower.txt")
    await house.pipeline.ingest("job", IngestRequest(handed=(handed,)), lambda _: None)
    [lost] = [c for c in (await house.chunks()).values() if c.path == "/tower.txt"]
    await house.index.delete(await house.collection(), eq("document_id", lost.document_id))
    [found] = await house.examine()
    assert "mended" in found
    texts = [c.text for c in (await house.chunks()).values() if c.path == "/tower.txt"]
    assert texts == ["The tower opens at ten."]
    await house.catalog.retire([lost.document_id])
    await house.pipeline.purge()
    assert not list((tmp_path / "data" / "originals").iterdir())


async def test_given_old_versions_that_were_not_purged_then_they_are(house: House) -> None:
    house.write("hours.txt", "Changed.")
    [old] = [c for c in (await house.chunks()).values() if c.path.endswith("hours.txt")]
    document = await house.catalog.document(old.document_id)
    assert document
    await house.catalog.retire([document.id])
    found = await house.examine()
    assert found == ("1 old versions of documents still have chunks. That is mended.",)
    assert old.chunk_id not in await house.chunks()
    assert await house.examine() == ()


async def test_given_vectors_that_are_missing_then_they_are_made(house: House) -> None:
    collection, chunks = await house.collection(), list((await house.chunks()).values())
    await house.index.delete(collection, eq("revision", chunks[0].revision))
    await house.index.upsert(collection, [c for c in chunks if c.revision == chunks[0].revision])
    [found] = await house.examine()
    assert "chunks of finished documents have no vector" in found
    assert not await house.index.without_vectors(collection, 1)
    assert await house.examine() == ()


async def test_given_many_documents_then_a_page_is_in_memory_at_once_and_few_are_named(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "PAGE", 3)
    monkeypatch.setattr(doctor, "SCANNED", 4)
    monkeypatch.setattr(doctor, "MAX_NOTES", 2)
    for number in range(8):
        house.write(f"{number}.txt", f"The room {number} is open. " * (10 + 40 * number))
    await house.ingest()
    assert await house.examine() == ()
    before = await house.chunks()
    collection = await house.collection()
    for chunk in before.values():
        if chunk.path in {f"/documents/{number}.txt" for number in (0, 3, 4, 7)}:
            await house.index.delete(collection, eq("document_id", chunk.document_id))
    old = [
        replace(item, chunk_id=str(UUID(int=n)), version=99)
        for n, item in enumerate(before.values())
    ]
    gone = [
        replace(item, chunk_id=str(UUID(int=n)), document_id=f"x{n}")
        for n, item in enumerate(old, 99)
    ]
    await house.index.upsert(collection, [*old, *gone])
    found = await house.examine(mend=False)
    assert ["0.txt" in found[0], "3.txt" in found[1]] == [True, True]
    assert found[2:] == (
        "default: the same of 2 more documents.",
        f"default: {len(old)} chunks belong to no version of their document. They are deleted.",
        f"default: {len(gone)} chunks belong to no document. {found[4].partition('document. ')[2]}",
    )
    await house.examine(forget=True)
    assert {item.text for item in (await house.chunks()).values()} == {
        item.text for item in before.values()
    }
    assert await house.examine() == ()


async def test_given_a_document_that_lacks_as_many_chunks_as_are_strays_then_both_are_found(
    house: House,
) -> None:
    collection = await house.collection()
    [lost] = [c for c in (await house.chunks()).values() if c.path.endswith("hours.txt")]
    await house.index.delete(collection, eq("document_id", lost.document_id))
    await house.index.upsert(collection, [replace(lost, chunk_id="0" * 32, version=99)])
    found = await house.examine(mend=False)
    assert [item.partition(": ")[2][:24] for item in found] == [
        "0 of its 1 chunks are in",
        "1 chunks belong to no ve",
    ]
