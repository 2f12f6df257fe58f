"""A command that holds the data directory lets the user's other commands ask."""

import asyncio
import json
from pathlib import Path

import httpx2
import pytest

from ragstone import remote
from ragstone.cli.running import server_address
from ragstone.core.errors import Unauthorized
from ragstone.http.server.beside import answer_local_commands
from ragstone.service import Service
from ragstone.service.server_file import SERVER_FILE, find_server, publish
from ragstone.settings import ServerSettings, Settings
from tests.fake_service import FakeService

pytestmark = pytest.mark.slow


def settings_of(folder: Path) -> Settings:
    return Settings(ragstone_data=folder)


async def test_given_a_command_at_work_then_another_one_asks_through_it(tmp_path: Path) -> None:
    settings, said = settings_of(tmp_path), list[str]()
    service: Service = FakeService()
    async with answer_local_commands(service, settings, said.append):
        found = await asyncio.to_thread(find_server, tmp_path)
        assert found is not None
        other = remote.connect_service(*found)
        assert (await other.overview()).server == found[0]
        await other.aclose()
        stranger = remote.connect_service(found[0], "")
        with pytest.raises(Unauthorized):
            await stranger.overview()
        await stranger.aclose()
        async with httpx2.AsyncClient(base_url=found[0]) as client:
            assert (await client.get("/api/v1/collections")).status_code == 401
    assert not (tmp_path / SERVER_FILE).exists()
    assert said == []


@pytest.mark.parametrize("lasting", [True, False], ids=["server", "command"])
async def test_given_who_answers_then_people_are_told_the_address_of_a_server_alone(
    tmp_path: Path, lasting: bool
) -> None:
    settings = settings_of(tmp_path)
    async with answer_local_commands(FakeService(), settings, print):
        running = json.loads((tmp_path / SERVER_FILE).read_text())
        if lasting:
            publish(tmp_path, running["url"], running["token"])
        told = await asyncio.to_thread(server_address, settings)
        named = settings.model_copy(update={"server": ServerSettings(public_url="https://a.org/")})
        public = await asyncio.to_thread(server_address, named)

    assert told == (running["url"] if lasting else "http://127.0.0.1:8006")
    assert public == "https://a.org"


async def test_given_a_short_command_then_no_server_was_loaded(tmp_path: Path) -> None:
    async with answer_local_commands(FakeService(), settings_of(tmp_path), print):
        assert (tmp_path / SERVER_FILE).stat().st_mode & 0o077 == 0
    assert not (tmp_path / SERVER_FILE).exists()


async def test_given_a_command_that_is_stopped_then_its_server_ends_too(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        async with answer_local_commands(FakeService(), settings_of(tmp_path), print):
            assert await asyncio.to_thread(find_server, tmp_path)
            raise KeyboardInterrupt
    assert await asyncio.to_thread(find_server, tmp_path) is None
