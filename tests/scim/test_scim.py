"""An identity provider makes, changes and deactivates accounts and groups, and nothing else."""

import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import Status, check_server

from ragstone import build
from ragstone.core.errors import Conflict, UnknownPerson
from ragstone.core.turn import Principal
from ragstone.http.app import create_app
from ragstone.local import Ragstone
from ragstone.plugins.scim.contract import SCIM
from ragstone.service import IngestRequest
from ragstone.settings import Settings, load
from tests.credentials import a_key, bearer
from tests.e2e.processes import serving
from tests.patience import PATIENCE

TOKEN = "a-token-of-the-identity-provider-0123456789"
PROXY = "the-secret-of-the-proxy"
ME = Principal()
SELF = "/api/v1/keys/self"


@dataclass
class Provider:
    """An identity provider, with the server that it writes to."""

    service: Ragstone
    http: httpx2.AsyncClient

    async def send(
        self, method: str, path: str, body: Any = None, token: str = TOKEN
    ) -> httpx2.Response:
        return await self.http.request(method, f"/scim/v2{path}", json=body, headers=bearer(token))

    async def make(self, kind: str, **attributes: Any) -> str:
        """The id of a new user or group."""
        answer = await self.send("POST", f"/{kind}s", {**schemas(kind), **attributes})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    async def patch(self, path: str, *operations: dict[str, Any]) -> httpx2.Response:
        body = {
            "schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
            "Operations": operations,
        }
        return await self.send("PATCH", path, body)

    async def named_status(self, user: str, **headers: str) -> int:
        """The status of a request of whom a proxy names."""
        return (await self.named(user, **headers)).status_code

    async def named(self, user: str, **headers: str) -> httpx2.Response:
        named = {"x-proxy-secret": PROXY, "x-forwarded-user": user, **headers}
        return await self.http.get(SELF, headers=named)


def schemas(kind: str) -> dict[str, Any]:
    return {"schemas": [f"urn:ietf:params:scim:schemas:core:2.0:{kind}"]}


def find_settings(folder: Path, **given: Any) -> Settings:
    return load(
        **{
            "ragstone_data": folder / "data",
            "scim.token": TOKEN,
            "auth.proxy_secret": SecretStr(PROXY),
            "limits.requests_per_minute": 0,
            **given,
        }
    )


@asynccontextmanager
async def opened(folder: Path, **given: Any) -> AsyncIterator[Provider]:
    settings = find_settings(folder, **given)
    async with build.open(settings) as service:
        transport = httpx2.ASGITransport(create_app(service, settings, "operator"))
        async with httpx2.AsyncClient(
            transport=transport, base_url="http://127.0.0.1", timeout=PATIENCE
        ) as http:
            yield Provider(service, http)


@pytest.fixture
async def provider(tmp_path: Path) -> AsyncIterator[Provider]:
    async with opened(tmp_path) as made:
        yield made


@pytest.mark.slow
def test_scim2_tester_finds_nothing_wrong(tmp_path: Path) -> None:
    with (
        serving(tmp_path / "data", SCIM__TOKEN=TOKEN) as url,
        httpx2.Client(base_url=f"{url}/scim/v2", headers=bearer(TOKEN), timeout=PATIENCE) as http,
    ):
        results = check_server(SyncSCIMClient(http))

    wrong = [f"{result.title}: {result.reason}" for result in results if not passes(result)]
    assert wrong == []
    assert Counter(result.status for result in results)[Status.SUCCESS] >= 70


def passes(result: Any) -> bool:
    return bool(result.status == Status.SUCCESS)


