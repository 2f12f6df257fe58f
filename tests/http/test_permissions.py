"""Random requests with random credentials against three tenants, over every route there is.

Each document, and each question, holds a word of its own. A response may hold only words that its
credential may read: in answers, sources, titles, lists, history, exports, jobs, traces, topics,
tools over MCP, statistics and errors alike. A credential of single collections may read of what was
asked only what was asked of those.
Bodies are made from the OpenAPI document, so a new route is asked too. 500 requests in every run;
RAGSTONE_PERMISSION_REQUESTS=10000 for the whole.
"""

import asyncio
import os
import random
import re
import statistics
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
import pytest_asyncio

from ragstone import build
from ragstone.core.caller import Role
from ragstone.http.app import create_app
from ragstone.local import Ragstone
from ragstone.service import IngestRequest
from ragstone.settings import LimitSettings, Settings
from tests.credentials import a_key, bearer
from tests.patience import PATIENCE

pytestmark = [
    pytest.mark.timeout(3600),
    pytest.mark.asyncio(loop_scope="module"),
]

REQUESTS = int(os.environ.get("RAGSTONE_PERMISSION_REQUESTS", "500"))
TENANTS = ("acme", "globex", "initech")
USERS = {"eva": ("staff",), "otto": (), "root": ("staff", "ops")}
ALLOWED = (("*",), ("user:eva",), ("group:ops",))
COLLECTIONS = ("default", "shared")
THINGS = ("lighthouse", "harbour", "archive")
SECRET = re.compile(r"zq[a-z]{10}")
ASKING = ("/v1/", "/v2/", "/api/v1/retrieval", "/api/v1/document", "/api/v1/rag", "/chat", "/mcp")
"""Where answers are made: an admin reads no more here than anyone else of the same groups."""

CHANGING = re.compile(
    r"/(remove|delete|forget|import|rotate|clear|rebuild)$|^/local/|^/api/v1/topics$"
)
"""What would change what the others are asked about, or end the keys of who asks."""


KEEPING = re.compile(r"/conversations|/jobs|/traces|/stats|/topics|/v2/rag|completions")

ROOMS = ("r1", "r2", "r3")


@dataclass(frozen=True)
class Credential:
    """Who sends a request, as the test knows it; `tenant` is empty for one that does not hold."""

    headers: dict[str, str]
    tenant: str = ""
    user: str = ""
    role: Role = "reader"
    collections: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Word:
    """Who may read a secret word: a document's by its collection and `allowed`, a question's by
    the user who asked."""

    tenant: str
    collection: str = ""
    allowed: tuple[str, ...] = ()
    asker: str = ""

    def readable(self, by: Credential, asking: bool) -> bool:
        if by.tenant != self.tenant:
            return False
        if by.collections is not None and self.collection not in by.collections:
            return False
        if by.role == "admin" and not asking:
            return True
        if self.asker:
            return by.user == self.asker
        groups = {f"group:{group}" for group in USERS[by.user]}
        return bool({"*", f"user:{by.user}", *groups} & set(self.allowed))


@dataclass
class World:
    """A server with the documents of three tenants, and the credentials of its users."""

    service: Ragstone
    http: httpx2.AsyncClient
    words: dict[str, Word]
    credentials: list[Credential]
    operations: list[tuple[str, str, dict[str, Any]]]
    schemas: dict[str, Any]
    ids: list[str]
    told: dict[tuple[str, str], set[tuple[str, str]]] = field(
        default_factory=lambda: defaultdict(set)
    )
    """The secret words that each user has sent, with the collection that was asked, empty where
    none was: their own questions are shown to them."""
    jobs: list[str] = field(default_factory=list)
    r: random.Random = field(default_factory=lambda: random.Random(7))

    def shown(self, by: Credential) -> set[str]:
        """What histories and statistics may show: what the user has sent, or anyone of the tenant
        to its admin, of the collections in reach."""
        return self.remembered(by, [by.user] if by.role != "admin" else list(USERS))

    def remembered(self, by: Credential, users: Iterable[str]) -> set[str]:
        """What these users have sent to collections that the credential reaches."""
        told = set[tuple[str, str]]().union(*(self.told[by.tenant, user] for user in users))
        reach = by.collections
        return {word for word, of in told if reach is None or of in reach or not of}

    def word(self, meaning: Word) -> str:
        word = "zq" + "".join(self.r.choices("bcdfghjklmnprstvwx", k=10))
        self.words[word] = meaning
        return word


