"""Requests over HTTP in the audit trail: who signs in, what is refused, and who sees whose."""

import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pyotp
import pytest

from ragstone import build
from ragstone.access.asking import ASKING
from ragstone.core.caller import LOCAL, NOBODY, SCHEDULE
from ragstone.core.turn import Principal
from ragstone.http.app import create_app
from ragstone.local import Ragstone
from ragstone.plugins.audit import trail
from ragstone.plugins.audit.contract import AUDIT
from ragstone.plugins.audit.event import AuditEvent
from ragstone.plugins.audit.events import Subject, make_event
from ragstone.settings import load
from tests.credentials import a_key, bearer

PASSWORD = "four words by chance"
TOKEN = "a-token-of-the-data-directory-with-43-letters"


@dataclass
class Site:
    service: Ragstone
    client: httpx2.AsyncClient
    folder: Path

    def read_files(self) -> str:
        """All that was written."""
        return "".join(file.read_text() for file in sorted(self.folder.iterdir()))

    async def events(self, tenant: str = "default", **wanted: Any) -> list[AuditEvent]:
        """What was recorded, the last one last, without these looks at it."""
        ASKING.set(LOCAL)  # The requests of a test are in its context.
        page = await AUDIT.of(self.service).events(tenant, **wanted)
        return [event for event in reversed(page.events) if event.operation != "audit.events"]


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    settings = load(
        ragstone_data=str(tmp_path / "data"), **{"audit.folder": str(tmp_path / "trail")}
    )
    async with build.open(settings) as service:
        app = create_app(service, settings, "operators", local_token=TOKEN)
        transport = httpx2.ASGITransport(app, client=("192.0.2.7", 1234))
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            yield Site(service, client, tmp_path / "trail")


async def test_the_local_user_signs_in_and_another_token_is_refused(site: Site) -> None:
    await site.client.get(f"/login?token={TOKEN}")
    await site.client.get("/login?token=wrong", headers={"accept": "text/html"})
    await site.client.post("/sign-out")

    events = await site.events()
    assert [(e.kind, e.outcome, e.user, e.address) for e in events] == [
        ("sign-in", "allowed", "local", "192.0.2.7"),
        ("sign-in", "refused", "", "192.0.2.7"),
        ("sign-out", "allowed", "", "192.0.2.7"),
    ]


async def test_an_unknown_key_is_a_refused_sign_in_and_a_missing_role_a_refused_request(
    site: Site,
) -> None:
    key = await a_key(site.service, "reader", user="eva")

    await site.client.get("/api/v1/audit", headers=bearer(key))
    await site.client.post("/local/call/people.change", json={}, headers=bearer(key))
    await site.client.get("/api/v1/collections", headers=bearer(key[:-4] + "AAAA"))

    made, forbidden, call, unknown = await site.events()
    assert (made.kind, made.operation) == ("change", "keys.create")
    assert key not in made.what
    assert (forbidden.kind, forbidden.user, forbidden.outcome) == ("request", "eva", "refused")
    assert forbidden.operation == "GET /api/v1/audit"
    assert call.operation == "POST /local/call/people.change"
    assert (unknown.kind, unknown.user, unknown.detail) == ("sign-in", "", "401")


async def test_an_admin_sees_the_own_tenants_events_and_that_is_recorded(site: Site) -> None:
    admin = await a_key(site.service, "admin", "acme", "bob")
    other = await a_key(site.service, "admin", "default", "ada")
    question = {"model": "ragstone", "messages": [{"role": "user", "content": "Where is it?"}]}
    answer = await site.client.post("/v1/chat/completions", json=question, headers=bearer(other))
    assert answer.status_code in (200, 404)

    first = (await site.client.get("/api/v1/audit", headers=bearer(admin))).json()
    second = (await site.client.get("/api/v1/audit", headers=bearer(admin))).json()

    assert {event["user"] for event in first["events"]} <= {"bob", "local"}
    assert second["events"][0]["operation"] == "audit.events"
    assert second["events"][0]["user"] == "bob"
    asked = await site.events(user="ada", kind="ask")
    assert [event.operation for event in asked] == ["ask"]
    refused = await site.client.get("/api/v1/audit?tenant=default", headers=bearer(admin))
    assert refused.status_code == 403


async def test_no_trail_says_how_to_get_one(tmp_path: Path) -> None:
    settings = load(ragstone_data=str(tmp_path / "data"))
    async with build.open(settings) as service:
        app = create_app(service, settings, "operators")
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            answer = await client.get("/api/v1/audit")

    assert answer.status_code == 400
    assert "AUDIT__FOLDER" in answer.text


SAME_ORIGIN = {"sec-fetch-site": "same-origin"}


async def sign_in(site: Site, name: str, password: str) -> int:
    body = {"name": name, "password": password}
    answer = await site.client.post("/sign-in-password", json=body, headers=SAME_ORIGIN)
    return answer.status_code


