"""A real Plone site behind every dialect: who finds what, visitors, events and answers that end."""

import asyncio
import json
import os
import random
import re
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from pydantic import SecretStr

from ragstone import build
from ragstone.core.turn import Principal
from ragstone.http.app import create_app
from ragstone.local import Ragstone
from ragstone.plugins.plone.client import PloneClient
from ragstone.plugins.plone.settings import PloneSettings
from ragstone.plugins.plone.site import EVENT_SECONDS, SIGNATURE, TIMESTAMP, sign
from ragstone.plugins.plone.sync import PloneSync
from ragstone.settings import AuthSettings, LimitSettings, Settings
from tests.credentials import a_key, bearer
from tests.patience import PATIENCE
from tests.plone.editors import Editors
from tests.plone.inside import word
from tests.plone.proxy import before
from tests.plone.site import PASSWORD, USERS, PloneSite

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(3600)]

TYPES = ("Document", "News Item", "Event", "Link", "File", "Image", "Collection", "Folder")
EVERY = int(os.environ.get("RAGSTONE_PLONE_OBJECTS", "0")) or 6
"""Each of so many objects is asked for; RAGSTONE_PLONE_OBJECTS=1 is every one."""
SECRET = b"shared secret"


def bodies(question: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """The question in every dialect."""
    messages = [{"role": "user", "content": question}]
    call = {"name": "search", "arguments": {"query": question}}
    return {
        "plone": ("/Plone/@rag-ask", {"question": question}),
        "openai": ("/v1/chat/completions", {"model": "ragstone", "messages": messages}),
        "chat_core": ("/v2/rag/query", {"query": question}),
        "pipeline": ("/api/v1/chat/completions", {"message": question, "strategy": "hybrid"}),
        "rag_v1": ("/api/v1/rag/generate", {"query": question}),
        "chats": ("/chat/site/stream", {"message": question}),
        "retrieval": ("/api/v1/retrieval/retrieve", {"query": question}),
        "mcp": ("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}),
    }


class World:
    """A server whose default collection is the site, and a key for each of the site's users."""

    def __init__(
        self, plone: PloneSite, ragstone: Ragstone, http: httpx.AsyncClient, settings: Settings
    ) -> None:
        self.plone = plone
        self.ragstone = ragstone
        self.http = http
        self.settings = settings
        self.headers: dict[str, dict[str, str]] = {"": {}}

    async def synced(self) -> None:
        """Chats have collections of their own: that of the chat `site` has the site too."""
        for collection in ("default", "chat_site"):
            site = self.settings.plone.model_copy(update={"collection": collection})
            async with aclosing(PloneClient(site)) as client:
                run = PloneSync(self.ragstone, client, site, self.settings.ragstone_data).run()
                done = [step async for step in run][-1]
            assert done.failed == ()

    async def introduce(self) -> None:
        for user in USERS:
            groups = (*self.plone.groups_of(user), "Authenticated")
            self.headers[user] = bearer(
                await a_key(self.ragstone, "reader", user=user, groups=groups)
            )

    async def ask(self, user: str, question: str) -> Any:
        """What Plone's own way of asking ends with."""
        asked = await self.http.post(
            "/Plone/@rag-ask", json={"question": question}, headers=self.headers[user]
        )
        found = asked.json()
        while found["status"] == "pending":
            await asyncio.sleep(0.02)
            found = await self.poll(user, found["job_id"])
        return found

    async def response(self, user: str, dialect: str, question: str) -> str:
        """All that is said to a question in a dialect."""
        if dialect == "plone":
            return json.dumps(await self.ask(user, question), ensure_ascii=False)
        path, body = bodies(question)[dialect]
        headers = {**self.headers[user], "accept": "application/json, text/event-stream"}
        response = await self.http.post(path, json=body, headers=headers)
        assert response.status_code == 200, (dialect, response.text)
        return response.text

    async def poll(self, user: str, job: str) -> Any:
        query = {"job_id": job}
        headers = self.headers[user]
        return (await self.http.get("/Plone/@rag-ask", params=query, headers=headers)).json()

    async def event(self, event: str, uid: str) -> Any:
        response = await self.send(signed(event, uid))
        assert response.status_code == 200, response.text
        return response.json()

    async def send(self, event: dict[str, Any]) -> httpx.Response:
        return await self.http.post("/plone/webhook", **event)

    async def documents(self, user: str, below: str) -> set[str]:
        """The paths of what a user may read there."""
        found = await self.ragstone.documents(as_plone(self, user), "default", limit=5000)
        return {text.path for text in found if text.version and text.path.startswith(below)}

    async def is_as_plone(self, user: str, below: str) -> bool:
        shown = self.plone.found_by(user, portal_type=list(TYPES)).values()
        return await self.documents(user, below) == {
            item for item in shown if item.startswith(below)
        }


def signed(event: str, uid: str, age: float = 0.0) -> dict[str, Any]:
    """An event as the site sends it, so many seconds ago."""
    body = json.dumps({"event": event, "uid": uid, "id": uuid.uuid4().hex}).encode()
    stamp = str(int(time.time() - age))
    return {"content": body, "headers": {TIMESTAMP: stamp, SIGNATURE: sign(SECRET, stamp, body)}}


OPEN = AuthSettings(required=False)


@asynccontextmanager
async def a_world(
    plone: PloneSite,
    data: Path,
    auth: AuthSettings = OPEN,
    anonymous: bool = False,
    url: str = "",
) -> AsyncIterator[World]:
    site = PloneSettings(
        url=url or plone.url,
        token=SecretStr(f"sync:{PASSWORD}"),
        content_types=TYPES,
        collection="default",
        webhook_secret=SecretStr(SECRET.decode()),
        anonymous=anonymous,
    )
    limits = LimitSettings(requests_per_minute=0)
    settings = Settings(ragstone_data=data, plone=site, limits=limits, auth=auth)
    async with build.open(settings) as ragstone:
        app = create_app(ragstone, settings, "operators-token")
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(
                transport=transport, base_url="http://127.0.0.1", timeout=PATIENCE
            ) as http,
        ):
            world = World(plone, ragstone, http, settings)
            await world.synced()
            await world.introduce()
            yield world


@pytest.fixture(autouse=True)
def no_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragstone.plugins.plone.client.RETRIES", 0)


@pytest.fixture
async def world(plone: PloneSite, tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(plone, tmp_path / "data") as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(
    plone: PloneSite, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[World]:
    async with a_world(plone, tmp_path_factory.mktemp("shared")) as made:
        yield made


def last_part(path: str) -> str:
    return path.rpartition("/")[2]


def echoless(text: str, question: str) -> str:
    """A response without the words of the question, which is told in them what is missing."""
    return re.sub(r'"missing_aspects":\s*\[[^]]*\]', "", text.replace(question, ""))


async def test_given_every_object_caller_and_dialect_then_found_is_what_plone_shows(
    world: World,
) -> None:
    """Nothing that Plone hides is found, by any word of a response; what it shows is found, by a
    question that only this object answers."""
    plone = world.plone
    query = {"b_size": 5000, "metadata_fields": "UID", "portal_type": list(TYPES)}
    titles = {item["UID"]: item["title"] for item in plone.ask("GET", "/@search", **query)["items"]}
    everything = plone.found_by("sync", portal_type=list(TYPES))
    # Some dialects name a document by its title, others by the name of its file.
    told = {uid: (title, f'"{last_part(everything[uid])}"') for uid, title in titles.items()}
    visible = {user: plone.found_by(user, portal_type=list(TYPES)) for user in world.headers}
    asked = sorted(everything, key=everything.__getitem__)[::EVERY]
    cells, wider, narrower = 0, [], []
    for uid in asked:
        code = word(last_part(everything[uid]))
        question = f"{titles[uid]}: what does the code word {code} open?"
        for user in world.headers:
            for dialect in bodies(""):
                cells += 1
                text = echoless(await world.response(user, dialect, question), question)
                found = {item for item in titles if any(name in text for name in told[item])}
                cell = (everything[uid], user or "a visitor", dialect, text[:600])
                hidden = {titles[item] for item in found - visible[user].keys()}
                wider += [(*cell[:3], hidden, text)] if hidden else []
                narrower += [cell] if uid in visible[user].keys() - found else []
    print(
        f"{len(asked)} of {len(everything)} objects x {len(world.headers)} callers x "
        f"{len(bodies(''))} dialects: {cells} cells, {len(wider)} show more than Plone, "
        f"{len(narrower)} less"
    )
    assert not wider, wider[:3]
    assert not narrower, (
        Counter(cell[2] for cell in narrower),
        sorted({cell[:1] + cell[2:3] for cell in narrower}),
        narrower[:2],
    )


async def until(what: str, condition: Callable[[], Awaitable[bool]], seconds: float = 60) -> None:
    for _ in range(int(seconds / 0.1)):
        if await condition():
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"it did not happen: {what}")


def paths_in(found: Any) -> set[str]:
    return {item["path"] for item in found["sources"]}


async def test_given_keys_then_visitors_of_the_site_ask_where_that_is_set_and_nowhere_else(
    plone: PloneSite, tmp_path: Path
) -> None:
    auth = AuthSettings()
    async with a_world(plone, tmp_path / "data", auth=auth) as world:
        refused = await world.http.post("/Plone/@rag-ask", json={"question": "Which pier?"})
        assert (refused.status_code, refused.json()["type"]) == (401, "Unauthorized")
    async with a_world(plone, tmp_path / "data", auth=auth, anonymous=True) as world:
        found = await world.ask("", "How many cranes has pier 3?")
        assert "/en/page-3" in paths_in(found)
        assert paths_in(found) <= set(plone.found_by("").values())
        closed = f"What does the code word {word('plan-2')} open?"
        assert "/en/team-room/plan-2" not in paths_in(await world.ask("", closed))
        assert "/en/team-room/plan-2" in paths_in(await world.ask("ann", closed))
        body = {"question": closed, "sync": True}
        for path, headers in (
            ("/Plone/@rag-ask", {}),
            ("/Plone/@rag-ask", bearer("no-key")),
            ("/Plone/@rag-index-all", {}),
            ("/v1/chat/completions", {}),
        ):
            response = await world.http.post(path, json=body, headers=headers)
            assert response.status_code == 401, path
            assert ("@rag" in path) == (response.json().get("type") == "Unauthorized")
        nothing_there = await world.http.post("/api/v1/rag/@rag-ask/generate", json=body)
        assert nothing_there.status_code == 404


async def test_given_an_answer_then_it_is_forgotten_when_its_reader_may_not_read_it_any_more(
    world: World, room: str
) -> None:
    plone = world.plone
    plone.add(room, "Document", "wreck", "The wreck of the Gudrun lies at buoy seventeen.")
    plone.share(f"{room}/wreck", {"dora": ["Reader"]})
    await world.synced()
    question = "Where does the wreck of the Gudrun lie?"
    found = await world.ask("dora", question)
    assert "seventeen" in found["answer"]
    asked = await world.http.post(
        "/Plone/@rag-ask", json={"question": question}, headers=world.headers["dora"]
    )
    assert asked.json()["status"] == "completed"
    [job] = await world.ragstone.jobs.list("default", "ask", limit=1)
    plone.share(f"{room}/wreck", {"dora": []})
    await world.synced()
    polled = await world.poll("dora", job.id)
    assert (polled["status"], polled["sources"]) == ("failed", [])
    assert "seventeen" not in json.dumps(polled)
    assert "Ask again" in polled["error"]
    again = await world.ask("dora", question)
    assert "seventeen" not in json.dumps(again)
    assert f"{room}/wreck" not in paths_in(again)


async def test_given_events_then_permissions_places_and_children_follow_at_once(
    world: World, room: str
) -> None:
    plone = world.plone
    plone.add(room, "Folder", "hall")
    plone.transition(f"{room}/hall", "publish")
    plone.add(f"{room}/hall", "Document", "bell", "The bell of the hall weighs nine tons.")
    plone.add(f"{room}/hall", "File", "score", "The score of the hall has ninety bars.")
    plone.transition(f"{room}/hall/bell", "publish")
    hall, bell = plone.uid(f"{room}/hall"), plone.uid(f"{room}/hall/bell")

    async def follows(event: str, uid: str) -> None:
        await world.event(event, uid)
        for user in ("", "dora", "sync"):
            what = f"{event} for {user or 'visitors'}"
            await until(what, partial(world.is_as_plone, user, room))

    await follows("added", plone.uid(room))
    await follows("modified", bell)
    plone.transition(f"{room}/hall/bell", "retract")
    await follows("retracted", bell)
    plone.transition(f"{room}/hall/bell", "publish")
    await follows("retracted", bell)  # It comes late: by now the page is public again.
    plone.transition(f"{room}/hall", "retract")
    await follows("retracted", hall)
    plone.share(f"{room}/hall", {"dora": ["Reader"]})
    await follows("modified", hall)
    plone.share(f"{room}/hall", {"dora": []})
    await follows("modified", hall)
    moved = plone.rename(f"{room}/hall", "salon")
    await follows("moved", hall)
    plone.delete(moved)
    await follows("removed", hall)


async def test_given_events_replayed_late_and_out_of_order_then_everyone_reads_what_plone_shows(
    world: World, room: str
) -> None:
    """Each event comes when all has happened already, some twice, in any order."""
    await world.event("added", world.plone.uid(room))
    order = random.Random(5)
    editors = Editors(world.plone, room, 17)
    editors.fill(25)
    users = ("", "dora", "ann", "sync")
    for number in range(3):
        events = [signed(*item) for item in editors.events]
        events += [signed(*item) for item in order.sample(editors.events, len(editors.events) // 4)]
        order.shuffle(events)
        for event in events:
            assert (await world.send(event)).status_code == 200
        for event in order.sample(events, 5):
            replayed = await world.send(event)
            assert (replayed.status_code, "replay" in replayed.text) == (401, True)
        for user in users:
            what = f"round {number} for {user or 'visitors'}"
            await until(what, partial(world.is_as_plone, user, room))
        editors.events.clear()
        editors.round()
    late = await world.send(signed(*editors.events[0], age=EVENT_SECONDS + 60))
    assert (late.status_code, "too old" in late.text) == (401, True)


async def test_given_a_site_in_trouble_at_an_event_then_503_and_the_same_event_counts_later(
    plone: PloneSite, room: str, tmp_path: Path
) -> None:
    wreck = f"{room}/wreck"
    with before(plone.url) as proxy:
        async with a_world(plone, tmp_path / "data", url=proxy.site) as world:
            plone.add(room, "News Item", "wreck", "The wreck lies at buoy seventeen.")
            uid = plone.uid(wreck)
            for state in ("added", "modified", "removed"):
                event = signed(state, uid)
                was = await world.documents("sync", wreck)
                for way in ("html", "short", "cut", "down", "bad gateway", "visitor"):
                    proxy.damage(way)
                    refused = await world.send(event)
                    assert refused.status_code == 503, (way, refused.text)
                    assert refused.json()["message"], way
                    assert await world.documents("sync", wreck) == was, way
                proxy.damage("")
                assert (await world.send(event)).status_code == 200
                await until(state, partial(world.is_as_plone, "sync", wreck))


def as_plone(world: World, user: str) -> Principal:
    groups = (*world.plone.groups_of(user), "Authenticated") if user else ()
    return Principal("default", user, groups)


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("/Plone/en/downloads/@rag-ask", None),
        ("/en/downloads/@rag-ask", None),
        ("/++api++/en/downloads/@rag-ask", None),
        ("/VirtualHostBase/https/x.org:443/Plone/VirtualHostRoot/en/downloads/@rag-ask", None),
        ("/Plone/@rag-ask", "/plone/en/downloads"),
        ("/@rag-ask", "/en/downloads"),
        ("/en/@rag-ask", "https://www.x.org/en/downloads"),
        ("/@rag-ask", "{site}/en/downloads/"),
    ],
)
@pytest.mark.asyncio(loop_scope="module")
async def test_given_a_part_of_the_site_then_only_what_lies_there(
    shared: World, address: str, path: str | None
) -> None:
    body: dict[str, Any] = {"question": f"What does {word('tide-1')} open?", "sync": True}
    if path:
        body["path"] = path.format(site=shared.plone.url)
    response = await shared.http.post(address, json=body, headers=shared.headers["sam"])
    found = paths_in(response.json())
    assert "/en/downloads/tide-1" in found
    assert all(text.startswith("/en/downloads") for text in found)
    body["path"] = "/en/team-room"
    elsewhere = await shared.http.post(address, json=body, headers=shared.headers["sam"])
    assert all(text.startswith("/en/team-room") for text in paths_in(elsewhere.json()))
