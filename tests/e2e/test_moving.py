"""A server that is killed again and again while its collection moves to PostgreSQL, and asked,
written and deleted from meanwhile: in the end all is there, and nothing else."""

import asyncio
from contextlib import aclosing, suppress
from itertools import count
from pathlib import Path

import psycopg
import pytest

from ragstone.core.turn import Ask, Principal
from ragstone.remote import connect_service
from ragstone.service import IngestRequest, Service
from ragstone.service.server_file import find_server
from tests.conformance.postgres_server import PostgresServer, postgres_server
from tests.e2e.processes import here, serving, serving_until_killed
from tests.patience import PATIENCE

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

FILES, PARAGRAPHS = 40, 16

KILLED_AT = (1, 200, 400)
"""Chunks in PostgreSQL when a server is killed."""


def arrived(postgres: PostgresServer, names: str = "ragstone%") -> int:
    """The chunks that PostgreSQL holds in tables of such names."""
    tables = (
        "SELECT table_name FROM information_schema.tables "
        f"WHERE table_name SIMILAR TO '{names}' AND table_name NOT LIKE '%words'"
    )
    with psycopg.connect(postgres.url) as one, suppress(psycopg.errors.UndefinedTable):
        names = [name for (name,) in one.execute(tables).fetchall()]
        counted = [one.execute(f"SELECT count(*) FROM {n}".encode()).fetchone() for n in names]
        return sum(row[0] for row in counted if row)
    return 0


def write(folder: Path, number: int, what: str) -> None:
    paragraphs = [
        f"The {what} {number} has a beam of {number + 31} metres, says page {page}. "
        + f"It was painted in the yard of quay {page} and sailed in its year {number}. " * 6
        for page in range(PARAGRAPHS)
    ]
    (folder / f"{number}.md").write_text(f"# {what} {number}\n\n" + "\n\n".join(paragraphs))


def server_of(data: Path) -> Service:
    found = find_server(data)
    assert found is not None
    return connect_service(*found)


async def ask_on(service: Service, failed: list[str]) -> None:
    for number in count():
        asked = Ask(f"What is the beam of the lighter {number % FILES}?", cache=False)
        found = await service.search(asked)
        if not found.hits:
            failed.append(f"nothing was found after {number} questions")


async def until_arrived(
    service: Service, postgres: PostgresServer, chunks: int, names: str = "ragstone%"
) -> None:
    """Ask until so much has been copied."""
    failed: list[str] = []
    asking = asyncio.create_task(ask_on(service, failed))
    async with asyncio.timeout(PATIENCE):
        while await asyncio.to_thread(arrived, postgres, names) < chunks:
            await asyncio.sleep(0.01)
            assert not asking.done(), asking.exception()
    asking.cancel()
    await asyncio.wait([asking])
    assert not failed


async def until_moved(service: Service, folder: Path) -> None:
    """Ask, write and delete while the rest is copied."""
    failed: list[str] = []
    asking = asyncio.create_task(ask_on(service, failed))
    for number in range(5):
        paths = [f"/{folder.name}/{number}.md"]
        assert await service.delete(Principal(), "default", paths) == 1
        (folder / f"{number}.md").unlink()
    for number in range(5, 10):
        write(folder, number, "schooner")
    for number in range(FILES, FILES + 5):
        write(folder, number, "lighter")
    last = [step async for step in service.ingest(IngestRequest((str(folder),)))][-1]
    assert (last.error, last.failed) == ("", ())

    async def notes() -> tuple[str, ...]:
        return [step async for step in service.maintenance.examine(False)][-1].notes

    async with asyncio.timeout(PATIENCE):
        while any("INDEX__FROM_URL" in note for note in await notes()):
            await asyncio.sleep(0.2)
    assert not asking.done(), asking.exception()
    asking.cancel()
    await asyncio.wait([asking])
    assert not failed
    assert await notes() == ()


def test_given_kills_while_a_collection_moves_then_it_arrives_whole_and_questions_are_answered(
    tmp_path: Path,
) -> None:
    data, folder = tmp_path / "data", tmp_path / "boats"
    folder.mkdir()
    for number in range(FILES):
        write(folder, number, "lighter")
    assert here(data, "ingest", str(folder)).returncode == 0

    async def run_with(work: str, chunks: int = 0) -> None:
        async with aclosing(server_of(data)) as service:
            if work == "copying":
                await until_arrived(service, postgres, chunks)
            else:
                await until_moved(service, folder)

    with postgres_server() as postgres:
        both = {"INDEX__URL": postgres.url, "INDEX__FROM_URL": "embedded"}
        for chunks in KILLED_AT:
            with serving_until_killed(data, **both):
                asyncio.run(run_with("copying", chunks))
        assert list((data / "index").rglob("segments")), "it was there before the kills"
        with serving(data, **both):
            asyncio.run(run_with("the rest"))
        assert not list((data / "index").rglob("segments"))
        there = {"INDEX__URL": postgres.url}
        assert here(data, "doctor", "--check", **there).returncode == 0
        listed = here(data, "documents", **there).stdout
        assert f"/{folder.name}/4.md" not in listed
        assert f"/{folder.name}/{FILES + 4}.md" in listed
        found = here(data, "search", "the beam of the schooner 7", **there).stdout
        assert "schooner 7 has a beam of 38 metres" in found


OWN, SHARED = "ragstone_[0-9a-f]{32}", "ragstone_shared%"


def test_given_kills_while_a_collection_leaves_a_shared_table_then_it_is_whole_in_its_own(
    tmp_path: Path,
) -> None:
    data, folder = tmp_path / "data", tmp_path / "boats"
    folder.mkdir()
    for number in range(FILES):
        write(folder, number, "lighter")

    async def ask_until_it_is_in_its_own(chunks: int) -> None:
        async with aclosing(server_of(data)) as service:
            await until_arrived(service, postgres, chunks, OWN)

    async def until_it_has_left(chunks: int) -> None:
        await ask_until_it_is_in_its_own(chunks)
        async with asyncio.timeout(PATIENCE):
            while await asyncio.to_thread(arrived, postgres, SHARED):
                await asyncio.sleep(0.1)

    with postgres_server() as postgres:
        there = {"INDEX__URL": postgres.url}
        large = {**there, "INDEX__OPTIONS": '{"shared_chunks": 10000}'}
        ingested = here(data, "ingest", str(folder), **large)
        assert ingested.returncode == 0
        chunks = arrived(postgres, SHARED)
        assert (chunks > KILLED_AT[-1] / 2, arrived(postgres, OWN)) == (True, 0)
        small = {**there, "INDEX__OPTIONS": '{"shared_chunks": 20}'}
        for killed_at in (1, chunks // 2):
            with serving_until_killed(data, **small):
                asyncio.run(ask_until_it_is_in_its_own(killed_at))
        with serving(data, **small):
            asyncio.run(until_it_has_left(chunks))
        assert arrived(postgres, OWN) == chunks
        assert here(data, "doctor", "--check", **small).returncode == 0
        found = here(data, "search", "the beam of the lighter 7", **small).stdout
        assert "lighter 7 has a beam of 38 metres" in " ".join(found.split())
