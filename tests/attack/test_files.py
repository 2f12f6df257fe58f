"""What somebody puts into a folder that is ingested neither stops the server nor shows what is
outside of the folder."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx2
import pytest
import pytest_asyncio

from tests.attack.house import OPERATOR, House, a_house
from tests.attack.test_jobs import call
from tests.credentials import bearer

HEADERS = bearer(OPERATOR)
SECRET = "# The lamp\n\nThe password of the lamp is hunter2, do not tell it.\n"


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with a_house(tmp_path) as house:
        yield house


async def read_original(house: House) -> httpx2.Response:
    return await call(
        house,
        HEADERS,
        "reading.original",
        principal={},
        collection="manuals",
        path="/manuals/lamp.md",
        offset=0,
        limit=1000,
    )


def put_pipe(file: Path) -> None:
    os.mkfifo(file)


def put_link(file: Path) -> None:
    file.symlink_to(file.parent.parent / "secret.md")


def put_link_to_a_link(file: Path) -> None:
    (file.parent / "link").symlink_to(file.parent.parent / "secret.md")
    file.symlink_to(file.parent / "link")


def put_link_to_a_device(file: Path) -> None:
    file.symlink_to("/dev/zero")


def put_folder(file: Path) -> None:
    file.mkdir()


@pytest.mark.parametrize(
    "put", [put_pipe, put_link, put_link_to_a_link, put_link_to_a_device, put_folder]
)
async def test_what_takes_the_place_of_a_file_is_neither_shown_nor_waited_for(
    house: House, tmp_path: Path, put: Callable[[Path], None]
) -> None:
    file = tmp_path / "manuals" / "lamp.md"
    before, about = await read_original(house), file.stat()
    secret = tmp_path / "secret.md"
    secret.write_text(SECRET[: about.st_size].ljust(about.st_size))
    os.utime(secret, ns=(about.st_atime_ns, about.st_mtime_ns))
    file.unlink()
    put(file)

    responses = await asyncio.gather(*(read_original(house) for _ in range(6)))
    ready = await house.send(HEADERS, "GET", "/ready")
    answer = await house.ask(HEADERS, "What battery does the lamp have?", "room")

    assert before.status_code == 200
    assert [response.status_code for response in responses] == [404] * 6
    assert (ready.status_code, answer.status_code) == (200, 200)


async def test_the_folder_of_a_document_that_became_a_link_leads_nowhere(
    house: House, tmp_path: Path
) -> None:
    (tmp_path / "manuals").rename(tmp_path / "moved")
    (tmp_path / "manuals").symlink_to(tmp_path / "moved")

    assert (await read_original(house)).status_code == 404
