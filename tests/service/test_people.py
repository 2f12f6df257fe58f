"""Accounts on both databases: what is kept, what may be reached, and what a backup holds."""

import random
from dataclasses import replace
from typing import Any

import pytest
from argon2 import PasswordHasher
from starlette.datastructures import Headers

from ragstone.access import secrets, setup
from ragstone.access.gate import COOKIE
from ragstone.core.caller import ROLES
from ragstone.core.errors import Forbidden, TooManyRequests, Unauthorized, UnknownPerson
from ragstone.core.turn import Principal
from ragstone.local.keys import LocalKeys
from ragstone.local.people import LocalPeople
from ragstone.service.keys import KeyGrant
from ragstone.service.people import SignInTry
from ragstone.settings import AuthSettings
from ragstone.store.sql.database import Database
from ragstone.store.sql.dump import SqlDump
from ragstone.store.sql.people import SqlKeys, SqlPeople
from tests.memory_store import MemoryNames

PASSWORD = "a horse in the hallway"
COLLECTIONS = ("hr", "law", "manuals")


@pytest.fixture(autouse=True)
def _hash_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "_HASHER", PasswordHasher(1, 8, 1))


class Clock:
    """Seconds that pass when a test says so."""

    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def names() -> MemoryNames:
    return MemoryNames()


@pytest.fixture
def keys(state: Database, names: MemoryNames, clock: Clock) -> LocalKeys:
    return LocalKeys(SqlKeys(state), names, clock)


@pytest.fixture
def people(state: Database, names: MemoryNames, keys: LocalKeys, clock: Clock) -> LocalPeople:
    return LocalPeople(SqlPeople(state), names, keys, "default", clock)


async def make_person(people: LocalPeople) -> str:
    """The session of a new person."""
    made = await people.invite(Principal(), "ada")
    return (await people.accept(made.secret, PASSWORD)).secret


async def try_password(people: LocalPeople, password: str = PASSWORD, device: str = "") -> str:
    given = SignInTry("ada", password, address="10.0.0.1", device=device)
    return (await people.sign_in(given)).secret


async def test_a_session_ends_after_thirty_days_and_an_invitation_after_a_week(
    people: LocalPeople, clock: Clock
) -> None:
    session = await make_person(people)
    assert await people.whose(session)
    await people.invite(Principal(), "bob")
    clock.now += 7 * 86_400
    [_, bob] = await people.list(Principal())
    assert bob.invited_until is None
    clock.now += 24 * 86_400
    assert await people.whose(session) is None


async def test_pauses_double_up_to_five_minutes_and_are_forgotten_after_an_hour(
    people: LocalPeople, clock: Clock
) -> None:
    await make_person(people)
    for _ in range(5):
        with pytest.raises(Unauthorized):
            await try_password(people, "wrong")
    waits = []
    for _ in range(12):
        with pytest.raises(TooManyRequests) as paused:
            await try_password(people)
        waits.append(paused.value.retry_after or 0)
        clock.now += waits[-1]
        with pytest.raises(Unauthorized):
            await try_password(people, "wrong")
    assert waits[:5] == [1, 2, 4, 8, 16]
    assert max(waits) == waits[-1] == 300
    with pytest.raises(TooManyRequests):
        await try_password(people)
    clock.now += 300
    assert await try_password(people)
    clock.now += 3601
    assert await try_password(people)


