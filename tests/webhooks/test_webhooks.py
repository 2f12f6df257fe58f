"""Webhooks: what is told, to whom, and how it arrives, read by the official library."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given
from hypothesis import settings as property_settings
from standardwebhooks import Webhook as Receiver
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ragstone import build
from ragstone.access.asking import ASKING
from ragstone.access.gate import caller_of_key
from ragstone.access.setup import make_interceptor
from ragstone.core.caller import Caller
from ragstone.core.errors import Forbidden, InputError, UnknownWebhook
from ragstone.core.records import Topic
from ragstone.core.turn import Ask, Principal
from ragstone.jobs import ending
from ragstone.local import Ragstone
from ragstone.plugins.webhooks import deliver, service
from ragstone.plugins.webhooks.contract import WEBHOOKS, EventType, NewWebhook, Webhook
from ragstone.plugins.webhooks.deliver import is_public
from ragstone.plugins.webhooks.store import SqlWebhooks
from ragstone.service import IngestRequest
from ragstone.service.keys import KeyGrant
from ragstone.settings import Settings
from tests.e2e.processes import run, run_json, serving, serving_until_killed
from tests.http_server import running
from tests.patience import until, wait_for

pytestmark = pytest.mark.slow

EVA = Principal(user="eva", groups=("hr",))
Answer = Callable[[int], int]
"""The status of the answer to each request, counted from 0."""


@dataclass
class Inbox:
    """A receiver: what came, and whether it was signed."""

    url: str = ""
    secret: str = ""
    answer: Answer = lambda _: 204
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    asked: list[str] = field(default_factory=list)
    taken: list[dict[str, Any]] = field(default_factory=list)

    async def receive(self, request: Request) -> Response:
        body = await request.body()
        said = Receiver(self.secret).verify(body, dict(request.headers))
        self.asked.append(request.headers["webhook-id"])
        await asyncio.sleep(self.delay)
        status = self.answer(len(self.asked) - 1)
        if status < 300:
            self.taken.append(said)
        return Response(status_code=status, headers=self.headers)

    def types(self) -> list[str]:
        return [item["type"] for item in self.taken]


@contextmanager
def receiving(port: int = 0) -> Iterator[Inbox]:
    inbox = Inbox()
    app = Starlette(routes=[Route("/hook", inbox.receive, methods=["GET", "POST"])])
    with running(app, port=port) as url:
        inbox.url = f"{url}/hook"
        yield inbox


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    with receiving() as made:
        yield made


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(deliver, "FIRST_PAUSE", 0.05)
    monkeypatch.setattr(deliver, "LONGEST_PAUSE", 0.1)
    monkeypatch.setattr(ending, "RETRY_SECONDS", 0.01)


@asynccontextmanager
async def opened(data: Path) -> AsyncIterator[Ragstone]:
    settings = Settings(ragstone_data=data)
    async with build.open(settings, interceptor=make_interceptor(settings)) as made:
        await made.start_jobs()
        yield made


@pytest.fixture
async def ragstone(tmp_path: Path) -> AsyncIterator[Ragstone]:
    async with opened(tmp_path / "data") as made:
        yield made


async def create(
    ragstone: Ragstone, inbox: Inbox, *events: EventType, principal: Principal = EVA
) -> NewWebhook:
    made = await WEBHOOKS.of(ragstone).create(principal, inbox.url, events, operator=True)
    inbox.secret = made.secret
    return made


async def ingest(ragstone: Ragstone, *files: Path, allowed: tuple[str, ...] = ()) -> None:
    request = IngestRequest(tuple(map(str, files)), allowed=allowed)
    async for _ in ragstone.ingest(request):
        pass


async def show(ragstone: Ragstone, id: str) -> Webhook:
    return next(item for item in await WEBHOOKS.of(ragstone).list_all("default") if item.id == id)


def store(ragstone: Ragstone) -> SqlWebhooks:
    return SqlWebhooks.of(ragstone._adapters)


def write(folder: Path, name: str, text: str = "Bees make honey.") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    return folder / name


async def is_settled(ragstone: Ragstone, id: str, state: str) -> bool:
    for _ in range(3_000):
        found = await WEBHOOKS.of(ragstone).deliveries("default", id)
        if found and found[0].state == state:
            return True
        await asyncio.sleep(0.02)
    return False


class TestEvents:
    async def test_an_ingest_that_ends_is_told_with_counts_and_without_names(
        self, ragstone: Ragstone, inbox: Inbox, tmp_path: Path
    ) -> None:
        await create(ragstone, inbox, "ingest.ended")
        good, bad = write(tmp_path, "secret-name.md"), write(tmp_path, "broken.pdf", "no pdf")
        await ingest(ragstone, good, bad)

        assert await until(lambda: inbox.taken)
        [said] = inbox.taken
        assert said["type"] == "ingest.ended"
        assert said["data"].pop("job")
        assert said["data"] == {
            "collection": "default",
            "state": "done",
            "indexed": 1,
            "unchanged": 0,
            "pruned": 0,
            "failed": 1,
        }
        assert "secret-name" not in json.dumps(said)

    async def test_documents_are_told_as_added_changed_and_removed(
        self, ragstone: Ragstone, inbox: Inbox, tmp_path: Path
    ) -> None:
        await ingest(ragstone, write(tmp_path, "before.md"))
        await create(ragstone, inbox, "document.changed")
        file = write(tmp_path, "a.md", "Wasps build nests.")
        await ingest(ragstone, file)
        assert await until(lambda: len(inbox.taken) == 1)
        write(tmp_path, "a.md", "Hornets build larger nests.")
        await ingest(ragstone, file)
        assert await until(lambda: len(inbox.taken) == 2)
        await ragstone.delete(Principal(), "default", ["/a.md"])
        assert await until(lambda: len(inbox.taken) == 3)

        told = [[item["change"] for item in said["data"]["documents"]] for said in inbox.taken]
        ids = {item["id"] for said in inbox.taken for item in said["data"]["documents"]}
        assert told == [["added"], ["changed"], ["removed"]]
        assert len(ids) == 1

    async def test_a_source_that_fails_is_told(
        self, ragstone: Ragstone, inbox: Inbox, tmp_path: Path
    ) -> None:
        folder = tmp_path / "files"
        write(folder, "a.md").unlink()
        await ragstone.sources.add(
            Principal(), "files", "folder", options={"path": str(folder)}, operator=True
        )
        await create(ragstone, inbox, "source.failed")
        folder.rmdir()
        await ragstone.sources.sync(Principal(), "files")

        assert await until(lambda: inbox.taken)
        assert inbox.taken[0]["data"]["source"] == "files"
        assert str(tmp_path) not in json.dumps(inbox.taken)

    async def test_a_refused_question_is_told_without_its_words_or_who_asked(
        self, ragstone: Ragstone, inbox: Inbox, tmp_path: Path
    ) -> None:
        await ingest(ragstone, write(tmp_path, "a.md"))
        await ragstone.put_topics("default", [Topic("", "default", "salary")])
        await create(ragstone, inbox, "question.refused")
        ask = Ask("What is the salary of Otto?", principal=Principal(user="ida"))
        async for _ in ragstone.ask(ask):
            pass

        assert await until(lambda: inbox.taken)
        assert inbox.taken[0]["data"]["reason"] == "blocked"
        assert not {"salary", "Otto", "ida"} & set(
            json.dumps(inbox.taken).replace('"', " ").split()
        )

    async def test_what_is_not_wanted_and_what_was_before_is_not_told(
        self, ragstone: Ragstone, inbox: Inbox, tmp_path: Path
    ) -> None:
        await ingest(ragstone, write(tmp_path, "a.md"))
        made = await create(ragstone, inbox, "source.failed")
        await ingest(ragstone, write(tmp_path, "b.md"))
        await WEBHOOKS.of(ragstone).test("default", made.webhook.id)

        assert await until(lambda: inbox.taken)
        assert inbox.types() == ["webhook.test"]


class TestDelivery:
    @pytest.mark.parametrize("status", [500, 503, 302, 400, 404])
    async def test_a_message_that_is_not_taken_is_sent_again_as_the_same_message(
        self, ragstone: Ragstone, inbox: Inbox, status: int
    ) -> None:
        inbox.answer = lambda asked: status if asked < 3 else 200
        inbox.headers = {"location": inbox.url}
        made = await create(ragstone, inbox)
        sent = await WEBHOOKS.of(ragstone).test("default", made.webhook.id)

        assert await until(lambda: inbox.taken)
        assert await is_settled(ragstone, made.webhook.id, "done")
        [delivery] = await WEBHOOKS.of(ragstone).deliveries("default", made.webhook.id)
        assert inbox.asked == [sent.id] * 4
        assert (delivery.id, delivery.attempts, delivery.error) == (sent.id, 4, "")
        assert (await show(ragstone, made.webhook.id)).failing_since is None

    async def test_a_receiver_that_is_down_gets_it_when_it_is_up(
        self, ragstone: Ragstone, inbox: Inbox
    ) -> None:
        with receiving() as gone:
            made = await create(ragstone, gone)
        port = int(gone.url.rpartition(":")[2].partition("/")[0])
        await WEBHOOKS.of(ragstone).test("default", made.webhook.id)
        for _ in range(3_000):
            if (await show(ragstone, made.webhook.id)).error:
                break
            await asyncio.sleep(0.02)
        with receiving(port) as back:
            back.secret = made.secret
            assert await until(lambda: back.taken)

    async def test_a_slow_receiver_is_not_waited_for(
        self, ragstone: Ragstone, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(deliver, "SECONDS", 0.2)
        inbox.delay = 5.0
        made = await create(ragstone, inbox)
        await WEBHOOKS.of(ragstone).test("default", made.webhook.id)
        assert await until(lambda: inbox.asked)
        assert await until(lambda: len(inbox.asked) > 1)
        inbox.delay = 0.0
        assert await until(lambda: inbox.taken)

    async def test_a_receiver_that_is_gone_is_sent_nothing_more(
        self, ragstone: Ragstone, inbox: Inbox
    ) -> None:
        inbox.answer = lambda _: 410
        made = await create(ragstone, inbox)
        id = made.webhook.id
        await WEBHOOKS.of(ragstone).test("default", id)
        assert await is_settled(ragstone, id, "failed")

        shown = await show(ragstone, id)
        assert shown.disabled_at is not None
        assert "410" in shown.error
        with pytest.raises(InputError, match="disabled"):
            await WEBHOOKS.of(ragstone).test("default", id)
        assert len(inbox.asked) == 1

    async def test_after_long_failure_it_is_disabled_and_told_of_what_it_missed_when_enabled(
        self,
        ragstone: Ragstone,
        inbox: Inbox,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(deliver, "GIVE_UP_SECONDS", 0.3)
        inbox.answer = lambda _: 500
        made = await create(ragstone, inbox, "document.changed")
        id = made.webhook.id
        await WEBHOOKS.of(ragstone).test("default", id)
        assert await is_settled(ragstone, id, "failed")
        disabled = await show(ragstone, id)
        await ingest(ragstone, write(tmp_path, "a.md"))
        inbox.answer = lambda _: 200
        await WEBHOOKS.of(ragstone).enable("default", id)

        assert await until(lambda: inbox.taken)
        assert disabled.disabled_at is not None
        assert "500" in disabled.error
        assert inbox.taken[0]["data"]["added"] == 1

    async def test_a_removed_webhook_is_sent_nothing(
        self, ragstone: Ragstone, inbox: Inbox
    ) -> None:
        inbox.answer = lambda _: 500
        made = await create(ragstone, inbox)
        sent = await WEBHOOKS.of(ragstone).test("default", made.webhook.id)
        assert await until(lambda: inbox.asked)
        await WEBHOOKS.of(ragstone).remove("default", made.webhook.id)
        inbox.answer = lambda _: 200
        async for job in ragstone.jobs.watch(EVA, sent.id):
            last = job

        assert (last.state, last.code) == ("failed", "undelivered")
        assert not inbox.taken
        with pytest.raises(UnknownWebhook):
            await WEBHOOKS.of(ragstone).deliveries("default", made.webhook.id)


class TestRights:
    async def test_the_secret_is_shown_once(self, ragstone: Ragstone, inbox: Inbox) -> None:
        made = await create(ragstone, inbox)
        listed = await WEBHOOKS.of(ragstone).list_all("default")

        assert made.secret not in str(listed)
        assert listed == [made.webhook]

    @pytest.mark.parametrize(
        "url",
        [
            "https://127.0.0.1/hook",
            "https://localhost/hook",
            "https://[::1]/hook",
            "https://10.0.0.1/hook",
            "https://169.254.169.254/latest",
            "https://[::ffff:127.0.0.1]/hook",
            "http://example.org/hook",
            "https://user:secret@example.org/hook",
            "file:///etc/passwd",
            "https://",
            "nonsense",
        ],
    )
    async def test_only_the_operator_has_messages_sent_into_the_network_of_the_server(
        self, ragstone: Ragstone, url: str
    ) -> None:
        with pytest.raises(InputError):
            await WEBHOOKS.of(ragstone).create(EVA, url)

    async def test_a_name_that_leads_inside_later_is_not_followed(
        self, ragstone: Ragstone, inbox: Inbox
    ) -> None:
        made = await create(ragstone, inbox)
        stored = await store(ragstone).get(made.webhook.id)
        assert stored
        outside = replace(
            stored,
            inside=False,
            shown=replace(stored.shown, url=inbox.url.replace("http", "https")),
        )
        with pytest.raises(deliver.Refused, match="private network"):
            await deliver.send(outside, "a", "{}")
        assert not inbox.asked

    async def test_a_credential_of_single_collections_and_another_tenant_reach_none(
        self, ragstone: Ragstone, inbox: Inbox
    ) -> None:
        made = await create(ragstone, inbox)
        with pytest.raises(UnknownWebhook):
            await WEBHOOKS.of(ragstone).remove("acme", made.webhook.id)
        token = ASKING.set(Caller(EVA, "admin", ("zoo",)))
        try:
            with pytest.raises(Forbidden):
                await WEBHOOKS.of(ragstone).list_all("default")
        finally:
            ASKING.reset(token)

    @pytest.mark.parametrize("change", ["removed", "demoted", "limited", "revoked"])
    async def test_who_is_no_administrator_any_more_is_told_nothing(
        self, ragstone: Ragstone, inbox: Inbox, tmp_path: Path, change: str
    ) -> None:
        await ingest(ragstone, write(tmp_path, "before.md"))
        people, keys = ragstone.people, ragstone.keys
        caller = Caller(Principal(user="ada"), key="person:default:ada")
        if change == "revoked":
            key = await keys.create(KeyGrant("k", role="admin", user="ada"))
            caller = caller_of_key(key.key)
        else:
            await people.invite(Principal(), "ada", role="admin")
        token = ASKING.set(caller)
        made = await create(ragstone, inbox, "ingest.ended", principal=caller.principal)
        ASKING.reset(token)
        if change == "revoked":
            await keys.revoke("default", key.key.id)
        elif change == "removed":
            await people.remove(Principal(), "ada")
        elif change == "demoted":
            await people.change(Principal(), "ada", role="editor")
        else:
            await people.change(Principal(), "ada", collections=("default",))
        await ingest(ragstone, write(tmp_path, "a.md"))
        for _ in range(3_000):
            if (await show(ragstone, made.webhook.id)).disabled_at is not None:
                break
            await asyncio.sleep(0.02)

        assert "no administrator" in (await show(ragstone, made.webhook.id)).error
        assert not inbox.asked

    async def test_an_erased_user_leaves_no_webhook(self, ragstone: Ragstone, inbox: Inbox) -> None:
        await create(ragstone, inbox)
        await ragstone.conversations.forget(EVA)
        assert await WEBHOOKS.of(ragstone).list_all("default") == []


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True),
        ("2606:4700::1111", True),
        *((item, False) for item in ("127.0.0.1", "100.64.0.1", "0.0.0.0", "224.0.0.1")),
        *((item, False) for item in ("64:ff9b::7f00:1", "2002:7f00:1::", "fec0::1", "ff02::1")),
    ],
)
def test_addresses_that_stand_for_others_are_not_public(address: str, public: bool) -> None:
    assert is_public(ip_address(address)) == public


READERS = st.sampled_from([("*",), ("group:hr",), ("group:it",), ("user:eva",), ("user:ada",)])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from("abc"), READERS),
        st.tuples(st.just("read by"), st.sampled_from("abc"), READERS),
        st.tuples(st.just("delete"), st.sampled_from("abc"), st.none()),
    ),
    min_size=1,
    max_size=8,
)


@property_settings(max_examples=15)
@given(STEPS)
async def test_a_webhook_is_told_of_the_documents_that_its_owner_may_read_and_of_no_other(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, Any]]
) -> None:
    folder = tmp_path_factory.mktemp("history")
    settings = Settings(ragstone_data=folder / "data")
    async with build.open(settings) as ragstone:
        await ingest(ragstone, write(folder / "files", "first.md"))
        made = await WEBHOOKS.of(ragstone).create(
            EVA, "http://127.0.0.1:9/", ["document.changed"], operator=True
        )
        written, told, seen = set[str](), set[str](), set[str]()
        for number, (what, name, readers) in enumerate(steps):
            path = f"/{name}.md"
            if what == "write":
                file = write(folder / "files", f"{name}.md", f"Bee {name} number {number}.")
                await ingest(ragstone, file, allowed=readers)
                written.add(name)
            elif name in written and what == "read by":
                await ragstone.readers.give(Principal(), "default", readers=readers, paths=[path])
            elif name in written:
                whole = Principal(user="ada", groups=("hr", "it"))
                may_read = path in [d.path for d in await ragstone.documents(whole, "default")]
                await ragstone.delete(whole if may_read else EVA, "default", [path])
                written.remove(name)
            seen |= {item.id for item in await ragstone.documents(EVA, "default")}
            await store(ragstone).queue_news()
        found = await WEBHOOKS.of(ragstone).deliveries("default", made.webhook.id, 1_000)
        state: dict[str, bool] = {}
        for delivery in sorted(found, key=lambda item: item.created_at):
            job = await ragstone.jobs._store.get(delivery.id)
            assert job
            body = json.loads(job.request["body"])
            for item in body["data"]["documents"]:
                state[item["id"]] = item["change"] != "removed"
                told.add(item["id"])
        now = {item.id for item in await ragstone.documents(EVA, "default")}
        first = {d.id for d in await ragstone.documents(EVA, "default") if d.path == "/first.md"}
        assert told <= seen
        assert {id for id, there in state.items() if there} == now - first


@pytest.mark.real
def test_a_server_that_is_killed_tells_when_it_is_back(tmp_path: Path) -> None:
    data, file = tmp_path / "data", write(tmp_path, "a.md")
    with receiving() as inbox:
        inbox.answer = lambda _: 500
        with serving_until_killed(data):
            made = run_json(data, "webhook", "add", inbox.url, "--event", "document.changed")
            inbox.secret = made["secret"]
            run(data, "ingest", str(file))
            assert wait_for(lambda: inbox.asked)
        inbox.answer = lambda _: 200
        with serving(data):
            assert wait_for(lambda: inbox.taken)
            [shown] = run_json(data, "webhook", "deliveries", made["webhook"]["id"])["deliveries"]

    assert set(inbox.asked) == {shown["id"]}
    assert inbox.taken[0]["data"]["added"] == 1