async def a_world(folder: Path, service: Ragstone, stack: AsyncExitStack) -> World:
    settings = Settings(limits=LimitSettings(requests_per_minute=0))
    app = create_app(service, settings, "operators-token")
    await stack.enter_async_context(app.router.lifespan_context(app))
    http = httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1", timeout=PATIENCE
    )
    schema = app.openapi()
    operations = [
        (method.upper(), path, operation)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
        if method in ("get", "post") and not CHANGING.search(path)
    ]
    # What remembers is asked as often as what answers, and the tools are in no document.
    operations += [item for item in operations if KEEPING.search(item[1])] * 3
    operations += [("POST", "/mcp", {})] * 4
    world = World(service, http, {}, [], operations, schema["components"]["schemas"], [])
    for tenant in TENANTS:
        await fill(world, folder, tenant)
        for user, groups in USERS.items():
            await introduce(world, tenant, user, groups)
    await add_strangers(world)
    return world


async def fill(world: World, folder: Path, tenant: str) -> None:
    """Documents in collections that all tenants have, and in one that only this one has."""
    for collection in (*COLLECTIONS, f"{tenant}-only"):
        for number, allowed in enumerate(ALLOWED):
            meaning = Word(tenant, collection, allowed)
            place = folder / tenant / collection / str(number)
            place.mkdir(parents=True)
            for thing in THINGS:
                name, word = world.word(meaning), world.word(meaning)
                text = f"The code word of the {thing} is {word}. Nobody else may know it.\n"
                (place / f"{thing}-{name}.md").write_text(f"# The {thing} {name}\n\n{text}")
            request = IngestRequest((str(place),), collection, tenant, allowed)
            async for progress in world.service.ingest(request):
                assert not progress.failed, progress.failed
        catalog = world.service._adapters.catalog
        documents = await catalog.documents(tenant, await catalog.identity(tenant, collection))
        world.ids += [document.id for document in documents]


async def introduce(world: World, tenant: str, user: str, groups: tuple[str, ...]) -> None:
    for role in ("reader", "editor", "admin"):
        for reach in (None, ("shared", f"{tenant}-only")):
            secret = await a_key(world.service, role, tenant, user, groups, reach)  # type: ignore[arg-type]
            by = Credential(bearer(secret), tenant, user, role, reach)  # type: ignore[arg-type]
            world.credentials.append(by)


async def add_strangers(world: World) -> None:
    revoked = await a_key(world.service, "admin", "acme")
    await world.service.keys.revoke(None, (await world.service.keys.list_all(None))[-1].id)
    ended = await a_key(world.service, "admin", "acme", seconds=0.001)
    good = world.credentials[0].headers["authorization"]
    for headers in (
        {},
        bearer(revoked),
        bearer(ended),
        bearer("unused"),
        {"authorization": good[:-1] + ("A" if good[-1] != "A" else "B")},
        {"x-forwarded-user": "eva", "x-forwarded-tenant": "acme", "x-forwarded-role": "admin"},
    ):
        world.credentials.append(Credential(headers))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    folder = tmp_path_factory.mktemp("three")
    async with (
        build.open(Settings(ragstone_data=folder / "data")) as service,
        AsyncExitStack() as stack,
    ):
        world = await a_world(folder / "documents", service, stack)
        yield world
        await world.http.aclose()