async def test_a_password_is_hashed_anew_when_the_parameters_change(
    people: LocalPeople, state: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await make_person(people)
    monkeypatch.setattr(secrets, "_HASHER", PasswordHasher(2, 16, 1))
    assert await try_password(people)
    stored = await SqlPeople(state).find("default", "ada")
    assert stored
    assert "m=16,t=2" in stored.password
    assert await try_password(people)


async def test_a_backup_holds_accounts_and_neither_sessions_nor_invitations(
    people: LocalPeople, state: Database
) -> None:
    await make_person(people)
    await people.invite(Principal(), "bob")
    held: dict[str, int] = {}
    async with SqlDump(state, None).snapshot() as rows:  # type: ignore[arg-type]
        async for table, some in rows:
            held[table] = held.get(table, 0) + len(some)
    assert held["people"] == 2
    assert not held.get("person_tokens")
    assert not held.get("sign_in_tries")
    assert held["api_keys"] == 1


def make_rights(r: random.Random) -> dict[str, Any]:
    """Any rights."""
    some = [name for name in COLLECTIONS if r.random() < 0.5]
    return {
        "role": r.choice(ROLES),
        "groups": [name for name in ("board", "hr", "staff") if r.random() < 0.5],
        "collections": None if r.random() < 0.3 else some,
    }


@pytest.mark.parametrize("seed", range(5))
async def test_a_person_reaches_what_a_key_of_the_same_rights_reaches(
    people: LocalPeople, keys: LocalKeys, seed: int
) -> None:
    r = random.Random(seed)
    gate = setup.make_gate(AuthSettings(), keys, "operator", "local", people)
    session = await make_person(people)
    for _ in range(20):
        rights = make_rights(r)
        await people.change(
            Principal(), "ada", all_collections=rights["collections"] is None, **rights
        )
        if await people.whose(session) is None:
            session = await try_password(people)
        issued = await keys.create(KeyGrant("twin", user="ada", **rights))
        cookie = {"cookie": f"{COOKIE}={session}", "sec-fetch-site": "same-origin"}
        person = await gate.caller(Headers(cookie), "10.0.0.1")
        twin = await gate.caller(Headers({"x-api-key": issued.secret}), "10.0.0.1")
        assert person.principal == replace(
            twin.principal,
            groups=tuple(twin.principal.groups),
            collections=None if twin.collections is None else tuple(twin.collections),
        )
        assert (person.role, person.operator) == (twin.role, False)


@pytest.mark.parametrize("seed", range(20))
async def test_whatever_administrators_do_nobody_gets_more_than_they_reach(
    people: LocalPeople, seed: int
) -> None:
    r = random.Random(seed)
    model: dict[tuple[str, str], set[str] | None] = {}
    """What each person reaches, None for everything."""
    for _ in range(60):
        mine = None if r.random() < 0.3 else {n for n in COLLECTIONS if r.random() < 0.6}
        tenant = r.choice(["acme", "default"])
        reach = None if mine is None else tuple(sorted(mine))
        admin = Principal(tenant, "boss", collections=reach)
        name = r.choice(["ada", "bob", "eve"])
        rights, whose = make_rights(r), (tenant, name)
        wanted = rights["collections"]
        is_mine = whose in model and covers(mine, model[whose])
        act = r.choice(["invite", "change", "remove"])
        if act == "invite" and whose not in model:
            gets = mine if wanted is None else set(wanted)
            if covers(mine, gets):
                await people.invite(admin, name, **rights)
                model[whose] = gets
            else:
                with pytest.raises(Forbidden):
                    await people.invite(admin, name, **rights)
        elif act == "change" and is_mine:
            if wanted is not None and not covers(mine, set(wanted)):
                with pytest.raises(Forbidden):
                    await people.change(admin, name, **rights)
            else:
                await people.change(admin, name, all_collections=wanted is None, **rights)
                model[whose] = mine if wanted is None else set(wanted)
        elif act == "remove" and is_mine:
            await people.remove(admin, name)
            del model[whose]
        elif act != "invite":
            with pytest.raises(UnknownPerson):
                await (
                    people.remove(admin, name) if act == "remove" else people.change(admin, name)
                )
        listed = {view.name for view in await people.list(admin)}
        assert listed == {n for (t, n), has in model.items() if t == tenant and covers(mine, has)}
        for view in await people.list(Principal(tenant)):
            has = None if view.collections is None else set(view.collections)
            assert has == model[tenant, view.name]


def covers(reach: set[str] | None, other: set[str] | None) -> bool:
    return reach is None or (other is not None and other <= reach)
