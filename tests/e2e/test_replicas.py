"""Two servers on one PostgreSQL and one Redis, in real processes, also when those go away."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ragstone.core.errors import RagstoneError, Unavailable
from ragstone.core.turn import Ask, Principal
from ragstone.guard.topic_file import topic
from ragstone.service import IngestRequest, Service
from ragstone.service.remote import service_at
from ragstone.service.server_file import find_server
from tests.conformance.postgres_server import PostgresServer, postgres_server
from tests.e2e.processes import serving
from tests.redis_server import RedisServer, redis_server

HR = Principal(groups=("hr",))
AWAY_SECONDS = 10.0


@dataclass
class House:
    """What the servers share, and the data directory of each."""

    postgres: PostgresServer
    redis: RedisServer
    folders: tuple[Path, Path]
    documents: Path


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
            client = service_at(*server)
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


async def test_given_a_topic_forbidden_on_one_then_the_other_knows_it_within_two_seconds(
    house: House,
) -> None:
    async with clients(house) as (here, there):
        await there.check_topics("default", "Tell me about the merger.")
        await here.put_topics("default", [topic("default", "merger")])
        await asyncio.sleep(2.0)
        assert (await there.check_topics("default", "Tell me about the merger.")).blocked
        assert [one.term for one in await there.topics("default")] == ["merger"]
        await there.remove_topics("default", ["merger"])
        await asyncio.sleep(2.0)
        assert await here.topics("default") == []


async def test_given_a_database_away_for_ten_seconds_then_errors_are_clear_and_all_recovers(
    house: House,
) -> None:
    """PostgreSQL goes away under load and comes back; then Redis goes away for good."""
    async with clients(house) as services:
        file = house.documents / "pump.md"
        file.write_text("# Pump\n\nThe pump lifts 250 litres an hour.\n")
        await ingest(services[0], file)
        seen = SimpleNamespace(answers=[], errors=[], slowest=0.0)
        load = [asyncio.create_task(_asking(one, seen)) for one in services for _ in range(2)]
        while len(seen.answers) < 10:
            assert not seen.errors
            await asyncio.sleep(0.1)
        await asyncio.to_thread(house.postgres.stop)
        away = time.monotonic()
        await asyncio.sleep(1)
        for one in services:
            ready = await one.ready()
            assert "does not answer" in ready["state"]
            assert "pump" not in str(ready)
        await asyncio.sleep(AWAY_SECONDS - (time.monotonic() - away))
        assert not [at for at in seen.answers if away + 1 < at]
        assert [at for at, _ in seen.errors if away + 1 < at]
        await asyncio.to_thread(house.postgres.start)
        back = time.monotonic()
        await asyncio.sleep(5)
        assert [at for at in seen.answers if back < at < back + 5]
        assert not [error for at, error in seen.errors if at > back + 3]
        await asyncio.to_thread(house.redis.kill)
        gone = time.monotonic()
        await asyncio.sleep(4)
        for task in load:
            task.cancel()
        await asyncio.wait(load)
        for task in load:
            assert task.cancelled(), task.exception()
        assert len([at for at in seen.answers if at > gone + 1]) > 4
        assert not [error for at, error in seen.errors if at > gone]
        assert all(isinstance(error, Unavailable) for _, error in seen.errors)
        assert all(error.message.endswith(".") for _, error in seen.errors)
        assert seen.slowest < AWAY_SECONDS
        more = house.documents / "valve.md"
        more.write_text("# Valve\n\nThe valve opens at 7 bar.\n")
        await ingest(services[1], more)
        assert "7 bar" in await texts(services[0], "When does the valve open?")


async def _asking(service: Service, seen: SimpleNamespace) -> None:
    """Ask until cancelled; note when there was an answer, or which error."""
    number = 0
    while True:
        number += 1
        began = time.monotonic()
        try:
            asked = f"How much does the pump lift in {number} hours?"
            found = await answer(service, asked, cache=number % 2 == 0)
        except RagstoneError as error:
            seen.errors.append((time.monotonic(), error))
        else:
            assert "250 litres" in str(found), found
            seen.answers.append(time.monotonic())
        seen.slowest = max(seen.slowest, time.monotonic() - began)
        await asyncio.sleep(0.05)
