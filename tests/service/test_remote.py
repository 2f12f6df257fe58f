"""A Ragstone in another process gives the same results and raises the same errors."""

import io
import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi import APIRouter, FastAPI, Request

from ragstone import __version__
from ragstone.core.errors import (
    EmptyQuestion,
    InputError,
    QuestionTooLong,
    RagstoneError,
    Unavailable,
    UnknownCollection,
    UnknownDocument,
    UnknownModel,
    VersionMismatch,
    WrongType,
)
from ragstone.core.events import Failed
from ragstone.core.filters import And, path_filter
from ragstone.core.turn import Ask, Message, Principal
from ragstone.http.app import create_app
from ragstone.ports import CacheFigures
from ragstone.remote import Remote, connect_service
from ragstone.service import Handed, IngestRequest, Service
from ragstone.service.server_file import find_server
from ragstone.settings import Settings
from tests.credentials import a_key
from tests.fake_service import FakeService
from tests.http_server import running
from tests.patience import wait_for

pytestmark = pytest.mark.slow

USER = Principal("default", "ann", ("staff", "ops"))


@pytest.fixture
def service() -> FakeService:
    return FakeService()


@pytest.fixture
def url(service: FakeService) -> Iterator[str]:
    with running(create_app(service, Settings(), "token")) as address:
        yield address


@pytest.fixture
async def remote(url: str) -> AsyncIterator[Service]:
    remote = connect_service(url, "token")
    yield remote
    await remote.aclose()


async def everything(items: AsyncIterator[Any]) -> list[Any]:
    return [item async for item in items]


async def test_the_same_events(remote: Service, service: FakeService) -> None:
    ask = Ask("q", USER, where=And((path_filter("/docs"),)), history=(Message("user", "before"),))
    assert await everything(remote.ask(ask)) == await everything(service.ask(ask))
    assert service.asked == [ask, ask]


async def test_the_same_results(remote: Service, service: FakeService) -> None:
    both: tuple[Service, Service] = (remote, service)
    ask = Ask("q", USER, top_k=1)
    request = IngestRequest(("/a/bad\udcff.pdf",), allowed=("user:ann",), prune=True)
    one, other = [
        (
            await s.search(ask),
            await everything(s.ingest(request)),
            await everything(s.rebuild("default", "default")),
            await s.collections(USER),
            await s.documents(USER, "default", limit=1, offset=1),
            await s.delete(USER, "default", ["/a", "/b"]),
            await s.delete(USER, "default"),
            await s.ready(),
        )
        for s in both
    ]
    assert one == other
    assert service.ingested == [request, request]
    assert service.deleted[0] == ("default", ("/a", "/b"))
    assert service.deleted[1] == ("default", None)


async def test_embed(remote: Service, service: FakeService) -> None:
    name, vectors = await remote.embed(["a", "bcd"])
    expected_name, expected = await service.embed(["a", "bcd"])
    assert name == expected_name
    assert np.array_equal(vectors, expected)


async def test_report(remote: Service, service: FakeService) -> None:
    assert await remote.report(Principal(), 7) == await service.report(Principal(), 7)
    assert (await remote.report(Principal("other"), 7)).days == ()


async def test_overview_names_the_server(remote: Service, url: str) -> None:
    assert (await remote.overview()).server == url


async def test_ready_of_a_broken_service(remote: Service, service: FakeService) -> None:
    service.health = {"index": "gone"}
    assert await remote.ready() == {"index": "gone"}


async def test_the_same_errors(remote: Service) -> None:
    for question, kind in (
        (Ask(""), EmptyQuestion),
        (Ask("x" * 100_000), QuestionTooLong),
        (Ask("q", collection="nowhere"), UnknownCollection),
        (Ask("root"), RagstoneError),
    ):
        with pytest.raises(kind) as caught:
            await everything(remote.ask(question))
        assert type(caught.value) is kind
        with pytest.raises(kind):
            await remote.search(question)
    with pytest.raises(UnknownCollection):
        await everything(remote.rebuild("default", "nowhere"))
    with pytest.raises(UnknownDocument, match="'/nowhere'"):
        await remote.delete(USER, "default", ["/nowhere"])
    with pytest.raises(UnknownModel):
        await remote.embed(["a"], "none")


async def test_failure_in_the_middle(remote: Service) -> None:
    events = await everything(remote.ask(Ask("breaks later")))
    assert isinstance(events[-1], Failed)
    assert events[-1].error.message == "The model went away."


async def test_leaving_cancels(remote: Service, service: FakeService) -> None:
    async with aclosing(remote.ask(Ask("endless"))) as events:  # type: ignore[type-var]
        await anext(events)
    assert wait_for(lambda: service.closed == ["endless"])