class TestDeactivation:
    @pytest.mark.parametrize(
        "operation",
        [
            {"op": "replace", "path": "active", "value": False},
            {"op": "Replace", "path": "active", "value": "False"},
            {"op": "replace", "value": {"active": False}},
        ],
        ids=["standard", "entra", "okta"],
    )
    async def test_it_ends_keys_and_tokens_at_once(
        self, provider: Provider, operation: dict[str, Any]
    ) -> None:
        id = await provider.make("User", userName="ada", active=True)
        key = bearer(await a_key(provider.service, "reader", "default", "ada"))
        other = bearer(await a_key(provider.service, "reader", "default", "bob"))
        assert await provider.named_status("ada") == 200
        assert (await provider.http.get(SELF, headers=key)).status_code == 200

        answer = await provider.patch(f"/Users/{id}", operation)

        assert answer.status_code == 200, answer.text
        assert answer.json()["active"] is False
        assert await provider.named_status("ada") == 401
        # Another spelling is the same user.
        assert await provider.named_status("ADA") == 401
        assert (await provider.http.get(SELF, headers=key)).status_code == 401
        assert (await provider.http.get(SELF, headers=other)).status_code == 200

    async def test_who_is_active_again_comes_in_but_old_keys_do_not(
        self, provider: Provider
    ) -> None:
        id = await provider.make("User", userName="ada", active=True)
        key = bearer(await a_key(provider.service, "reader", "default", "ada"))
        for active in (False, True):
            change = {"op": "replace", "path": "active", "value": active}
            await provider.patch(f"/Users/{id}", change)
        assert await provider.named_status("ada") == 200
        assert (await provider.http.get(SELF, headers=key)).status_code == 401

    async def test_a_replacement_that_says_nothing_of_it_lets_nobody_in(
        self, provider: Provider
    ) -> None:
        id = await provider.make("User", userName="ada", active=False)
        answer = await provider.send("PUT", f"/Users/{id}", {**schemas("User"), "userName": "ada"})
        assert answer.status_code == 200, answer.text
        assert await provider.named_status("ada") == 401

    async def test_a_deleted_user_has_no_keys_and_its_id_is_nobodys(
        self, provider: Provider
    ) -> None:
        id = await provider.make("User", userName="ada")
        key = bearer(await a_key(provider.service, "reader", "default", "ada"))

        assert (await provider.send("DELETE", f"/Users/{id}")).status_code == 204

        assert (await provider.http.get(SELF, headers=key)).status_code == 401
        assert (await provider.send("GET", f"/Users/{id}")).status_code == 404
        again = await provider.make("User", userName="ada")
        assert again != id
        assert (await provider.send("GET", f"/Users/{id}")).status_code == 404
        assert (await provider.send("DELETE", f"/Users/{id}")).status_code == 404


class TestRights:
    async def test_documents_for_a_group_are_read_by_who_is_in_it_now(
        self, provider: Provider, tmp_path: Path
    ) -> None:
        file = tmp_path / "pay.md"
        file.write_text("# Pay\n\nThe pay of Bob Zebra is 71234 euros.\n")
        request = IngestRequest((str(file),), allowed=("group:hr",))
        async for step in provider.service.ingest(request):
            assert not step.failed
        ada = await provider.make("User", userName="ada")
        hr = await provider.make("Group", displayName="hr", members=[{"value": ada}])

        assert await sees(provider, "ada")
        await provider.patch(
            f"/Groups/{hr}", {"op": "remove", "path": f'members[value eq "{ada}"]'}
        )
        assert not await sees(provider, "ada")
        # As Entra adds and removes members.
        await provider.patch(
            f"/Groups/{hr}", {"op": "Add", "path": "members", "value": [{"value": ada}]}
        )
        assert await sees(provider, "ada")
        await provider.patch(
            f"/Groups/{hr}", {"op": "Remove", "path": "members", "value": [{"value": ada}]}
        )
        assert not await sees(provider, "ada")
        await provider.patch(f"/Groups/{hr}", {"op": "add", "value": {"members": [{"value": ada}]}})
        assert await sees(provider, "ada")
        assert (await provider.send("DELETE", f"/Groups/{hr}")).status_code == 204
        assert not await sees(provider, "ada")

    async def test_a_token_has_the_accounts_rights_and_reaches_no_more_than_it_says(
        self, provider: Provider
    ) -> None:
        await provider.make("User", userName="ada", roles=[{"value": "editor"}])
        named = {"x-forwarded-groups": "board", "x-forwarded-role": "admin"}

        told = (await provider.named("ada", **named)).json()
        within = (await provider.named("ada", **{"x-forwarded-collections": "manuals"})).json()

        assert (told["role"], told["groups"], told["collections"]) == ("editor", [], None)
        assert within["collections"] == ["manuals"]

    async def test_a_role_that_is_taken_away_is_gone_and_one_given_here_stays(
        self, provider: Provider
    ) -> None:
        id = await provider.make("User", userName="ada", roles=[{"value": "admin"}])
        await provider.patch(f"/Users/{id}", {"op": "remove", "path": "roles"})
        assert (await provider.named("ada")).json()["role"] == "reader"

        await provider.service.people.change(ME, "ada", role="editor")
        await provider.patch(
            f"/Users/{id}", {"op": "replace", "path": "displayName", "value": "Ada"}
        )
        assert (await provider.named("ada")).json()["role"] == "editor"

    async def test_accounts_that_were_made_here_are_not_the_providers(
        self, provider: Provider
    ) -> None:
        await provider.service.people.invite(ME, "root", role="admin", groups=("hr",))
        await provider.make("Group", displayName="hr")

        taken = await provider.send(
            "POST", "/Users", {**schemas("User"), "userName": "Root", "active": False}
        )

        assert taken.status_code == 409
        assert taken.json()["scimType"] == "uniqueness"
        assert (await provider.send("GET", "/Users")).json()["totalResults"] == 0
        [group] = (await provider.send("GET", "/Groups")).json()["Resources"]
        assert "members" not in group
        view = await provider.service.people.show(ME, "root", admin=True)
        assert (view.role, view.active, view.groups) == ("admin", True, ("hr",))

    async def test_a_provisioned_account_gets_no_password_here(self, provider: Provider) -> None:
        await provider.make("User", userName="ada")
        with pytest.raises(Conflict, match="no password here"):
            await provider.service.people.invite(ME, "ada")

    async def test_a_users_rights_and_those_of_a_plain_model_are_equal_after_any_history(
        self, provider: Provider
    ) -> None:
        for seed in range(20):
            await History(provider, random.Random(seed)).run()