def value(world: World, by: Credential, name: str, schema: dict[str, Any]) -> Any:
    """A value that a curious client would try for a field of this name."""
    r = world.r
    if name in ("query", "question", "message", "content", "text", "q"):
        mine = world.word(Word(by.tenant or "nobody", asker=by.user or "nobody"))
        about = r.choice(THINGS)
        return r.choice(
            [
                f"What is the code word of the {about}?",
                f"What is the code word of the {about}? {mine}",
                f"{about} code word",
                r.choice(list(world.words)),
            ]
        )
    if name == "messages":
        said = value(world, by, "content", {})
        return [{"role": "user", "content": said}]
    if name == "model":
        return r.choice(["ragstone", "ragstone-basic"])
    if name in ("room", "room_id", "conversation"):
        return r.choice(ROOMS)
    if "collection" in name:
        return r.choice([*COLLECTIONS, *(f"{tenant}-only" for tenant in TENANTS), "nowhere"])
    if "tenant" in name:
        return r.choice(TENANTS)
    if "user" in name:
        return r.choice(list(USERS))
    if name.endswith("id") or name in ("paths", "path", "ids"):
        return r.choice(world.ids)
    if name in ("filters", "where"):
        return {r.choice(["tenant", "collection", "path", "allowed"]): r.choice([*TENANTS, "/"])}
    return by_type(world, by, schema)