async def test_an_upload_is_named_for_an_ingest(tmp_path: Path) -> None:
    service = FakeService()
    with running(create_app(service, Settings(ragstone_data=tmp_path), "token")) as url:
        remote = Remote(url, await a_key(service, "editor"))
        handle = await remote.upload(io.BytesIO(b"# Lamp"), "lamp.md")
        with pytest.raises(WrongType):
            await remote.upload(io.BytesIO(b"# Lamp"), "lamp.exe")
        await remote.aclose()
        given = IngestRequest(handed=(Handed(handle, "", ""),))
        service_of_key = connect_service(url, await a_key(service, "editor", user="max"))
        with pytest.raises(InputError, match="no upload"):
            await everything(service_of_key.ingest(given))
        await service_of_key.aclose()
    assert [file.name for file in (tmp_path / "spool").glob(f"{handle}-*/*")] == ["lamp.md"]


async def test_wrong_token(url: str) -> None:
    remote = connect_service(url, "wrong")
    with pytest.raises(RagstoneError, match="token"):
        await remote.overview()
    await remote.aclose()


@pytest.fixture
def earlier() -> Iterator[tuple[str, list[str]]]:
    """A server of before there were versions, and what it was asked for."""
    asked, routes = list[str](), APIRouter()

    @routes.get("/local/overview")
    async def overview() -> dict[str, str]:
        return {"version": "0.0.9"}

    app = FastAPI()
    app.include_router(routes)

    @app.middleware("http")
    async def noted(request: Request, answer: Any) -> Any:
        asked.append(request.url.path)
        return await answer(request)

    with running(app) as url:
        yield url, asked


async def test_an_earlier_server_is_to_be_restarted_and_does_nothing(
    earlier: tuple[str, list[str]],
) -> None:
    url, asked = earlier
    remote = connect_service(url, "token")
    message = (
        f"The server at {url} is Ragstone 0.0.9 in an earlier build, which does not understand "
        f"calls of Ragstone {__version__}. Stop it and start it again with this version."
    )
    with pytest.raises(VersionMismatch) as caught:
        await remote.delete(USER, "default")
    assert caught.value.message == message
    with pytest.raises(VersionMismatch) as caught:
        await everything(remote.ask(Ask("q")))
    assert caught.value.message == message
    await remote.aclose()
    calls = {path for path in asked if path != "/local/overview"}
    assert calls == {"/local/call/delete", "/local/call/ask"}


async def test_a_server_that_is_something_else() -> None:
    with running(FastAPI()) as url:
        remote = connect_service(url, "token")
        with pytest.raises(VersionMismatch, match="is not a Ragstone, or an early one"):
            await remote.overview()
        await remote.aclose()


async def test_a_server_that_is_gone() -> None:
    remote = connect_service("http://127.0.0.1:9", "token")
    with pytest.raises(Unavailable, match="stopped answering"):
        await remote.overview()
    with pytest.raises(Unavailable):
        await everything(remote.ask(Ask("q")))
    await remote.aclose()


async def test_a_server_that_breaks_in_the_middle(remote: Service) -> None:
    with pytest.raises(Unavailable):
        await everything(remote.ask(Ask("bug")))


def publish(data: Path, content: Any) -> None:
    (data / "server.json").write_text(content if isinstance(content, str) else json.dumps(content))


def test_find_server(tmp_path: Path, url: str) -> None:
    assert find_server(tmp_path) is None
    device = tmp_path.stat().st_dev
    publish(tmp_path, {"url": url, "pid": os.getpid(), "token": "token", "device": device})
    assert find_server(tmp_path) == (url, "token")


def test_the_file_of_a_dead_server_is_ignored(tmp_path: Path, url: str) -> None:
    for content in (
        {"url": "http://127.0.0.1:9", "token": "token"},
        {"url": url, "token": "of another server"},
        {"url": "nonsense:x:y", "token": "token"},
        {"url": "http://127.0.0.1:99999", "token": "token"},
        {"url": url, "token": "token"},
        {"url": url, "token": "token", "device": tmp_path.stat().st_dev + 1},
        {"url": ""},
        [],
        "",
        "{",
    ):
        publish(tmp_path, content)
        assert find_server(tmp_path) is None


async def test_the_cache_of_the_server_is_reached(remote: Service) -> None:
    assert await remote.cache_figures() == CacheFigures("memory", True, 3, 2, 1, 4.5)
    assert await remote.clear_cache() == 3
    assert await remote.rebuild_cache() == 1