async def sees(provider: Provider, user: str) -> bool:
    """Whether a search of whom a proxy names finds the pay."""
    body = {"query": "the pay of Bob Zebra"}
    headers = {"x-proxy-secret": PROXY, "x-forwarded-user": user}
    found = await provider.http.post("/v1/vector_stores/default/search", json=body, headers=headers)
    assert found.status_code == 200, found.text
    return "71234" in found.text


class History:
    """What a provider may do, by chance, and what a plain model says of it."""

    def __init__(self, provider: Provider, chance: random.Random) -> None:
        self._provider = provider
        self._chance = chance
        self._users: dict[str, tuple[str, bool]] = {}
        self._groups: dict[str, tuple[str, set[str]]] = {}

    async def run(self) -> None:
        steps = [
            self._create,
            self._group,
            self._join,
            self._leave,
            self._activate,
            self._rename,
            self._remove,
            self._drop,
        ]
        for _ in range(25):
            await self._chance.choice(steps)()
            await self._compare()
        for id, _active in self._users.values():
            await self._provider.send("DELETE", f"/Users/{id}")
        for id, _members in self._groups.values():
            await self._provider.send("DELETE", f"/Groups/{id}")

    def _choose(self, known: dict[str, Any]) -> str | None:
        return self._chance.choice(sorted(known)) if known else None

    async def _create(self) -> None:
        name = self._chance.choice("abcd")
        if name not in self._users:
            self._users[name] = (await self._provider.make("User", userName=name), True)

    async def _group(self) -> None:
        name = self._chance.choice("xyz")
        if name not in self._groups:
            chosen = {user for user in self._users if self._chance.random() < 0.5}
            members = [{"value": self._users[user][0]} for user in chosen]
            made = await self._provider.make("Group", displayName=name, members=members)
            self._groups[name] = (made, chosen)

    async def _join(self) -> None:
        await self._change_member("add")

    async def _leave(self) -> None:
        await self._change_member("remove")

    async def _change_member(self, op: str) -> None:
        user, group = self._choose(self._users), self._choose(self._groups)
        if user and group:
            id, members = self._groups[group]
            value = [{"value": self._users[user][0]}]
            await self._provider.patch(
                f"/Groups/{id}", {"op": op, "path": "members", "value": value}
            )
            (members.add if op == "add" else members.discard)(user)

    async def _activate(self) -> None:
        if user := self._choose(self._users):
            id, active = self._users[user]
            self._users[user] = (id, not active)
            change = {"op": "replace", "path": "active", "value": not active}
            await self._provider.patch(f"/Users/{id}", change)

    async def _rename(self) -> None:
        new = self._chance.choice("xyz")
        if old := self._choose(self._groups):
            change = {"op": "replace", "path": "displayName", "value": new}
            done = await self._provider.patch(f"/Groups/{self._groups[old][0]}", change)
            assert done.status_code == (409 if new in self._groups and new != old else 200)
            if done.status_code == 200:
                self._groups[new] = self._groups.pop(old)

    async def _remove(self) -> None:
        if user := self._choose(self._users):
            await self._provider.send("DELETE", f"/Users/{self._users.pop(user)[0]}")
            for _id, members in self._groups.values():
                members.discard(user)

    async def _drop(self) -> None:
        if group := self._choose(self._groups):
            await self._provider.send("DELETE", f"/Groups/{self._groups.pop(group)[0]}")

    async def _compare(self) -> None:
        people = {view.name: view for view in await self._provider.service.people.list(ME)}
        assert set(people) == set(self._users)
        for name, (_id, active) in self._users.items():
            assert people[name].active == active
            wanted = {group for group, (_, members) in self._groups.items() if name in members}
            assert set(people[name].groups) == wanted, name
        told = (await self._provider.send("GET", "/Groups")).json().get("Resources", [])
        assert {group["displayName"] for group in told} == set(self._groups)


