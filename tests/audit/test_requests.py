"""Requests over HTTP in the audit trail: who signs in, what is refused, and who sees whose."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from ragstone import build
from ragstone.access.asking import ASKING
from ragstone.core.caller import LOCAL
from ragstone.http.app import create_app
from ragstone.local import Ragstone
from ragstone.plugins.audit.contract import AUDIT, AuditEvent
from ragstone.settings import load
from tests.credentials import a_key, bearer

TOKEN = "a-token-of-the-data-directory-with-43-letters"


@dataclass
class Site:
    service: Ragstone
    client: httpx2.AsyncClient

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
            yield Site(service, client)


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
    await site.client.get("/api/v1/collections", headers=bearer(key[:-4] + "AAAA"))

    made, forbidden, unknown = await site.events()
    assert (made.kind, made.operation) == ("change", "keys.create")
    assert key not in made.what
    assert (forbidden.kind, forbidden.user, forbidden.outcome) == ("request", "eva", "refused")
    assert forbidden.operation == "GET /api/v1/audit"
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
