"""API keys: what is kept of them, how long they hold, and that no other tenant has them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.access.secrets import key_id, new_id, new_secret
from ragstone.core.errors import InputError, Unauthorized, UnknownKey
from ragstone.local.keys import LocalKeys
from ragstone.service.keys import KeyGrant
from ragstone.store.sql.database import open_database
from ragstone.store.sql.people import SqlKeys
from tests.credentials import MemoryKeys
from tests.memory_store import MemoryNames

GRANT = KeyGrant("a program", "acme", "eva", ("staff", "ops"), ("docs",), "editor", 100.0)


class Clock:
    """Seconds that pass only when told."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlKeys]:
    async with open_database(tmp_path / "state.sqlite") as database:
        yield SqlKeys(database)


@pytest.fixture
def names() -> MemoryNames:
    return MemoryNames()


@pytest.fixture
async def keys(store: SqlKeys, names: MemoryNames, clock: Clock) -> AsyncIterator[LocalKeys]:
    keys = LocalKeys(store, names, clock)
    yield keys
    await keys.aclose()


async def test_given_a_new_key_then_its_secret_tells_all_that_was_granted(keys: LocalKeys) -> None:
    assert not await keys.exist()
    issued = await keys.create(GRANT)
    found = await keys.whose(issued.secret)
    assert (found.tenant, found.user, found.groups) == ("acme", "eva", ("staff", "ops"))
    assert (found.collections, found.role, found.name) == (("docs",), "editor", "a program")
    assert await keys.exist()
    assert [key.id for key in await keys.list_all("acme")] == [issued.key.id]
    assert await keys.list_all("other") == []


async def test_given_a_collection_has_another_name_then_its_keys_go_with_it(
    keys: LocalKeys, names: MemoryNames
) -> None:
    issued = await keys.create(GRANT)
    assert issued.key.collections == ("docs",)
    names.ids["acme", "papers"] = names.ids.pop(("acme", "docs"))
    assert (await keys.whose(issued.secret)).collections == ("papers",)
    await names.identity("acme", "docs")
    assert [key.collections for key in await keys.list_all("acme")] == [("papers",)]
    assert (await keys.rotate("acme", issued.key.id)).key.collections == ("papers",)
    del names.ids["acme", "papers"]
    assert (await keys.revoke("acme", issued.key.id)).collections == ()


async def test_given_a_key_for_everything_then_that_is_not_the_same_as_for_nothing(
    keys: LocalKeys,
) -> None:
    everything = await keys.create(KeyGrant("a"))
    nothing = await keys.create(KeyGrant("b", collections=()))
    assert (await keys.whose(everything.secret)).collections is None
    assert (await keys.whose(nothing.secret)).collections == ()


async def test_given_a_key_then_its_secret_is_nowhere_on_the_disk(
    keys: LocalKeys, tmp_path: Path
) -> None:
    issued = await keys.create(GRANT)
    random_part = issued.secret.encode()[-20:]
    for file in tmp_path.iterdir():
        assert random_part not in file.read_bytes()


async def test_given_secrets_that_are_none_then_each_is_refused_alike(keys: LocalKeys) -> None:
    issued = await keys.create(GRANT)
    wrong = issued.secret[:-1] + ("A" if issued.secret[-1] != "A" else "B")
    unknown = new_secret(new_id())
    messages = set()
    for secret in (wrong, unknown, "", "ragstone_", issued.key.id, issued.secret + "x", "é" * 60):
        with pytest.raises(Unauthorized) as caught:
            await keys.whose(secret)
        messages.add(caught.value.message)
    assert len(messages) == 1


async def test_given_an_end_then_the_key_holds_until_then(keys: LocalKeys, clock: Clock) -> None:
    issued = await keys.create(GRANT)
    clock.now += 99.9
    assert await keys.whose(issued.secret)
    clock.now += 0.2
    with pytest.raises(Unauthorized, match="ended"):
        await keys.whose(issued.secret)


