"""Sources as their keeper has them: who may add one, what is shown of it, and when it runs."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from ragstone import AsyncClient, build
from ragstone.core.errors import (
    ConfigError,
    Conflict,
    Forbidden,
    InputError,
    SourceUnavailable,
    UnknownSource,
)
from ragstone.core.sync import SourceOption
from ragstone.core.turn import Principal
from ragstone.http.app import create_app
from ragstone.local import Ragstone
from ragstone.plugins.sources import service as sources
from ragstone.service.contract import operations
from ragstone.service.wire import OPERATION_HEADER
from ragstone.settings import Settings
from tests.credentials import a_key, bearer
from tests.in_turn import in_turn
from tests.packages import Site, site
from tests.patience import PATIENCE

__all__ = ["site"]

ME = Principal()

SECRET = "open-sesame-4711"

KIND = """
from typing import Literal
from pydantic import Field, SecretStr
from ragstone.core.sync import SourceItem
from ragstone.ports.sources import SourceKind, SourceOptions

class Options(SourceOptions):
    password: SecretStr | None = None
    address: str = Field("here", description="Where it is.")
    deep: bool = True
    order: Literal["new", "old"] = Field("new")

class Vault:
    def __init__(self, parts):
        self.password = parts.options.password
    async def check(self):
        pass
    async def list_items(self, checkpoint):
        yield SourceItem("a", "1", "a.txt")
    async def list_keys(self):
        yield "a"
    def get_checkpoint(self):
        return ""
    async def fetch(self, item, target):
        length = len(self.password.get_secret_value()) if self.password else 0
        target.write(f"The password has {length} letters.".encode())
    async def aclose(self):
        pass

