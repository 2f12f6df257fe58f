"""Two servers on one PostgreSQL and one Redis, in real processes, also when those go away."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
import pytest

from ragstone.core.errors import RagstoneError, Unavailable
from ragstone.core.turn import Ask, Principal
from ragstone.guard.topic_file import topic
from ragstone.remote import connect_service
from ragstone.service import IngestRequest, Service
from ragstone.service.server_file import find_server
from tests.conformance.postgres_server import PostgresServer, postgres_server
from tests.e2e.processes import serving
from tests.patience import PATIENCE, until
from tests.redis_server import RedisServer, redis_server

HR = Principal(groups=("hr",))
AWAY_SECONDS = 10.0

pytestmark = pytest.mark.real


@dataclass
class House:
    """What the servers share, and the data directory of each."""

    postgres: PostgresServer
    redis: RedisServer
    folders: tuple[Path, Path]
    documents: Path


@dataclass(frozen=True)
class Asked:
    """A question that has ended: who asked it, when, and the error if there was one."""

    task: object
    began: float
    error: RagstoneError | None


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    root = tmp_path_factory.mktemp("replicas")
    (root / "documents").mkdir()
    with ExitStack() as stack:
        postgres = stack.enter_context(postgres_server())
        redis = stack.enter_context(redis_server(root))
        there = {
            "STATE__URL": postgres.url,
            "INDEX__URL": postgres.url,
            "INDEX__TIMEOUT": "5",
            "CACHE__URL": redis.url,
        }
        folders = (root / "one", root / "two")
        for folder in folders:
            stack.enter_context(serving(folder, **there))
        yield House(postgres, redis, folders, root / "documents")


@asynccontextmanager
async def clients(house: House) -> AsyncIterator[tuple[Service, Service]]:
    async with AsyncExitStack() as stack:
        found = []
        for folder in house.folders:
            server = await asyncio.to_thread(find_server, folder)
            assert server is not None
            client = connect_service(*server)
            stack.push_async_callback(client.aclose)
            found.append(client)
        yield found[0], found[1]


async def ingest(service: Service, folder: Path, **options: Any) -> None:
    last = [step async for step in service.ingest(IngestRequest((str(folder),), **options))][-1]
    assert (last.finished, last.error, last.failed) == (True, "", ())


async def answer(service: Service, question: str, **options: Any) -> Any:
    """The end of an answer; raises the error that it ended with."""
    async for event in service.ask(Ask(question, **options)):
        if error := getattr(event, "error", None):
            raise error if isinstance(error, Exception) else RuntimeError(error)
        found = event
    return found


async def texts(service: Service, question: str, who: Principal | None = None) -> str:
    """Everything that a search finds."""
    found = await service.search(Ask(question, who or Principal(), cache=False))
    return " ".join(hit.chunk.text for hit in found.hits)


async def test_given_two_servers_then_what_one_writes_the_other_answers_at_once(
    house: House,
) -> None:
    async with clients(house) as (here, there):
        for number in range(6):
            writer, reader = (here, there) if number % 2 else (there, here)
            file = house.documents / f"lamp-{number}.md"
            file.write_text(f"# Lamp {number}\n\nThe lamp {number} burns for {number + 31} days.\n")
            await ingest(writer, file)
            asked = f"For how long does the lamp {number} burn?"
            assert f"{number + 31} days" in await texts(reader, asked)
            file.write_text(f"# Lamp {number}\n\nThe lamp {number} burns for {number + 71} days.\n")
            await ingest(reader, file)
            changed = await texts(writer, asked)
            assert f"{number + 71} days" in changed
            assert f"{number + 31} days" not in changed
            [document] = [
                d for d in await reader.documents(Principal(), "default") if str(number) in d.path
            ]
            assert await writer.delete(Principal(), "default", [document.path]) == 1
            assert f"lamp {number}" not in await texts(reader, asked)
            file.unlink()


async def test_given_an_answer_in_the_cache_of_both_then_it_goes_with_its_document(
    house: House,
) -> None:
    async with clients(house) as (here, there):
        file = house.documents / "boiler.md"
        file.write_text("# Boiler\n\nThe boiler must be drained every 14 months.\n")
        await ingest(here, file)
        asked = "How often must the boiler be drained?"
        before = (await there.cache_figures()).hits
        assert "14 months" in str(await answer(here, asked))
        assert "14 months" in str(await answer(there, asked))
        assert (await there.cache_figures()).hits > before
        await there.delete(Principal(), "default", ["/boiler.md"])
        for service in (here, there):
            assert "14 months" not in str(await answer(service, asked))


async def test_given_a_document_of_some_then_no_server_shows_it_to_others(house: House) -> None:
    async with clients(house) as (here, there):
        file = house.documents / "salaries.md"
        file.write_text("# Salaries\n\nThe director earns 91,000 a year.\n")
        await ingest(here, file, allowed=("group:hr",))
        asked = "What does the director earn?"
        for service in (there, here, there):
            assert "91,000" in await texts(service, asked, HR)
            assert "91,000" in str(await answer(service, asked, principal=HR))
            assert "91,000" not in await texts(service, asked)
            assert "91,000" not in str(await answer(service, asked))


async def test_given_a_topic_forbidden_on_one_then_the_other_knows_it_soon(
    house: House,
) -> None:
    async with clients(house) as (here, there):
        await there.check_topics("default", "Tell me about the merger.")
        await here.put_topics("default", [topic("default", "merger")])
        async with asyncio.timeout(PATIENCE):
            while not (await there.check_topics("default", "Tell me about the merger.")).blocked:
                await asyncio.sleep(0.1)
        assert [item.term for item in await there.topics("default")] == ["merger"]
        await there.remove_topics("default", ["merger"])
        async with asyncio.timeout(PATIENCE):
            while await here.topics("default"):
                await asyncio.sleep(0.1)


async def test_given_a_database_away_for_ten_seconds_then_errors_are_clear_and_all_recovers(
    house: House,
) -> None:
    """PostgreSQL goes away under load and comes back; then Redis goes away for good."""
    async with clients(house) as services:
        file = house.documents / "pump.md"
        file.write_text("# Pump\n\nThe pump lifts 250 litres an hour.\n")
        await ingest(services[0], file)
        asked: list[Asked] = []
        pairs = [(service, number) for service in services for number in (1, 2)]
        load = [asyncio.create_task(_asking(item, n, asked)) for item, n in pairs]
        assert await until(lambda: len(asked) >= 10)
        assert not [item for item in asked if item.error]
        await asyncio.to_thread(house.postgres.stop)
        away = time.monotonic()
        for one in services:
            ready = await one.ready()
            assert "does not answer" in ready["state"]
            assert "pump" not in str(ready)
        # Each says so while the database is away: none waits until it is there again.
        assert await until(lambda: {item.task for item in asked if item.began > away} == set(load))
        await asyncio.sleep(AWAY_SECONDS - (time.monotonic() - away))
        assert all(item.error for item in asked if item.began > away)
        await asyncio.to_thread(house.postgres.start)
        back = time.monotonic()
        assert await until(lambda: _answered_since(asked, back) == set(load))
        healed = time.monotonic()
        assert await until(lambda: len([item for item in asked if item.began > healed]) > 20)
        await asyncio.to_thread(house.redis.kill)
        gone = time.monotonic()
        assert await until(lambda: len([item for item in asked if item.began > gone]) > 20)
        for task in load:
            task.cancel()
        await asyncio.wait(load)
        for task in load:
            assert task.cancelled(), task.exception()
        assert not [item for item in asked if item.error and item.began > healed]
        errors = [item.error for item in asked if item.error]
        assert all(isinstance(error, Unavailable) for error in errors)
        assert all(error.message.endswith(".") for error in errors)
        more = house.documents / "valve.md"
        more.write_text("# Valve\n\nThe valve opens at 7 bar.\n")
        await ingest(services[1], more)
        assert "7 bar" in await texts(services[0], "When does the valve open?")


def _answered_since(asked: list[Asked], at: float) -> set[object]:
    """Who has had an answer to a question that was asked since then."""
    return {item.task for item in asked if item.began > at and not item.error}


async def _asking(service: Service, first: int, asked: list[Asked]) -> None:
    """Ask until cancelled, half of the questions for the cache too."""
    for number in count(first, 2):
        began, error = time.monotonic(), None
        try:
            question = f"How much does the pump lift in {number} hours?"
            found = await answer(service, question, cache=number % 4 < 2)
            assert "250 litres" in str(found), found
        except RagstoneError as failed:
            error = failed
        asked.append(Asked(asyncio.current_task(), began, error))
        await asyncio.sleep(0.05)


async def test_given_a_third_server_with_another_index_then_it_is_not_ready_and_says_why(
    house: House, tmp_path: Path
) -> None:
    async with clients(house) as services:
        file = house.documents / "crane.md"
        file.write_text("# Crane\n\nThe crane lifts 40 tons.\n")
        await ingest(services[0], file)
        there = {"STATE__URL": house.postgres.url}
        third = tmp_path / "third"
        with serving(third, **there) as url:
            said = await asyncio.to_thread(ready, url)
            assert said["status"] == "unavailable"
            assert "uses another index" in said["checks"]["index"]
            assert "INDEX__URL" in said["checks"]["index"]
            assert "crane" not in str(said)
            assert house.postgres.url not in str(said)
            for folder in house.folders:
                server = find_server(folder)
                assert server is not None
                assert (await asyncio.to_thread(ready, server[0]))["checks"]["index"] == "ok"


def ready(url: str) -> Any:
    """What `/ready` says."""
    response = httpx2.get(f"{url}/ready", timeout=PATIENCE)
    return response.json()