class TestListings:
    @pytest.mark.parametrize(
        ("asked", "wanted"),
        [
            ('userName eq "ADA"', ["ada"]),
            ('userName eq "nobody"', []),
            ('userName eq "root"', []),
            ('externalId eq "e-2"', ["bob"]),
            ('displayName co "love" or userName sw "b"', ["ada", "bob"]),
            ('emails[type eq "work" and value ew "@x.org"]', ["ada"]),
            ("active eq false", ["bob"]),
            ('not (userName eq "ada")', ["bob"]),
        ],
    )
    async def test_a_filter_finds_users(
        self, provider: Provider, asked: str, wanted: list[str]
    ) -> None:
        await provider.service.people.invite(ME, "root")
        work = [{"type": "work", "value": "ada@x.org"}]
        await provider.make("User", userName="ada", displayName="Ada Lovelace", emails=work)
        await provider.make("User", userName="bob", externalId="e-2", active=False)

        found = await provider.http.get(
            "/scim/v2/Users", params={"filter": asked}, headers=bearer(TOKEN)
        )

        assert found.status_code == 200, found.text
        told = found.json()
        assert [item["userName"] for item in told.get("Resources", [])] == wanted
        assert told["totalResults"] == len(wanted)

    async def test_pages_together_are_the_whole_in_order(self, provider: Provider) -> None:
        names = [f"u{number:02}" for number in range(7)]
        for name in names:
            await provider.make("User", userName=name)
        found: list[str] = []
        for start in (1, 4, 7):
            path = f"/Users?startIndex={start}&count=3&sortBy=userName&attributes=userName"
            page = (await provider.send("GET", path)).json()
            assert page["totalResults"] == 7
            assert all("displayName" not in item for item in page["Resources"])
            found += [item["userName"] for item in page["Resources"]]
        assert found == names


