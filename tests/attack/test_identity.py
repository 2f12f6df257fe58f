"""Nobody is taken for somebody else: by a missing name, a shared one, or one that looks alike."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as some

from ragstone.core.errors import InputError
from ragstone.plugins.chats.documents import user_folder
from ragstone.service.keys import KeyGrant
from tests.attack.house import OPERATOR, House, a_house
from tests.credentials import bearer

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    async with a_house(tmp_path_factory.mktemp("identity")) as house:
        yield house


async def upload(house: House, headers: dict[str, str], chat: str, name: str, text: str) -> int:
    found = await house.send(
        headers, "POST", f"/chat/{chat}/documents", files=[("files", (name, text.encode()))]
    )
    assert found.json()["failed"] == [], found.text
    return len(found.json()["uploaded"])


async def documents(house: House, headers: dict[str, str], chat: str) -> list[str]:
    found = await house.send(headers, "GET", f"/chat/{chat}/documents")
    return [item["name"] for item in found.json()["documents"]]


async def test_keys_without_a_user_share_neither_conversations_nor_uploads_nor_jobs(
    house: House,
) -> None:
    one, other = await house.nameless("editor"), await house.nameless("editor")
    await house.ask(one, "What battery does the lamp have?", "r1")
    assert await upload(house, one, "c1", "mine.md", "# Mine\n\nThe code is Quagga.\n")
    assert await documents(house, one, "c1") == ["mine.md"]
    mine = (await house.send(one, "GET", "/api/v1/jobs")).json()["jobs"]
    assert [job["kind"] for job in mine] == ["ingest"]
    for path, key in (("/api/v1/conversations", "conversations"), ("/api/v1/jobs", "jobs")):
        assert len((await house.send(one, "GET", path)).json()[key]) == 1
        assert (await house.send(other, "GET", path)).json()[key] == []
    assert await documents(house, other, "c1") == []
    for action in ("cancel", "pause", "retry"):
        path = f"/api/v1/jobs/{mine[0]['id']}/{action}"
        assert (await house.send(other, "POST", path)).status_code == 404
    assert (await house.send(other, "DELETE", "/chat/c1/documents")).json()["deleted"] == 0
    assert await documents(house, one, "c1") == ["mine.md"]


async def test_the_command_line_is_another_user_than_any_key(house: House) -> None:
    one = await house.nameless("admin")
    await house.ask(one, "What battery does the lamp have?", "of a key")
    found = await house.send(bearer(OPERATOR), "GET", "/api/v1/conversations")
    assert "of a key" not in found.text
    user = (await house.send(one, "GET", "/api/v1/keys/self")).json()["user"]
    found = await house.send(bearer(OPERATOR), "GET", "/api/v1/conversations?user=" + user)
    assert "of a key" in found.text


async def test_a_rotated_key_is_the_same_user(house: House) -> None:
    issued = await house.service.keys.create(KeyGrant("a program"))
    await house.ask(bearer(issued.secret), "What battery does the lamp have?", "kept")
    again = await house.service.keys.rotate(None, issued.key.id)
    found = await house.send(bearer(again.secret), "GET", "/api/v1/conversations/kept")
    assert len(found.json()["turns"]) == 1


async def test_no_key_is_made_for_the_user_of_another_key(house: House) -> None:
    issued = await house.service.keys.create(KeyGrant("a program"))
    with pytest.raises(InputError, match="leave the user out"):
        await house.service.keys.create(KeyGrant("thief", user=issued.key.user))


async def test_a_user_has_what_each_of_the_own_keys_uploaded(house: House) -> None:
    one, other = await house.key("editor", "ina"), await house.key("editor", "ina")
    assert await upload(house, one, "c2", "mine.md", "# Mine\n\nThe lamp is blue.\n")
    assert await documents(house, other, "c2") == ["mine.md"]
    [job] = (await house.send(other, "GET", "/api/v1/jobs?kind=ingest")).json()["jobs"]
    assert job["user"] == "ina"


async def test_a_name_with_a_slash_does_not_overwrite_another_users_file(house: House) -> None:
    eva, evil = await house.key("editor", "eva"), await house.key("editor", "evil/eva")
    assert await upload(house, eva, "c3", "a.md", "# A\n\nThe lamp of Eva is red.\n")
    assert await upload(house, evil, "c3", "a.md", "# A\n\nThe lamp of Eva is broken.\n")
    read = await house.send(eva, "GET", "/chat/c3/documents")
    assert read.json()["total"] == 1
    asked = await house.ask(eva, "Which colour does the lamp of Eva have?", "c3", "chat_c3")
    assert "red" in asked.text
    assert "broken" not in asked.text


@given(some.text(max_size=12), some.text(max_size=12))
async def test_two_users_never_have_the_same_folder(one: str, other: str) -> None:
    assert (user_folder(one) == user_folder(other)) == (one == other)
    assert not set("/\\\0") & set(user_folder(one))
    assert user_folder(one) not in (".", "..")


@pytest.mark.parametrize("user", ["evil/eva", "..", ".", "eva ", "e%2Fva"])
async def test_a_name_that_is_no_plain_one_is_written_out(user: str) -> None:
    assert user_folder(user) != "eva"
    assert user_folder("eva@example.com") == "eva@example.com"
