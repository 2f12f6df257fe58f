"""Of a user who is forgotten no byte is left, in the data directory or in PostgreSQL."""

import os
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from ragstone.core.records import Topic
from ragstone.core.turn import Ask, Principal
from ragstone.local import Ragstone
from ragstone.plugins.evaluation.contract import SetQuestion
from ragstone.service import IngestRequest
from ragstone.settings import IndexSettings, StateSettings
from tests.attack.house import House, a_house
from tests.conformance.postgres_server import postgres_server
from tests.databases import Databases

FORGET = "/api/v1/conversations/forget"
OTHERS = "The walrus of Sofie sleeps in Tromso."
"""What another user said, which stays."""


def make_marker() -> str:
    """A word that nothing else holds."""
    return f"zq{uuid4().hex[:12]}"


def find_bytes(folder: Path, marker: str) -> list[str]:
    """The files of a folder that hold the marker, in plain, in UTF-16 or compressed."""
    plain = re.compile(
        b"|".join(re.escape(marker.encode(code)) for code in ("utf-8", "utf-16-le", "utf-16-be")),
        re.IGNORECASE,
    )
    found = []
    for file in sorted(folder.rglob("*")):
        name = str(file.relative_to(folder))
        parts = read_data(file) if file.is_file() else []
        if marker in name or any(plain.search(item) for part in parts for item in unpack(part)):
            found.append(name)
    return found


def read_data(file: Path) -> list[bytes]:
    """What a file holds between its holes."""
    parts, at = [], 0
    with file.open("rb") as read:
        while True:
            try:
                at = os.lseek(read.fileno(), at, os.SEEK_DATA)
            except OSError:  # Nothing follows.
                return parts
            end = os.lseek(read.fileno(), at, os.SEEK_HOLE)
            parts.append(os.pread(read.fileno(), end - at, at))
            at = end


def unpack(content: bytes) -> Iterator[bytes]:
    """The content, and what is deflated in it."""
    yield content
    for start in re.finditer(rb"\x78[\x01\x9c\xda]", content):
        with suppress(zlib.error):
            yield zlib.decompressobj().decompress(
                content[start.start() : start.start() + 100_000], 1_000_000
            )


async def leave_traces(house: House, headers: dict[str, str], user: str, marker: str) -> None:
    """Put the marker through every door that a user has."""
    service, whose = house.service, Principal("default", user)

    async def send(method: str, path: str, **given: object) -> None:
        response = await house.http.request(method, path, headers=headers, **given)  # type: ignore[arg-type]
        assert response.status_code < 400, (path, response.text)

    text = f"# The {marker} report\n\nThe {marker} of {user} is 34 metres high.\n".encode()
    upload = {"files": (f"{marker}.md", text)}
    await send("POST", f"/chat/{marker}/documents", files=upload)
    await send("POST", "/chat/other/documents", files=upload)
    metadata = f'{{"subject": "{marker}"}}'
    again = {"files": (f"{marker}-again.txt", text)}
    await send("POST", "/chat/other/documents", files=again, data={"metadata": metadata})
    await send("POST", f"/chat/{marker}/stream", json={"message": f"How high is the {marker}?"})
    await send("POST", "/v1/files", files={"file": (f"{marker}.txt", text)},
               data={"purpose": "assistants"})  # fmt: skip
    await house.http.request(
        "POST", "/chat/unread/documents", headers=headers,
        files={"files": (f"{marker}.pdf", b"no pdf " + text)},
    )  # fmt: skip
    for question in (f"How high is the {marker}?", f"Is {marker} red?", "How high is the lamp?"):
        asked = await house.ask(headers, question, f"room-{marker}")
        assert asked.status_code == 200
    await send("PATCH", f"/api/v1/conversations/room-{marker}", json={"title": f"On {marker}"})
    chat = [{"role": "user", "content": f"Where is {marker}?"}]
    chat_body = {"model": "ragstone", "collection": "manuals", "messages": chat, "user": marker}
    await send("POST", "/v1/chat/completions", json=chat_body)
    await service.feedback.give(
        whose, f"a-{marker}", "down", question=f"Q {marker}", comment=f"no {marker}"
    )
    job = await service.jobs.ask(Ask(f"What is {marker}?", whose, collection="manuals"))
    async for view in service.jobs.watch(whose, job.id):
        assert view.state != "failed", view.error
    await service.evaluation.put_set(whose, "manuals", marker, [SetQuestion(f"Who is {marker}?")])
    await service.put_topics("default", [Topic("", "default", "zebra")])
    asked = await house.ask(headers, f"What of the zebra {marker}?", f"room-{marker}")
    assert asked.status_code < 500


async def add_others(service: Ragstone, folder: Path) -> None:
    """What belongs to others, in the collections that the user fills too."""
    place = folder / "others"
    place.mkdir()
    (place / "walrus.txt").write_text(OTHERS)
    async for progress in service.ingest(
        IngestRequest((str(place),), "chat_other", by=Principal(user="sofie"))
    ):
        assert not progress.failed


