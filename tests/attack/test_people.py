"""Accounts: nobody gets into one by guessing, an old invitation, another page or a name."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pyotp
import pytest

from ragstone.access.gate import COOKIE
from ragstone.access.secrets import Passwords
from ragstone.core.caller import Role
from ragstone.core.errors import Conflict, InputError, UnknownPerson
from ragstone.core.records import Person
from ragstone.core.turn import Principal
from ragstone.http.sign_in import DEVICE
from ragstone.local import Ragstone
from ragstone.settings import AuthSettings
from tests.access.issuer import AUDIENCE, ISSUER, issuing, token
from tests.attack.house import House, a_house
from tests.credentials import bearer

OURS = {"sec-fetch-site": "same-origin"}
PASSWORD, OTHER = "a horse in the hallway", "two horses in the hallway"
SELF = "/api/v1/keys/self"


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with a_house(tmp_path, documents=False, token="local") as house:
        yield house


async def invite(service: Ragstone, name: str = "ada", role: Role = "reader", **given: Any) -> str:
    made = await service.people.invite(Principal(), name, role=role, **given)
    return made.secret


async def accept(
    house: House, secret: str, password: str = PASSWORD, **headers: str
) -> httpx2.Response:
    house.http.cookies.clear()
    body = {"secret": secret, "password": password}
    return await house.send({**OURS, **headers}, "POST", "/sign-in-invitation", body)


async def sign_in(
    house: House, name: str = "ada", password: str = PASSWORD, code: str = "", **headers: str
) -> httpx2.Response:
    house.http.cookies.clear()
    body = {"name": name, "password": password, "code": code}
    return await house.send({**OURS, **headers}, "POST", "/sign-in-password", body)


def browser(house: House, entered: httpx2.Response) -> dict[str, str]:
    """The headers of the browser that a response signed in."""
    assert entered.status_code == 200, entered.text
    house.http.cookies.clear()
    return {"cookie": f"{COOKIE}={entered.cookies[COOKIE]}", **OURS}


async def make_person(
    house: House, name: str = "ada", role: Role = "reader", **given: Any
) -> dict[str, str]:
    """The headers of a new person's browser."""
    secret = await invite(house.service, name, role, **given)
    return browser(house, await accept(house, secret))


async def status(house: House, headers: dict[str, str], path: str = SELF) -> int:
    return (await house.send(headers, "GET", path)).status_code


class TestInvitations:
    async def test_an_invitation_counts_once(self, house: House) -> None:
        secret = await invite(house.service)
        assert (await accept(house, secret)).status_code == 200

        again = await accept(house, secret, OTHER)

        assert again.status_code == 400
        assert "does not count any more" in again.text
        assert (await sign_in(house)).status_code == 200

    async def test_of_two_who_accept_at_once_one_is_let_in(self, house: House) -> None:
        secret = await invite(house.service)
        tries = await asyncio.gather(*(accept(house, secret) for _ in range(4)))
        assert sorted(response.status_code for response in tries) == [200, 400, 400, 400]

    async def test_a_new_invitation_ends_the_one_before_and_then_the_sessions(
        self, house: House
    ) -> None:
        ada = await make_person(house)
        first, second = (
            await invite(house.service, role=None),
            await invite(house.service, role=None),
        )
        assert (await accept(house, first, OTHER)).status_code == 400
        assert await status(house, ada) == 200

        assert (await accept(house, second, OTHER)).status_code == 200

        assert await status(house, ada) == 401
        assert (await sign_in(house)).status_code == 401
        assert (await sign_in(house, password=OTHER)).status_code == 200

    async def test_an_invitation_ends_with_its_time_and_with_its_account(
        self, house: House
    ) -> None:
        short = await invite(house.service, days=1e-9)
        kept = await invite(house.service, "bob")
        await house.service.people.remove(Principal(), "bob")
        for secret in (short, kept, "", "x" * 43):
            assert (await accept(house, secret or "-")).status_code == 400

    async def test_before_the_first_password_nothing_changes_for_the_local_user(
        self, house: House
    ) -> None:
        secret = await invite(house.service)
        assert await status(house, bearer("local")) == 200
        await accept(house, secret)
        assert await status(house, bearer("local")) == 401

    async def test_nobody_is_let_in_when_the_last_account_is_gone(self, house: House) -> None:
        await make_person(house)
        await house.service.people.remove(Principal(), "ada")
        assert await status(house, bearer("local")) == 401
        assert await status(house, {}, "/v1/models") == 401
        assert await status(house, bearer("operators-token")) == 200