async def test_given_a_rotated_key_then_the_old_secret_holds_for_the_grace_period(
    keys: LocalKeys, clock: Clock
) -> None:
    first = await keys.create(KeyGrant("a"))
    second = await keys.rotate("default", first.key.id, grace=30)
    assert second.key.id == first.key.id
    assert second.secret != first.secret
    clock.now += 29
    assert (await keys.whose(first.secret)).id == (await keys.whose(second.secret)).id
    clock.now += 2
    assert await keys.whose(second.secret)
    with pytest.raises(Unauthorized):
        await keys.whose(first.secret)


async def test_given_no_grace_then_the_old_secret_ends_at_once(keys: LocalKeys) -> None:
    first = await keys.create(KeyGrant("a"))
    await keys.whose(first.secret)
    await keys.rotate(None, first.key.id, grace=0)
    with pytest.raises(Unauthorized):
        await keys.whose(first.secret)


async def test_given_two_servers_then_a_key_revoked_in_one_ends_in_the_other_within_two_seconds(
    keys: LocalKeys, store: SqlKeys, names: MemoryNames, clock: Clock
) -> None:
    other = LocalKeys(store, names, clock)
    issued = await keys.create(KeyGrant("a"))
    rotated = await keys.rotate(None, issued.key.id)
    assert await other.whose(rotated.secret)
    await keys.revoke("default", issued.key.id)
    for secret in (issued.secret, rotated.secret):
        with pytest.raises(Unauthorized):
            await keys.whose(secret)
    clock.now += 2
    with pytest.raises(Unauthorized, match="revoked"):
        await other.whose(rotated.secret)
    with pytest.raises(InputError, match="revoked"):
        await keys.rotate(None, issued.key.id)
    assert (await keys.list_all(None))[0].revoked_at
    assert await other.exist()
    await other.aclose()


async def test_given_another_tenant_then_a_key_is_unknown_to_it(keys: LocalKeys) -> None:
    issued = await keys.create(GRANT)
    for id in (issued.key.id, "0" * 16, "", "'; --"):
        with pytest.raises(UnknownKey):
            await keys.revoke("other", id)
        with pytest.raises(UnknownKey):
            await keys.rotate("other", id)
    assert await keys.whose(issued.secret)


async def test_given_uses_then_the_last_one_is_known_to_a_minute(
    keys: LocalKeys, clock: Clock
) -> None:
    issued = await keys.create(KeyGrant("a"))
    assert (await keys.list_all(None))[0].used_at is None
    for _ in range(3):
        await keys.whose(issued.secret)
        await keys.aclose()
        clock.now += 20
    assert (await keys.list_all(None))[0].used_at == 1_000_000
    clock.now += 30
    await keys.whose(issued.secret)
    await keys.rotate(None, issued.key.id)
    await keys.aclose()
    assert (await keys.list_all(None))[0].used_at == 1_000_090


async def test_given_many_requests_then_a_key_is_looked_up_once_a_second(clock: Clock) -> None:
    store = MemoryKeys()
    keys = LocalKeys(store, MemoryNames(), clock)
    issued = await keys.create(KeyGrant("a"))
    for _ in range(100):
        await keys.whose(issued.secret)
    assert store.reads == 1
    await keys.aclose()


@pytest.mark.parametrize(
    "grant",
    [
        KeyGrant(""),
        KeyGrant(" "),
        KeyGrant("a", tenant=""),
        KeyGrant("a", user="x" * 256),
        KeyGrant("a", groups=("",)),
        KeyGrant("a", collections=("x",) * 1001),
        KeyGrant("a", role="king"),  # type: ignore[arg-type]
        KeyGrant("a", seconds=0),
        KeyGrant("a", seconds=-1),
        KeyGrant("a", seconds=float("nan")),
        KeyGrant("a", seconds=float("inf")),
    ],
)
async def test_given_a_grant_without_sense_then_no_key_is_made(
    keys: LocalKeys, grant: KeyGrant
) -> None:
    with pytest.raises(InputError):
        await keys.create(grant)
    assert await keys.list_all(None) == []


@given(st.text())
def test_given_any_text_then_it_is_no_secret_of_ours(text: str) -> None:
    assert key_id(text) == ""