async def check_others_stay(house: House) -> None:
    found = await house.service.search(
        Ask("Where does the walrus sleep?", Principal(user="sofie"), collection="chat_other")
    )
    assert any("Tromso" in hit.chunk.text for hit in found.hits)


@pytest.mark.real
async def test_no_byte_of_a_forgotten_user_is_left(tmp_path: Path) -> None:
    marker = make_marker()
    async with a_house(tmp_path) as house:
        admin = await house.key("admin", "root")
        user = f"ann-{marker}"
        headers = await house.key("editor", user)
        await add_others(house.service, tmp_path)
        await leave_traces(house, headers, user, marker)
        before = " ".join(find_bytes(tmp_path / "data", marker))
        for place in ("cache.sqlite", "index", "originals", "files", "state.sqlite"):
            assert place in before

        gone = await house.send(admin, "POST", FORGET, {"user": user})

        assert gone.status_code == 200, gone.text
        assert gone.json()["documents"] >= 3
        assert find_bytes(tmp_path / "data", marker) == []
        assert (await house.send(headers, "GET", "/v1/models")).status_code == 401
        await check_others_stay(house)
    assert find_bytes(tmp_path / "data", marker) == []


@pytest.mark.real
async def test_no_byte_of_a_forgotten_user_is_left_in_postgresql(tmp_path: Path) -> None:
    with postgres_server() as server:
        marker, name = make_marker(), Databases(server).new()
        url = server.url.replace("/postgres?", f"/{name}?")
        parts = {"state": StateSettings(url=url), "index": IndexSettings(url=url)}
        async with a_house(tmp_path, **parts) as house:
            admin = await house.key("admin", "root")
            user = f"ann-{marker}"
            headers = await house.key("editor", user)
            await add_others(house.service, tmp_path)
            await leave_traces(house, headers, user, marker)
            assert find_rows(url, marker)

            gone = await house.send(admin, "POST", FORGET, {"user": user})

            assert gone.status_code == 200, gone.text
            assert find_rows(url, marker) == []
            assert find_bytes(tmp_path / "data", marker) == []
            await check_others_stay(house)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CHECKPOINT")
            [folder] = connection.execute("SHOW data_directory").fetchone() or ()
        assert find_bytes(Path(folder) / "base", marker) == []


def find_rows(url: str, marker: str) -> list[str]:
    """The tables of a database that hold the marker."""
    tables = "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables"
    found = []
    with psycopg.connect(url) as connection:
        for (table,) in connection.execute(tables).fetchall():
            wanted = f"SELECT count(*) FROM {table} AS t WHERE t::text ILIKE %s"
            [count] = connection.execute(wanted, [f"%{marker}%"]).fetchone() or ()  # type: ignore[call-overload]
            found += [table] * bool(count)
    return found


async def test_an_erasure_that_was_cut_off_is_done_by_the_next_one(tmp_path: Path) -> None:
    """Cut off before each of its steps, as a killed process would be."""
    marker, user = make_marker(), "ann"
    whose = Principal(user=user)
    async with a_house(tmp_path, documents=False) as house:
        await add_others(house.service, tmp_path)
        place = tmp_path / "mine"
        place.mkdir()
        (place / f"{marker}.txt").write_text(f"The {marker} is red.")
        erasure = house.service._erasure
        steps = ((erasure._pipeline, "forget"), (erasure._state, "delete"),
                 (erasure._adapters.cache, "clear"), (erasure._state, "rewrite"))  # fmt: skip
        for owner, name in steps:
            request = IngestRequest((str(place),), "chat_other", allowed=("user:ann",), by=whose)
            async for progress in house.service.ingest(request):
                assert not progress.failed

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(owner, name, broken)
                with pytest.raises(RuntimeError):
                    await house.service.conversations.forget(whose)
            await house.service.conversations.forget(whose)

            assert find_bytes(tmp_path / "data", marker) == [], name
            await check_others_stay(house)


async def broken(*_: object, **__: object) -> None:
    raise RuntimeError("the process ends here")


async def test_the_last_key_of_an_erased_user_lets_nobody_in(tmp_path: Path) -> None:
    async with a_house(tmp_path, documents=False) as house:
        headers = await house.key("editor", "ann")
        assert (await house.send(headers, "POST", FORGET, {})).json()["keys"] == 1

        for given in (headers, {}):
            assert (await house.send(given, "GET", "/v1/models")).status_code == 401
        assert await house.service.keys.list_all(None) == []


async def test_a_document_that_others_may_read_stays(tmp_path: Path) -> None:
    async with a_house(tmp_path, documents=False) as house:
        place = tmp_path / "shared"
        place.mkdir()
        (place / "a.txt").write_text("The heron is grey.")
        request = IngestRequest((str(place),), allowed=("user:ann", "user:bob"))
        async for progress in house.service.ingest(request):
            assert not progress.failed

        gone = await house.service.conversations.forget(Principal(user="ann"))

        assert gone.documents == 0
        assert len(await house.service.documents(Principal(user="bob"), "default")) == 1