class TestBadInput:
    @pytest.mark.parametrize("token", ["", "wrong", TOKEN + "x"])
    async def test_without_the_token_nothing_is_told(self, provider: Provider, token: str) -> None:
        for path in ("/Users", "/Groups", "/Schemas", "/nothing"):
            answer = await provider.send("GET", path, token=token)
            assert answer.status_code == 401
            assert answer.json()["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"]

    async def test_the_token_opens_nothing_else_and_no_other_credential_opens_this(
        self, provider: Provider
    ) -> None:
        key = await a_key(provider.service, "admin", "default", "eva")
        assert (await provider.http.get(SELF, headers=bearer(TOKEN))).status_code == 401
        assert (await provider.send("GET", "/Users", token=key)).status_code == 401
        assert (await provider.send("GET", "/Users", token="operator")).status_code == 401

    @pytest.mark.parametrize(
        ("attributes", "kind"),
        [
            ({}, "User"),
            ({"userName": ""}, "User"),
            ({"userName": "ad a"}, "User"),
            ({"userName": "аda"}, "User"),
            ({"userName": "x" * 101}, "User"),
            ({"userName": "operator"}, "User"),
            ({"userName": 7}, "User"),
            ({"userName": "ada", "displayName": "A\u202eda"}, "User"),
            ({"userName": "ada", "active": "perhaps"}, "User"),
            ({"userName": "ada", "emails": "ada@x.org"}, "User"),
            ({"displayName": " "}, "Group"),
            ({"displayName": "x" * 256}, "Group"),
            ({"displayName": "hr", "members": [{"value": "nobody"}]}, "Group"),
            ({"displayName": "hr", "members": [{}]}, "Group"),
        ],
    )
    async def test_a_wrong_resource_is_refused_and_nothing_is_made(
        self, provider: Provider, attributes: dict[str, Any], kind: str
    ) -> None:
        answer = await provider.send("POST", f"/{kind}s", {**schemas(kind), **attributes})
        assert answer.status_code == 400, answer.text
        assert answer.json()["status"] == "400"
        assert await provider.service.people.list(ME) == []
        assert await SCIM.of(provider.service).groups("default") == []

    @pytest.mark.parametrize(
        ("method", "path", "body"),
        [
            ("POST", "/Users", b"{"),
            ("POST", "/Users", b"[]"),
            ("POST", "/Users", b"[" * 100_000),
            ("POST", "/Users", b'{"schemas": []}'),
            ("GET", "/Users?filter=userName%20eq", None),
            ("GET", "/Users?filter=shoeSize%20eq%207", None),
            ("GET", "/Users?filter=" + "(" * 500, None),
            ("GET", "/Users?count=many", None),
            ("GET", "/Users?sortBy=shoeSize", None),
        ],
    )
    async def test_a_wrong_request_is_400(
        self, provider: Provider, method: str, path: str, body: bytes | None
    ) -> None:
        answer = await provider.http.request(
            method, f"/scim/v2{path}", content=body, headers=bearer(TOKEN)
        )
        assert answer.status_code == 400, answer.text
        assert answer.json()["status"] == "400"

    async def test_a_name_is_one_user_for_good(self, provider: Provider) -> None:
        id = await provider.make("User", userName="ada")
        other = await provider.send("POST", "/Users", {**schemas("User"), "userName": "ADA"})
        assert (other.status_code, other.json()["scimType"]) == (409, "uniqueness")
        renamed = await provider.patch(
            f"/Users/{id}", {"op": "replace", "path": "userName", "value": "root"}
        )
        assert (renamed.status_code, renamed.json()["scimType"]) == (400, "mutability")

    async def test_what_is_not_kept_is_passed_over(self, provider: Provider) -> None:
        enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
        answer = await provider.send(
            "POST",
            "/Users",
            {
                "schemas": [*schemas("User")["schemas"], enterprise],
                "userName": "ada",
                "password": "never kept",
                "title": "Countess",
                "phoneNumbers": [{"value": "1"}],
                enterprise: {"department": "Engines"},
            },
        )
        assert answer.status_code == 201, answer.text
        assert "Countess" not in answer.text
        assert "never kept" not in repr(await provider.service.people.list(ME))

    async def test_a_patch_that_fails_changes_nothing(self, provider: Provider) -> None:
        id = await provider.make("User", userName="ada", displayName="Ada")
        answer = await provider.patch(
            f"/Users/{id}",
            {"op": "replace", "path": "displayName", "value": "Eva"},
            {"op": "replace", "path": "userName", "value": "eva"},
        )
        assert answer.status_code == 400
        assert (await provider.send("GET", f"/Users/{id}")).json()["displayName"] == "Ada"


async def test_without_a_token_there_is_no_scim(tmp_path: Path) -> None:
    async with opened(tmp_path, **{"scim.token": ""}) as provider:
        key = await a_key(provider.service, "admin", "default", "eva")
        assert (await provider.send("GET", "/Users", token=key)).status_code == 404


async def test_another_tenants_accounts_are_out_of_reach(provider: Provider) -> None:
    await provider.service.people.provide(Principal("acme"), "ada", "provisioned")
    assert (await provider.send("GET", "/Users")).json()["totalResults"] == 0
    await provider.make("User", userName="ada")
    [only] = (await provider.send("GET", "/Users")).json()["Resources"]
    await provider.send("DELETE", f"/Users/{only['id']}")
    assert (await provider.service.people.show(Principal("acme"), "ada", admin=True)).active
    with pytest.raises(UnknownPerson):
        await provider.service.people.show(ME, "ada", admin=True)
