"""What requests read of a collection: as much as they show, never all of it."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from ragstone import build
from ragstone.core.errors import UnknownCollection, UnknownDocument
from ragstone.core.turn import Principal
from ragstone.http.app import create_app
from ragstone.ingest.uploads import Originals
from ragstone.local import Ragstone
from ragstone.service import IngestRequest
from ragstone.service.wire import OPERATION_HEADER
from ragstone.settings import Settings
from ragstone.store.sql import catalog

pytestmark = pytest.mark.slow

ME = Principal()
STAFF = Principal(user="eva", groups=("staff",))
FILES = 40


@pytest.fixture
async def ragstone(tmp_path: Path) -> AsyncIterator[Ragstone]:
    for number in range(FILES):
        file = tmp_path / "share" / f"{number // 10}" / f"{number:02}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"Lamp {number} is green.")
    (tmp_path / "board.txt").write_text("The board meets in May.")
    async with build.open(Settings(ragstone_data=tmp_path / "data")) as opened:
        for place, allowed in (("share", ("*",)), ("board.txt", ("group:staff",))):
            request = IngestRequest((str(tmp_path / place),), allowed=allowed)
            assert [item async for item in opened.ingest(request)][-1].failed == ()
        yield opened


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the documents that are loaded."""
    paths: list[str] = []
    to_document = catalog.to_document

    def counted(row: Any) -> Any:
        document = to_document(row)
        paths.append(document.path)
        return document

    monkeypatch.setattr(catalog, "to_document", counted)
    return paths


async def test_sums_and_models_load_no_document(ragstone: Ragstone, loaded: list[str]) -> None:
    [one] = await ragstone.collections(ME)
    assert (one.documents, one.chunks, one.failed, one.pending) == (FILES, FILES, 0, 0)
    assert await ragstone.collection(ME, "default") == one
    assert (await ragstone.collection(STAFF, "default")).documents == FILES + 1
    assert (await ragstone.overview()).documents == FILES + 1
    assert await ragstone.models()
    with pytest.raises(UnknownCollection):
        await ragstone.collection(ME, "none")
    app = create_app(ragstone, Settings(), "token")
    headers = {"authorization": "Bearer token"}
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1", headers=headers
    ) as http:
        for path in ("/v1/models", "/api/v1/collections", "/@rag-status", "/"):
            assert (await http.get(path)).status_code == 200
    assert loaded == []


async def test_a_page_loads_what_is_on_it(ragstone: Ragstone, loaded: list[str]) -> None:
    first = await ragstone.documents(ME, "default", limit=7)
    second = await ragstone.documents(ME, "default", limit=7, after=first[-1].path)
    paths = [item.path for item in (*first, *second)]
    assert paths == loaded == sorted(set(paths))
    assert len(paths) == 14
    loaded.clear()
    read = await ragstone.reading.read(ME, "default", "/share/2/21.txt", 0, 100)
    assert read.text == "Lamp 21 is green."
    assert set(loaded) == {"/share/2/21.txt"}


async def test_only_who_may_read_a_document_lists_names_or_deletes_it(ragstone: Ragstone) -> None:
    assert await ragstone.documents(ME, "default", named=["/board.txt"]) == []
    [board] = await ragstone.documents(STAFF, "default", named=["/board.txt"])
    assert await ragstone.documents(ME, "default", named=[board.id]) == []
    for name in ("/board.txt", board.id):
        with pytest.raises(UnknownDocument):
            await ragstone.delete(ME, "default", [name])
        with pytest.raises(UnknownDocument):
            await ragstone.reading.read(ME, "default", name, 0, 10)
    assert await ragstone.delete(ME, "default", ["/share/0", "/share/1/10.txt"]) == 11
    assert (await ragstone.collection(STAFF, "default")).documents == FILES + 1 - 11
    for nothing in ("", "/", "//"):
        with pytest.raises(UnknownDocument):
            await ragstone.delete(STAFF, "default", [nothing])


async def test_a_deleted_collection_takes_what_was_kept_of_its_uploads(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    [document, *_] = await ragstone.documents(ME, "default", limit=1)
    originals = Originals(tmp_path / "data")
    for name in (document.id, "of-another"):
        place = tmp_path / "data" / "originals" / name
        place.mkdir(parents=True)
        (place / "a.txt").write_text("kept")
    assert await ragstone.delete(ME, "default") == FILES
    assert originals.documents() == ["of-another"]
    assert await ragstone.collections(STAFF) == []


async def test_a_long_list_is_whole(ragstone: Ragstone, tmp_path: Path) -> None:
    for number in range(120):
        (tmp_path / "share" / f"more-{number:03}.txt").write_text(f"Lamp {number} is blue.")
    async for _ in ragstone.ingest(IngestRequest((str(tmp_path / "share"),))):
        pass
    app = create_app(ragstone, Settings(), "token")
    headers = {"authorization": "Bearer token"}
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1", headers=headers
    ) as http:
        operations = (await http.get("/local/operations")).json()["operations"]
        answer = await http.post(
            "/local/call/documents",
            content=json.dumps({"principal": {"tenant": "default"}, "collection": "default"}),
            headers={
                "content-type": "application/json",
                OPERATION_HEADER: operations["documents"]["fingerprint"],
            },
        )
    assert answer.status_code == 200, answer.text
    assert len(answer.json()) == FILES + 120
