"""`kill -9` of a real server while it syncs a source: in the end all is as if nothing had been."""

import asyncio
import random
from pathlib import Path

import pytest

from ragstone.core.sync import SourceRun
from ragstone.core.turn import Principal
from ragstone.remote import connect_service
from ragstone.service import Service
from ragstone.service.server_file import find_server
from tests.e2e.processes import here, serving, serving_until_killed
from tests.ingest.sources.cloud_services import CLOUD_SERVICES, CloudService
from tests.ingest.sources.file_servers import PASSWORD, VARIABLE
from tests.ingest.sources.places import Place, open_place
from tests.patience import PATIENCE

ME = Principal()
TEXTS = 120
KILLS = 2

HERE = ("folder", "sql", *CLOUD_SERVICES)
REAL = ("imap", "mediawiki", "smb")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def remote(data: Path) -> Service:
    found = find_server(data)
    assert found is not None
    return connect_service(*found)


async def newest_run(service: Service) -> SourceRun:
    return (await service.sources.runs(ME, "house"))[0]


async def count_documents(service: Service) -> int:
    known = await service.collections(ME)
    return known[0].documents if known else 0


@pytest.mark.parametrize(
    "kind",
    [*HERE, *(pytest.param(kind, marks=pytest.mark.real) for kind in REAL)],
)
async def test_a_sync_goes_on_after_each_kill_and_nothing_is_missing_or_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setenv(VARIABLE, PASSWORD)
    with open_place(kind) as place:
        if isinstance(place, CloudService):
            monkeypatch.setenv(VARIABLE, place.secret)
        texts = {n: f"Room {n} is {n * 7} metres high.\n" * 40 for n in range(TEXTS)}
        place.put(texts)
        await check_kills(tmp_path / "data", place)


async def check_kills(data: Path, place: Place) -> None:
    """Sync with a server that is killed again and again, and look at what there is in the end."""
    given = dict(place.options)
    if isinstance(place, CloudService):
        given["rights"] = "false"  # Else its documents would be for its own people alone.
    options = [word for option in given.items() for word in ("-o", "=".join(option))]
    done = await asyncio.to_thread(here, data, "source", "add", "house", place.kind, *options)
    assert done.returncode == 0, done.stderr
    with serving(data):
        service = remote(data)
        begun = await service.sources.sync(ME, "house")
        await service.aclose()

    for _ in range(KILLS):
        with serving_until_killed(data):
            service = remote(data)
            before = await count_documents(service)
            async with asyncio.timeout(PATIENCE):
                while await count_documents(service) == before and (
                    (await newest_run(service)).state == "running"
                ):
                    await asyncio.sleep(0.02)
            await asyncio.sleep(random.uniform(0, 0.3))
            await service.aclose()

    with serving(data):
        service = remote(data)
        async with asyncio.timeout(PATIENCE):
            while (run := await newest_run(service)).state == "running":
                await asyncio.sleep(0.1)
        documents = await service.documents(ME, "default")
        again = await service.sources.sync(ME, "house")
        async with asyncio.timeout(PATIENCE):
            while (second := await newest_run(service)).state == "running":
                await asyncio.sleep(0.1)
        await service.aclose()

    assert (run.id, run.state, run.failed) == (begun.id, "done", 0)
    assert {item.path for item in documents} == {f"/house/{place.path(n)}" for n in range(TEXTS)}
    assert {item.status for item in documents} <= {"text", "ready"}
    assert second.id == again.id
    assert (second.state, second.added, second.changed, second.removed) == ("done", 0, 0, 0)