VAULT = SourceKind("A vault.", Options, Vault)
"""


@pytest.fixture
def house(tmp_path: Path) -> Path:
    folder = tmp_path / "house"
    folder.mkdir()
    (folder / "menu.txt").write_text("On Monday there is soup.")
    return folder


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(ragstone_data=tmp_path / "data")


@pytest.fixture
async def ragstone(settings: Settings) -> AsyncIterator[Ragstone]:
    async with build.open(settings) as opened:
        yield opened


@pytest.fixture
async def http(ragstone: Ragstone, settings: Settings) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(create_app(ragstone, settings, "token"))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


@pytest.fixture
def vault(site: Site) -> None:
    site.add("vault", {"ragstone.sources": {"vault": "vault_kind:VAULT"}}, vault_kind=KIND)


async def wait_for_run(ragstone: Ragstone, name: str, number: int = 1) -> None:
    """Wait until so many runs of a source have ended."""
    async with asyncio.timeout(PATIENCE):
        while True:
            runs = await ragstone.sources.runs(ME, name)
            if len([run for run in runs if run.state != "running"]) >= number:
                return
            await asyncio.sleep(0.05)


async def add_folder(ragstone: Ragstone, folder: Path, **options: Any) -> None:
    await ragstone.sources.add(
        ME, "house", "folder", options={"path": str(folder)}, operator=True, **options
    )


async def test_a_program_syncs_a_folder_and_is_told_how_it_went(
    tmp_path: Path, house: Path
) -> None:
    async with AsyncClient(tmp_path / "data") as rag:
        await rag.sources.add("house", "folder", options={"path": str(house)})
        run = await rag.sources.sync("house")

        assert (run.state, run.added) == ("done", 1)
        assert [item.path for item in await rag.documents.list()] == ["/house/menu.txt"]
        assert [item.id for item in await rag.sources.runs("house")] == [run.id]
        [view] = await rag.sources.list()
        assert view.last == run
        assert await rag.sources.remove("house", documents=True) == 1
        assert await rag.documents.list() == []
        with pytest.raises(UnknownSource):
            await rag.sources.get("house")


async def test_a_source_that_is_removed_leaves_its_documents_unless_that_is_said(
    ragstone: Ragstone, house: Path
) -> None:
    await add_folder(ragstone, house)
    await ragstone.sources.sync(ME, "house")
    await wait_for_run(ragstone, "house")

    assert await ragstone.sources.remove(ME, "house") == 0

    assert len(await ragstone.documents(ME, "default")) == 1


async def test_what_is_due_runs_by_itself_and_again_after_its_interval(
    ragstone: Ragstone, house: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "LOOK_SECONDS", 0.05)
    await ragstone.start_jobs()

    await add_folder(ragstone, house, every=1.0)
    await wait_for_run(ragstone, "house", number=2)

    newest, first = (await ragstone.sources.runs(ME, "house"))[-2:]
    assert newest.started_at - first.started_at >= 1.0
    assert (first.added, newest.unchanged) == (1, 1)


async def test_a_source_with_a_cron_expression_waits_for_its_time(
    ragstone: Ragstone, house: Path
) -> None:
    before = time.time()
    await add_folder(ragstone, house, cron="0 6 * * *")

    [view] = await ragstone.sources.list(ME)
    assert (view.every, view.cron, view.last) == (None, "0 6 * * *", None)
    assert view.next_at is not None
    assert before < view.next_at <= before + 25 * 3600
    assert time.localtime(view.next_at)[3:5] == (6, 0)


@in_turn(
    ("kind", "options", "error", "sentence"),
    [
        ("folder", {}, InputError, "path: it is missing. Its options: path."),
        ("folder", {"path": "docs"}, InputError, "must be absolute"),
        ("folder", {"path": "/srv", "mode": "x"}, InputError, "mode: it is not known here"),
        ("folder", {"path": "/nowhere/at/all"}, SourceUnavailable, "is not a folder that can be"),
        ("folder", {"path": f"ftp://eva:{SECRET}@x.org"}, InputError, "with a password is stored"),
    ],
)
async def test_a_source_with_wrong_options_is_refused_in_a_sentence(
    ragstone: Ragstone, kind: str, options: dict[str, str], error: type, sentence: str
) -> None:
    with pytest.raises(error, match=sentence) as raised:
        await ragstone.sources.add(ME, "house", kind, options=options, operator=True)

    assert SECRET not in str(raised.value)
    assert await ragstone.sources.list(ME) == []


async def test_a_name_that_is_taken_is_refused(ragstone: Ragstone, house: Path) -> None:
    await add_folder(ragstone, house)

    with pytest.raises(Conflict, match="There is a source 'house' already"):
        await add_folder(ragstone, house)


async def test_a_folder_of_the_collection_with_other_documents_is_refused(
    ragstone: Ragstone, tmp_path: Path, house: Path
) -> None:
    async with AsyncClient(tmp_path / "other") as rag:
        await rag.documents.put("/house/note.txt", "Mine.")

        with pytest.raises(Conflict, match="The folder /house of the collection has other"):
            await rag.sources.add("house", "folder", options={"path": str(house)})


async def test_a_schedule_is_changed_and_ended_and_the_rest_stays(
    ragstone: Ragstone, house: Path
) -> None:
    await add_folder(ragstone, house, every=3600.0, readers=["group:hr"])
    before = await ragstone.sources.show(ME, "house")

    timed = await ragstone.sources.change(ME, "house", cron="0 6 * * *")
    by_hand = await ragstone.sources.change(ME, "house", by_hand=True)

    assert timed == replace(before, every=None, cron="0 6 * * *", next_at=timed.next_at)
    assert timed.next_at is not None
    assert by_hand == replace(before, every=None, next_at=None)


async def test_other_readers_are_taken_over_at_once_by_a_source_that_is_synced_by_hand(
    ragstone: Ragstone, house: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "LOOK_SECONDS", 0.05)
    await add_folder(ragstone, house)
    await ragstone.sources.sync(ME, "house")
    await wait_for_run(ragstone, "house")
    await ragstone.start_jobs()

    await ragstone.sources.change(ME, "house", readers=["group:hr"])
    await wait_for_run(ragstone, "house", number=2)

    view = await ragstone.sources.show(ME, "house")
    assert view.last is not None
    assert (view.last.rights, view.last.changed, view.next_at) == (1, 0, None)
    assert await ragstone.documents(ME, "default") == []
    assert len(await ragstone.documents(Principal(groups=("hr",)), "default")) == 1


async def test_a_source_of_another_folder_has_only_that_ones_documents(
    ragstone: Ragstone, tmp_path: Path, house: Path
) -> None:
    other = tmp_path / "moved" / "house"
    other.mkdir(parents=True)
    (other / "menu.txt").write_text("On Monday there is fish.")
    (other / "rooms.txt").write_text("There are nine rooms.")
    (house / "garden.txt").write_text("The garden has a pond.")
    await add_folder(ragstone, house)
    await ragstone.sources.sync(ME, "house")
    await wait_for_run(ragstone, "house")

    await ragstone.sources.change(ME, "house", options={"path": str(other)}, operator=True)
    await ragstone.sources.sync(ME, "house")
    await wait_for_run(ragstone, "house", number=2)

    [run, _] = await ragstone.sources.runs(ME, "house")
    assert (run.state, run.added, run.removed, run.failed) == ("done", 2, 2, 0)
    found = [item.path for item in await ragstone.documents(ME, "default")]
    assert found == ["/house/menu.txt", "/house/rooms.txt"]
    text = await ragstone.reading.read(ME, "default", "/house/menu.txt", 0, 100)
    assert text.text == "On Monday there is fish."


@in_turn(
    ("change", "error", "sentence"),
    [
        ({}, InputError, "Nothing to change"),
        ({"every": 60.0, "cron": "0 6 * * *"}, InputError, "not both"),
        ({"every": 60.0, "by_hand": True}, InputError, "not both"),
        ({"cron": "soon"}, InputError, "Not a valid cron expression: 'soon'"),
        ({"every": 0.5}, InputError, "once a second at most"),
        ({"readers": ["hr"]}, InputError, "Not a valid reader"),
        ({"options": {"path": ""}}, InputError, "path: it is missing"),
        ({"options": {"path": "/nowhere"}}, SourceUnavailable, "is not a folder that can be"),
    ],
)
async def test_a_change_that_cannot_be_changes_nothing(
    ragstone: Ragstone, house: Path, change: dict[str, Any], error: type, sentence: str
) -> None:
    if not await ragstone.sources.list(ME):
        await add_folder(ragstone, house)
    before = await ragstone.sources.show(ME, "house")

    with pytest.raises(error, match=sentence):
        await ragstone.sources.change(ME, "house", operator=True, **change)

    assert await ragstone.sources.show(ME, "house") == before


@pytest.mark.usefixtures("vault")
async def test_the_kinds_are_told_with_what_a_form_asks_for(ragstone: Ragstone) -> None:
    kinds = {kind.name: kind for kind in await ragstone.sources.kinds(ME)}

    [path] = kinds["folder"].options
    assert (kinds["folder"].of_server, path.required, path.secret) == (True, True, False)
    assert kinds["folder"].help
    assert path.help
    assert not kinds["vault"].of_server
    assert kinds["vault"].options == (
        SourceOption("password", "", required=False, secret=True),
        SourceOption("address", "Where it is.", required=False, default="here"),
        SourceOption("deep", "", required=False, default="true", choices=("false", "true")),
        SourceOption("order", "", required=False, default="new", choices=("new", "old")),
    )


@pytest.mark.usefixtures("vault")
async def test_a_secret_is_named_and_neither_stored_nor_shown(
    ragstone: Ragstone, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGSTONE_SOURCE_VAULT", SECRET)
    named = {"password": "env:RAGSTONE_SOURCE_VAULT"}
    await ragstone.sources.add(ME, "vault", "vault", options=named, operator=True)
    await ragstone.sources.sync(ME, "vault")
    await wait_for_run(ragstone, "vault")

    assert (await ragstone.sources.show(ME, "vault")).options == named
    [document] = await ragstone.documents(ME, "default")
    text = await ragstone.reading.read(ME, "default", document.path, 0, 100)
    assert text.text == "The password has 16 letters."
    for file in settings.ragstone_data.rglob("*"):
        assert not file.is_file() or SECRET.encode() not in file.read_bytes(), file


@pytest.mark.usefixtures("vault")
@pytest.mark.parametrize("value", [SECRET, "env:HOME", "env:OPENAI_API_KEY"])
async def test_a_secret_that_is_written_out_or_is_not_for_sources_is_refused(
    ragstone: Ragstone, value: str
) -> None:
    with pytest.raises(InputError, match="such as env:RAGSTONE_SOURCE_PASSWORD") as raised:
        await ragstone.sources.add(ME, "vault", "vault", options={"password": value}, operator=True)

    assert SECRET not in str(raised.value)


@pytest.mark.usefixtures("vault")
async def test_a_variable_that_is_not_set_is_named(ragstone: Ragstone) -> None:
    named = {"password": "env:RAGSTONE_SOURCE_GONE"}
    with pytest.raises(ConfigError, match="has no RAGSTONE_SOURCE_GONE"):
        await ragstone.sources.add(ME, "vault", "vault", options=named, operator=True)


@pytest.mark.usefixtures("vault")
async def test_an_administrator_adds_sources_but_none_of_the_servers_files_and_secrets(
    ragstone: Ragstone, http: httpx2.AsyncClient, house: Path
) -> None:
    eva = bearer(await a_key(ragstone, "admin"))
    body = {"name": "house", "kind": "folder", "options": {"path": str(house)}}

    folder = await http.post("/api/v1/sources", json=body, headers=eva)
    lying = await http.post("/api/v1/sources", json={**body, "operator": True}, headers=eva)
    secret = {"password": "env:RAGSTONE_SOURCE_VAULT"}
    body = {"name": "vault", "kind": "vault"}
    named = await http.post("/api/v1/sources", json={**body, "options": secret}, headers=eva)
    plain = await http.post("/api/v1/sources", json=body, headers=eva)

    assert folder.status_code == 403
    assert "only its operator may say what" in folder.json()["error"]["message"]
    assert lying.status_code == 422
    assert named.status_code == 403
    assert plain.status_code == 200
    operation = operations()["sources.add"]
    call = {"principal": ME, "name": "h2", "kind": "folder", "options": {"path": str(house)}}
    local = await http.post(
        "/local/call/sources.add",
        json=operation.dump({**call, "operator": True}),
        headers={**eva, OPERATION_HEADER: operation.fingerprint},
    )
    assert "only its operator may say what" in local.text


@pytest.mark.usefixtures("vault")
async def test_an_administrator_sends_no_secret_of_the_operator_elsewhere(
    ragstone: Ragstone, http: httpx2.AsyncClient, house: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGSTONE_SOURCE_VAULT", SECRET)
    named = {"password": "env:RAGSTONE_SOURCE_VAULT", "address": "ours"}
    await ragstone.sources.add(ME, "vault", "vault", options=named, operator=True)
    await add_folder(ragstone, house)
    eva = bearer(await a_key(ragstone, "admin"))

    async def change(name: str, **body: Any) -> int:
        answer = await http.patch(f"/api/v1/sources/{name}", json=body, headers=eva)
        return answer.status_code

    assert await change("vault", options={"address": "theirs"}) == 403
    assert await change("house", options={"path": "/etc"}) == 403
    assert await change("house", every=60, readers=["group:hr"]) == 200
    assert (await ragstone.sources.show(ME, "vault")).options == named
    assert (await ragstone.sources.show(ME, "house")).options == {"path": str(house)}


@pytest.mark.parametrize("role", ["reader", "editor"])
async def test_only_administrators_have_sources(
    ragstone: Ragstone, http: httpx2.AsyncClient, house: Path, role: Any
) -> None:
    await add_folder(ragstone, house)
    headers = bearer(await a_key(ragstone, role))

    for method, path in (
        ("GET", "/api/v1/sources"),
        ("GET", "/api/v1/sources/house"),
        ("GET", "/api/v1/sources/house/runs"),
        ("POST", "/api/v1/sources/house/sync"),
        ("PATCH", "/api/v1/sources/house"),
        ("DELETE", "/api/v1/sources/house"),
    ):
        response = await http.request(method, path, headers=headers)
        assert response.status_code == 403, (method, path)


async def test_who_reaches_other_collections_or_is_of_another_tenant_has_none_of_these_sources(
    ragstone: Ragstone, http: httpx2.AsyncClient, house: Path
) -> None:
    await add_folder(ragstone, house)
    narrow = bearer(await a_key(ragstone, "admin", collections=["handbook"]))
    other = bearer(await a_key(ragstone, "admin", tenant="globex", user="otto"))
    own = bearer(await a_key(ragstone, "admin", user="ida", collections=["default"]))

    for headers in (narrow, other):
        assert (await http.get("/api/v1/sources", headers=headers)).json() == {"sources": []}
        for path in ("/house", "/house/runs"):
            response = await http.get(f"/api/v1/sources{path}", headers=headers)
            assert response.status_code == 404
    seen = (await http.get("/api/v1/sources", headers=own)).json()["sources"]
    assert [item["name"] for item in seen] == ["house"]
    with pytest.raises(Forbidden):
        await ragstone.sources.add(ME, "h2", "folder", options={"path": str(house)})


async def test_a_run_that_is_asked_for_right_after_another_sees_what_came_since(
    ragstone: Ragstone, house: Path
) -> None:
    await ragstone.sources.add(ME, "house", "folder", options={"path": str(house)}, operator=True)
    states = set()
    for number in range(12):
        (house / "menu.txt").write_text("On Monday there is fish." + "!" * number)
        run = await ragstone.sources.sync(ME, "house")
        async with asyncio.timeout(PATIENCE):
            while run.state == "running":
                await asyncio.sleep(0)
                runs = await ragstone.sources.runs(ME, "house")
                run = next(item for item in runs if item.id == run.id)
        states.add((run.state, run.added + run.changed))

    assert states == {("done", 1)}