def by_type(world: World, by: Credential, schema: dict[str, Any]) -> Any:
    r = world.r
    if "$ref" in schema:
        return body(world, by, world.schemas[schema["$ref"].rsplit("/", 1)[-1]])
    if "anyOf" in schema:
        return by_type(world, by, r.choice(schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return r.choice(schema.get("enum") or [schema["const"]])
    match schema.get("type"):
        case "boolean":
            return r.random() < 0.5
        case "integer":
            return r.randint(1, 20)
        case "number":
            return r.random()
        case "string":
            return r.choice([*TENANTS, *USERS, "default"])
        case "array":
            return [by_type(world, by, schema.get("items", {})) for _ in range(r.randint(0, 2))]
        case "object" if "properties" in schema:
            return body(world, by, schema)
    return None


def body(world: World, by: Credential, schema: dict[str, Any]) -> dict[str, Any]:
    """The required fields, and some of the others."""
    required = schema.get("required", ())
    return {
        name: value(world, by, name, part)
        for name, part in schema.get("properties", {}).items()
        if name in required or world.r.random() < 0.3
    }


def tool_call(world: World, by: Credential) -> dict[str, Any]:
    """A call of one of the tools over MCP."""
    question, collection = (value(world, by, name, {}) for name in ("question", "collection"))
    name, arguments = world.r.choice(
        [
            ("search", {"query": question, "collection": collection}),
            ("ask", {"question": question, "collection": collection}),
            ("list_collections", {}),
            ("read_document", {"path": world.r.choice(world.ids), "collection": collection}),
        ]
    )
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def asked_of(given: Any) -> str:
    """The collection that a question is asked of, empty for one that is not there or where no
    document is asked."""
    if not isinstance(given, dict) or given.get("mode") in ("gpt", "direct", "vision"):
        return ""
    names = ("collection", "collection_name", "collection_filter")
    name = next((given[item] for item in names if given.get(item)), "default")
    name = name[0] if isinstance(name, list) else name
    return "" if name == "nowhere" else str(name)


async def send(world: World, by: Credential) -> tuple[str, httpx2.Response]:
    method, path, operation = world.r.choice(world.operations)
    if path == "/mcp":
        call = tool_call(world, by)
        headers = {**by.headers, "accept": "application/json, text/event-stream"}
        response = await world.http.post(path, json=call, headers=headers)
        return f"POST /mcp {call}", response
    query: dict[str, Any] = {}
    for parameter in operation.get("parameters", []):
        name = parameter["name"]
        if parameter["in"] == "path":
            some = ROOMS if name == "room" else [*world.jobs, *world.ids, *COLLECTIONS]
            for spelt in ("{" + name + "}", "{" + name + ":path}"):
                path = path.replace(spelt, str(world.r.choice(some)))
        elif parameter["in"] == "query" and world.r.random() < 0.7:
            query[name] = value(world, by, name, parameter.get("schema", {}))
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    given = by_type(world, by, content["schema"]) if content else None
    path = path.replace(":path}", "}")
    sent = f"{method} {path} {query} {given}"
    # A chat has a collection of its own, which is not there: nothing is uploaded here.
    apart = path.startswith(("/v2/gpt", "/v2/vision", "/chat/"))
    of = "" if apart else asked_of(given)
    of = of if not of.endswith("-only") or of.startswith(by.tenant) else ""
    world.told[by.tenant, by.user] |= {(word, of) for word in SECRET.findall(sent)}
    response = await world.http.request(method, path, params=query, json=given, headers=by.headers)
    if path == "/api/v1/jobs" and response.status_code == 200:
        world.jobs += [job["id"] for job in response.json()["jobs"]]
    return sent, response


def check(world: World, by: Credential, sent: str, response: httpx2.Response) -> None:
    """Fail for a word in the response that its caller may neither read nor has sent."""
    assert response.status_code < 500, (sent, response.text)
    path = sent.split()[1]
    asking = path.startswith(ASKING)
    told = set(SECRET.findall(sent)) if asking else world.shown(by)
    if any(room in sent for room in ROOMS):
        told |= world.remembered(by, [by.user])
    for word in set(SECRET.findall(response.text)) - told:
        readable = word in world.words and world.words[word].readable(by, asking)
        assert readable, (word, by, sent, world.words.get(word), response.text[:2000])
    if not by.tenant and path not in OPEN:
        assert response.status_code == 401, sent


HEALTH = ("/health", "/ready", "/api/v1/rag/health", "/api/v1/retrieval/health")
OPEN = (*HEALTH, "/docs", "/openapi.json")


@pytest.mark.conforms("chat-core", "14.3", "Collections by user; statistics for who may see them")
async def test_given_any_credential_and_request_then_nothing_is_read_across(world: World) -> None:
    read: set[str] = set()
    asked = 0
    for _ in range(REQUESTS // 10):
        callers = [world.r.choice(world.credentials) for _ in range(10)]
        answers = await asyncio.gather(*(send(world, by) for by in callers))
        for by, (sent, response) in zip(callers, answers, strict=True):
            check(world, by, sent, response)
            found = set(SECRET.findall(response.text)) - set(SECRET.findall(sent))
            read |= {f"{by.tenant} {by.user}"} if found else set()
            asked += bool(found)
    # Otherwise silence would pass.
    assert len(read) >= 4, read
    assert asked > REQUESTS / 50


async def test_given_the_same_question_from_all_then_each_gets_only_the_own_answer(
    world: World,
) -> None:
    """Many equal questions at once: what the cache or shared state would mix up."""
    for thing in THINGS:
        for path, key in (
            ("/api/v1/retrieval/retrieve", "query"),
            ("/v1/chat/completions", "messages"),
        ):
            question = f"What is the code word of the {thing}?"
            said: Any = [{"role": "user", "content": question}] if key == "messages" else question
            for collection in ("shared", "acme-only"):
                given = {"model": "ragstone", key: said, "collection": collection}
                holding = [by for by in world.credentials if by.tenant]
                answers = await asyncio.gather(
                    *(world.http.post(path, json=given, headers=by.headers) for by in holding)
                )
                for by, response in zip(holding, answers, strict=True):
                    check(world, by, f"POST {path} {given}", response)
                    exists = collection == "shared" or by.tenant == "acme"
                    assert response.status_code == (200 if exists else 404)


async def test_given_collections_of_others_then_they_are_as_if_they_did_not_exist(
    world: World,
) -> None:
    """The same words, and about the same work, for one that exists and one that does not."""
    by = next(c for c in world.credentials if c.tenant == "acme" and c.collections)
    times: dict[str, list[float]] = {}
    for _ in range(30):
        for name in ("globex-only", "default", "nowhere-x"):  # of another tenant; out of reach
            given = {"query": "code word", "collection": name}
            started = time.process_time()
            response = await world.http.post(
                "/api/v1/retrieval/retrieve", json=given, headers=by.headers
            )
            times.setdefault(name, []).append(time.process_time() - started)
            assert response.status_code == 404
            error = response.json()["error"]["message"].replace(name, "X")
            assert error.startswith("There is no collection named 'X'.")
    medians = [statistics.median(some) for some in times.values()]
    assert max(medians) - min(medians) < 0.01