async def make_account(site: Site, name: str, password: str) -> None:
    secret = (await site.service.people.invite(Principal(), name, role="admin")).secret
    body = {"secret": secret, "password": password}
    answer = await site.client.post("/sign-in-invitation", json=body, headers=SAME_ORIGIN)
    assert answer.status_code == 200
    site.client.cookies.clear()


async def test_who_signs_in_with_a_password_is_named_and_the_password_is_not(site: Site) -> None:
    await make_account(site, "ada", PASSWORD)

    assert await sign_in(site, "ADA", "wrong " + PASSWORD) == 401
    assert await sign_in(site, "ADA", PASSWORD) == 200

    events = await site.events(kind="sign-in")
    assert [(e.operation, e.user, e.outcome, e.key, e.address) for e in events] == [
        ("people.accept", "ada", "allowed", "person:default:ada", "192.0.2.7"),
        ("people.sign_in", "ada", "refused", "", "192.0.2.7"),
        ("people.sign_in", "ada", "allowed", "person:default:ada", "192.0.2.7"),
    ]
    assert PASSWORD not in site.read_files()


async def test_a_password_that_lacks_the_code_is_told_apart(site: Site) -> None:
    await make_account(site, "ada", PASSWORD)
    people, ada = site.service.people, Principal("default", "ada")
    factor = await people.begin_second_factor(ada, "ada", PASSWORD)
    code = pyotp.TOTP(factor.secret).now()
    await people.set_second_factor(ada, "ada", PASSWORD, factor.secret, code)

    await sign_in(site, "ada", PASSWORD)

    assert (await site.events(kind="sign-in"))[-1].detail == "code_needed"
    on = (await site.events(kind="change", about="ada"))[-1]
    assert (on.operation, on.user, on.what) == ("people.set_second_factor", "ada", "User ada")
    assert factor.secret not in site.read_files()


async def test_rights_that_an_account_is_given_are_told(site: Site) -> None:
    await site.service.people.invite(Principal(), "ada", role="editor", groups=["hr", "staff"])

    [event] = await site.events(kind="change")
    assert event.what == "User ada, role editor, group hr, group staff"


async def test_an_erased_user_is_no_longer_named_in_what_others_did(site: Site) -> None:
    people, admin = site.service.people, Principal()
    for name in ("ada", "adam"):
        await people.invite(admin, name, groups=["hr"])
    await a_key(site.service, user="ada")
    for _ in range(3):
        await sign_in(site, "ada", "wrong")
    await site.events(user="ada")
    await people.remove(admin, "ADA")

    await site.service.conversations.forget(Principal("default", "ada"))

    assert '"ada"' not in site.read_files()
    assert '"adam"' in site.read_files()
    erased = [event.what for event in await site.events() if "erased-" in event.what]
    assert len(erased) == 3
    assert len({what.partition("erased-")[2][:12] for what in erased}) == 1


async def test_refusals_without_a_credential_are_counted_and_do_not_fill_the_disk(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = await a_key(site.service, user="eva")
    minute = time.time() // 60 * 60
    monkeypatch.setattr(trail.time, "time", lambda: minute)

    for n in range(50):
        await site.client.get("/api/v1/collections", headers=bearer(f"{key[:-4]}{n:04d}"))
        await site.client.post("/sign-in-password", json={"name": f"{n}", "password": "x"})
    refused = await site.events(outcome="refused")
    monkeypatch.setattr(trail.time, "time", lambda: minute + 60)
    counted = await site.events(outcome="refused")

    assert [(e.kind, e.count) for e in refused] == [("sign-in", 1), ("request", 1)]
    assert [(e.kind, e.count) for e in counted[2:]] == [("sign-in", 49), ("request", 49)]


async def test_refusals_from_very_many_addresses_are_counted_too(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trail, "MAX_REPEATED", 3)
    monkeypatch.setattr(trail.time, "time", lambda: 60.0)
    written = trail.find_trail(site.service._adapters)

    for n in range(10):
        who = Subject(NOBODY, Principal("default", ""), f"192.0.2.{n}")
        await written.write(make_event("sign-in", "GET /", who, "refused", "401"))

    lines = [json.loads(line) for line in site.read_files().splitlines()]
    assert [line["src_endpoint"].get("ip", "") for line in lines] == [
        "192.0.2.0",
        "192.0.2.1",
        "192.0.2.2",
        "",
    ]


async def test_a_sync_that_its_schedule_begins_is_recorded(site: Site, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    options = {"path": str(tmp_path / "files")}
    admin = Principal()
    await site.service.sources.add(
        admin, "manuals", "folder", options=options, every=3600, operator=True
    )

    await site.service.sources.begin_due()

    [event] = await site.events(user=SCHEDULE)
    assert (event.operation, event.what) == ("sources.sync", "sources manuals")