class TestGuessing:
    async def test_a_name_that_nobody_has_is_answered_like_a_wrong_password(
        self, house: House, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await make_person(house)
        await invite(house.service, "invited")
        compared: list[bool] = []
        match = Passwords.match

        async def count(self: Passwords, password: str, stored: str) -> bool:
            compared.append(bool(stored))
            return await match(self, password, stored)

        monkeypatch.setattr(Passwords, "match", count)
        names = ("ada", "nobody", "invited", "acme/ada", "Ädä", "a\r\nb: c", "x" * 500)

        told = [await sign_in(house, name, "wrong " + OTHER) for name in names]

        assert {(r.status_code, r.text) for r in told} == {(401, told[0].text)}
        # A password is compared for each: the time tells nothing either.
        assert len(compared) == len(names)
        assert all(COOKIE not in response.cookies for response in told)

    @pytest.mark.parametrize("name", ["ada", "nobody"])
    async def test_pauses_grow_whether_the_name_exists_or_not(
        self, house: House, name: str
    ) -> None:
        await make_person(house)
        for _ in range(5):
            assert (await sign_in(house, name, OTHER)).status_code == 401
        paused = await sign_in(house, name)
        assert paused.status_code == 429
        assert 0 < int(paused.headers["retry-after"]) <= 1

    async def test_many_at_once_have_no_more_tries(self, house: House) -> None:
        await make_person(house)
        tries = await asyncio.gather(*(sign_in(house, password=OTHER) for _ in range(30)))
        assert sum(response.status_code == 401 for response in tries) == 5

    async def test_who_guesses_elsewhere_does_not_keep_a_person_out_of_the_own_browser(
        self, house: House
    ) -> None:
        entered = await accept(house, await invite(house.service))
        device = {"cookie": f"{DEVICE}={entered.cookies[DEVICE]}"}
        while (await sign_in(house, password=OTHER)).status_code != 429:
            pass
        assert (await sign_in(house, **device)).status_code == 200
        assert (await sign_in(house, "bob", **device)).status_code == 401

    async def test_an_address_has_pauses_too_after_many_names(self, house: House) -> None:
        told = [(await sign_in(house, f"n{number}")).status_code for number in range(51)]
        assert told == [401] * 50 + [429]

    async def test_the_own_password_cannot_be_guessed_with_a_session(self, house: House) -> None:
        ada = await make_person(house)
        body = {"current": OTHER, "new": "three horses in a row"}
        address = "/api/v1/people/ada/password"
        told = [(await house.send(ada, "POST", address, body)).status_code for _ in range(6)]
        assert told == [400] * 5 + [429]

    @pytest.mark.parametrize("password", ["eleven char", "ada.lovelace@example.org", "x" * 1001])
    async def test_a_short_password_and_the_name_are_refused(
        self, house: House, password: str
    ) -> None:
        secret = await invite(house.service, "ada.lovelace@example.org")
        refused = await accept(house, secret, password.upper())
        assert refused.status_code in (400, 422)
        assert (await accept(house, secret)).status_code == 200


class TestSecondFactor:
    async def begin(self, house: House, headers: dict[str, str]) -> tuple[pyotp.TOTP, list[str]]:
        address = "/api/v1/people/ada/second-factor"
        begun = await house.send(headers, "POST", address, {"password": PASSWORD})
        assert begun.json()["picture"].startswith("data:image/svg+xml")
        totp = pyotp.TOTP(begun.json()["secret"])
        given = {"password": PASSWORD, "secret": totp.secret, "code": totp.now()}
        codes = (await house.send(headers, "PUT", address, given)).json()["recovery_codes"]
        return totp, codes

    async def test_a_code_is_needed_and_counts_once(self, house: House) -> None:
        totp, _ = await self.begin(house, await make_person(house))
        # Of the next step, since the present one was given to begin.
        code = totp.at(time.time() + 30)

        asked = await sign_in(house)

        assert asked.json() == {"code_needed": True}
        assert COOKIE not in asked.cookies
        assert (await sign_in(house, code="000000")).status_code == 401
        assert (await sign_in(house, code=code)).status_code == 200
        assert (await sign_in(house, code=code)).status_code == 401

    async def test_a_recovery_code_stands_in_once(self, house: House) -> None:
        _, codes = await self.begin(house, await make_person(house))
        assert len(set(codes)) == 10
        assert (await sign_in(house, code=codes[3].upper())).status_code == 200
        assert (await sign_in(house, code=codes[3])).status_code == 401
        assert (await sign_in(house, code=codes[4])).status_code == 200

    async def test_a_new_password_does_not_go_round_it(self, house: House) -> None:
        await self.begin(house, await make_person(house))
        entered = await accept(house, await invite(house.service, role=None), OTHER)
        assert entered.json() == {"code_needed": True}
        assert COOKIE not in entered.cookies

    async def test_an_administrator_takes_it_off_and_others_need_the_password(
        self, house: House
    ) -> None:
        ada = await make_person(house)
        await self.begin(house, ada)
        away = "/api/v1/people/ada/second-factor/end"
        bob = await make_person(house, "bob")
        assert (await house.send(bob, "POST", away, {"password": PASSWORD})).status_code == 404
        assert (await house.send(ada, "POST", away, {})).status_code == 400
        boss = await make_person(house, "boss", "admin")
        assert (await house.send(boss, "POST", away, {})).status_code == 200
        assert (await sign_in(house)).cookies[COOKIE]


class TestSessions:
    async def test_signing_in_makes_a_new_session_and_ends_the_one_that_was_there(
        self, house: House
    ) -> None:
        ada = await make_person(house)
        entered = await sign_in(house, cookie=ada["cookie"])
        assert browser(house, entered)["cookie"] != ada["cookie"]
        assert await status(house, ada) == 401
        planted = {"cookie": f"{COOKIE}=planted-by-somebody-else", **OURS}
        entered = await sign_in(house, cookie=planted["cookie"])
        assert entered.cookies[COOKIE] != "planted-by-somebody-else"
        assert await status(house, planted) == 401

    async def test_cookies_are_for_the_own_pages_and_no_program_reads_them(
        self, house: House
    ) -> None:
        entered = await accept(house, await invite(house.service))
        for line in entered.headers.get_list("set-cookie"):
            assert "HttpOnly" in line
            assert "SameSite=strict" in line
        again = await sign_in(house, origin="https://docs.example.com", host="docs.example.com")
        assert all("Secure" in line for line in again.headers.get_list("set-cookie"))

    @pytest.mark.parametrize("site", ["same-site", "cross-site", "", "none"])
    async def test_a_page_elsewhere_signs_nobody_in(self, house: House, site: str) -> None:
        secret = await invite(house.service)
        headers = {"sec-fetch-site": site} if site else {}
        for path, body in (
            ("/sign-in-invitation", {"secret": secret, "password": PASSWORD}),
            ("/sign-in-password", {"name": "ada", "password": PASSWORD}),
        ):
            assert (await house.send(headers, "POST", path, body)).status_code == 403
        assert (await accept(house, secret)).status_code == 200

    @pytest.mark.parametrize("site", ["same-site", "cross-site", ""])
    async def test_a_page_elsewhere_does_nothing_with_a_session(
        self, house: House, site: str
    ) -> None:
        ada = await make_person(house)
        headers = {"cookie": ada["cookie"]} | ({"sec-fetch-site": site} if site else {})
        assert await status(house, headers) == 401

    async def test_a_session_is_no_key(self, house: House) -> None:
        ada = await make_person(house)
        secret = ada["cookie"].partition("=")[2]
        for headers in (bearer(secret), {"x-api-key": secret}):
            assert await status(house, headers) == 401

    async def test_sessions_are_listed_and_ended_one_or_all(self, house: House) -> None:
        ada = await make_person(house)
        other = browser(house, await sign_in(house, **{"user-agent": "Firefox " + "x" * 900}))
        listed = (await house.send(ada, "GET", "/api/v1/people/ada/sessions")).json()["sessions"]
        assert listed[0]["agent"].startswith("Firefox ")
        assert len(listed[0]["agent"]) == 200
        out = "/api/v1/people/ada/sign-out"

        ended = await house.send(ada, "POST", out, {"session": listed[0]["id"]})

        assert ended.json() == {"ended": 1}
        assert (await status(house, ada), await status(house, other)) == (200, 401)
        assert (await house.send(ada, "POST", out, {})).json() == {"ended": 1}
        assert await status(house, ada) == 401

    async def test_signing_out_ends_the_session_for_who_has_a_copy(self, house: House) -> None:
        ada = await make_person(house)
        assert (await house.send(ada, "POST", "/sign-out")).status_code == 204
        assert await status(house, ada) == 401

    async def test_a_new_password_and_another_role_end_sessions_and_rights_hold_at_once(
        self, house: House
    ) -> None:
        ada, people = await make_person(house), house.service.people
        await people.change(Principal(), "ada", groups=["hr"], collections=["hr"])
        said = (await house.send(ada, "GET", SELF)).json()
        assert (said["groups"], said["collections"], said["user"]) == (["hr"], ["hr"], "ada")
        await people.change(Principal(), "ada", role="admin")
        assert await status(house, ada) == 401
        ada = browser(house, await sign_in(house))
        other = browser(house, await sign_in(house))
        body = {"current": PASSWORD, "new": OTHER}
        await house.send(ada, "POST", "/api/v1/people/ada/password", body)
        assert (await status(house, ada), await status(house, other)) == (401, 401)
        assert (await sign_in(house, password=OTHER)).status_code == 200

    async def test_who_is_removed_is_nobody_at_once_and_an_open_answer_only_ends(
        self, tmp_path: Path
    ) -> None:
        async with a_house(tmp_path) as house:
            ada = await make_person(house)
            key = await house.key(user="ada")
            assert await status(house, key) == 200
            body = {"query": "How long is the battery?", "collection_name": "manuals"}
            asked = asyncio.create_task(house.send(ada, "POST", "/v2/rag/query", body))
            await asyncio.sleep(0)
            assert await house.service.people.remove(Principal(), "ada") == 1
            # It was begun by who could read it; nothing follows.
            assert (await asked).status_code in (200, 401)
            for headers in (ada, key):
                refused = await house.send(headers, "POST", "/v2/rag/query", body)
                assert refused.status_code == 401
            assert (await sign_in(house)).status_code == 401

    async def test_who_is_forgotten_has_no_account(self, house: House) -> None:
        ada = await make_person(house)
        operator = bearer("operators-token")
        gone = await house.send(operator, "POST", "/api/v1/conversations/forget", {"user": "ada"})
        assert gone.status_code == 200
        assert await status(house, ada) == 401
        assert await house.service.people.list(Principal()) == []
        assert await status(house, bearer("local")) == 401


class TestNames:
    @pytest.mark.parametrize(
        "name",
        [
            "аda", "ada\r\nx: y", "a b", "key:1", "local", "guest", "", "-ada", "ad\u200ba",
            "ada/b", "adа", "jürgen", "x" * 101,
        ],
    )  # fmt: skip
    async def test_names_that_look_like_others_or_stand_for_others_are_refused(
        self, house: House, name: str
    ) -> None:
        with pytest.raises(InputError, match="Not a valid name"):
            await house.service.people.invite(Principal(), name)

    @pytest.mark.parametrize("name", ["ADA", "ａｄａ", " ada "])
    async def test_names_in_another_width_or_case_are_the_same(
        self, house: House, name: str
    ) -> None:
        await make_person(house)
        with pytest.raises(Conflict):
            await house.service.people.invite(Principal(), name, role="admin")
        assert (await sign_in(house, name)).status_code == 200

    @pytest.mark.parametrize("display", ["Ada\r\nSet-Cookie: a=b", "\u202eadA", " ", "a\0"])
    async def test_what_is_shown_breaks_no_line(self, house: House, display: str) -> None:
        with pytest.raises(InputError):
            await house.service.people.invite(Principal(), "ada", display=display)

    async def test_a_name_that_a_key_has_is_taken_unless_it_is_the_same_person(
        self, house: House
    ) -> None:
        await house.key(user="ada")
        with pytest.raises(Conflict, match="has the user 'ada' already"):
            await invite(house.service)
        await make_person(house, same_user=True)

    async def test_a_token_with_the_name_of_an_account_is_refused(self, tmp_path: Path) -> None:
        with issuing() as issuer:
            auth = AuthSettings(jwks_url=issuer.url, issuer=ISSUER, audience=AUDIENCE)
            async with a_house(tmp_path, documents=False, auth=auth) as house:
                headers = bearer(token(sub="ada"))
                assert await status(house, headers) == 200
                await make_person(house)
                assert await status(house, headers) == 401

    async def test_accounts_of_one_name_in_two_tenants_are_two(self, house: House) -> None:
        ada = await make_person(house)
        made = await house.service.people.invite(Principal("acme"), "ada")
        there = browser(house, await accept(house, made.secret, OTHER))
        assert (await house.send(there, "GET", SELF)).json()["tenant"] == "acme"
        assert (await house.send(ada, "GET", SELF)).json()["tenant"] == "default"
        assert (await sign_in(house, "acme/ada", OTHER)).status_code == 200
        assert (await sign_in(house, "ada", OTHER)).status_code == 401
        boss = await make_person(house, "boss", "admin")
        await house.service.people.invite(Principal("acme"), "eve")
        assert await status(house, boss, "/api/v1/people/eve") == 404


async def test_a_stolen_database_holds_no_password_and_no_session(
    house: House, tmp_path: Path
) -> None:
    secret = await invite(house.service)
    ada = browser(house, await accept(house, secret))
    files = b"".join(f.read_bytes() for f in (tmp_path / "data").rglob("*") if f.is_file())
    for text in (PASSWORD, secret, ada["cookie"].partition("=")[2]):
        assert text.encode() not in files
    assert b"$argon2id$" in files


async def test_a_limited_administrator_has_power_over_no_more_than_it_reaches(
    house: House,
) -> None:
    boss = await make_person(house, "boss", "admin", collections=["manuals"])
    await make_person(house, "ada")
    await make_person(house, "bob", collections=["manuals"])
    people = "/api/v1/people"
    listed = (await house.send(boss, "GET", people)).json()["people"]
    assert [person["name"] for person in listed] == ["bob", "boss"]
    for method, path, body in (
        ("GET", f"{people}/ada", None),
        ("PATCH", f"{people}/ada", {"collections": ["manuals"]}),
        ("DELETE", f"{people}/ada", None),
        ("GET", f"{people}/ada/sessions", None),
        ("POST", f"{people}/ada/sign-out", {}),
        ("POST", f"{people}/ada/second-factor/end", {}),
        ("POST", people, {"name": "ada"}),
    ):
        assert (await house.send(boss, method, path, body)).status_code == 404, (method, path)
    for body in ({"name": "eve", "collections": ["hr"]},):
        assert (await house.send(boss, "POST", people, body)).status_code == 403
    made = await house.send(boss, "POST", people, {"name": "eve", "role": "admin"})
    assert made.json()["person"]["collections"] == ["manuals"]
    wider = await house.send(boss, "PATCH", f"{people}/bob", {"all_collections": True})
    assert wider.json()["collections"] == ["manuals"]
    assert (
        await house.send(boss, "PATCH", f"{people}/bob", {"collections": ["hr"]})
    ).status_code == 403


@pytest.mark.parametrize("role", ["reader", "editor"])
async def test_who_is_no_administrator_has_only_the_own_account(house: House, role: Role) -> None:
    mine = await make_person(house, "ada", role)
    await make_person(house, "bob")
    people = "/api/v1/people"
    assert await status(house, mine, f"{people}/ada") == 200
    for path in (f"{people}/bob", f"{people}/bob/sessions"):
        assert await status(house, mine, path) == 404
    assert await status(house, mine, people) == 403
    for method, path, body in (
        ("POST", people, {"name": "eve"}),
        ("PATCH", f"{people}/ada", {"role": "admin"}),
        ("DELETE", f"{people}/bob", None),
    ):
        assert (await house.send(mine, method, path, body)).status_code == 403
    for path in ("sign-out", "second-factor/end"):
        assert (await house.send(mine, "POST", f"{people}/bob/{path}", {})).status_code == 404


async def test_a_person_whose_account_goes_while_the_password_is_compared_is_not_let_in(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    await make_person(house)
    match = Passwords.match

    async def lose(self: Passwords, password: str, stored: str) -> bool:
        matches = await match(self, password, stored)
        await house.service.people.remove(Principal(), "ada")
        return matches

    monkeypatch.setattr(Passwords, "match", lose)
    assert (await sign_in(house)).status_code == 401


async def test_an_account_stands_for_one_user_of_its_name_alone(house: House) -> None:
    await make_person(house)
    with pytest.raises(UnknownPerson):
        await house.service.people.sessions(Principal(user="eve"), "ada")
    session = (await sign_in(house)).cookies[COOKIE]
    found = await house.service.people.whose(session)
    assert isinstance(found, Person)
    assert found.name == "ada"
