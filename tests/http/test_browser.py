"""The streams as a real browser reads them: transcripts, other origins, leaving, breaking."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ragstone.http.app import create_app
from ragstone.settings import ServerSettings, Settings
from tests.browser import chromium
from tests.fake_jobs import ToldJobs
from tests.fake_service import FakeService
from tests.http.page_server import Site
from tests.http.sites import Sites
from tests.http.transcripts import data, here, names, same, transcripts
from tests.http_server import running
from tests.patience import PATIENCE

DIALECTS = ("chat_core", "rag_v1", "chats", "pipeline", "openai", "jobs")
FILES = [file for dialect in DIALECTS for file in transcripts(dialect)]
STREAMS = [file for file in FILES if '"events": [' in file.read_text(encoding="utf-8")]
REFUSALS = [file for file in FILES if file.stem.startswith("error_")]
FOREIGN = [file for file in STREAMS if file.stem.endswith(("languages", "events"))]
ENDLESS: dict[str, tuple[str, Any]] = {
    "chat_core": ("/v2/rag/query", {"query": "endless"}),
    "rag_v1_generate": ("/api/v1/rag/generate/stream", {"query": "endless"}),
    "rag_v1_query": ("/api/v1/rag/query-stream", {"query": "endless"}),
    "chats": ("/chat/known/stream", {"message": "endless"}),
    "pipeline": ("/api/v1/chat/completions", {"message": "endless", "stream": True}),
    "openai": (
        "/v1/chat/completions",
        {"model": "ragstone", "messages": [{"role": "user", "content": "endless"}], "stream": True},
    ),
}
QUESTION = ("/v2/rag/query", {"query": "What is the answer?"})
CLOSED = 2
"""`EventSource.CLOSED`: it does not try again."""


@pytest.fixture(scope="module")
def sites() -> Iterator[Sites]:
    service = FakeService(jobs=ToldJobs())
    app = create_app(service, Settings(), "token")
    with chromium() as chrome, running(Site(app)) as plain, running(Site(app, cut=7)) as cut:
        shop = plain.replace("127.0.0.1", "shop.example")
        settings = Settings(server=ServerSettings(cors_origins=(shop,)))
        with running(create_app(service, settings, "token")) as shared:
            yield Sites(chrome, service, plain, cut, shared)


@pytest.fixture(autouse=True)
def forgotten(sites: Sites) -> None:
    """What earlier tests asked."""
    sites.service.asked.clear()
    sites.service.closed.clear()
    sites.service.jobs.closed.clear()


def post(body: Any, **headers: str) -> dict[str, Any]:
    sent = {"content-type": "application/json", **headers}
    return {"method": "POST", "headers": sent, "body": json.dumps(body)}


def asked(file: Path) -> tuple[Any, str, dict[str, Any]]:
    """A transcript, the address that it asks, and how a page does that."""
    golden = json.loads(file.read_text(encoding="utf-8"))
    request = dict(golden["request"])
    method = request.get("method", "POST")
    body = post(request["json"]) if "json" in request else {}
    return golden, request["path"], {**body, "method": method}


def agrees(found: Any, golden: Any, place: str) -> None:
    same([data(event["data"]) for event in found["events"]], golden["events"], place)
    assert [event["name"] for event in found["events"]] == names(golden)


def until(so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def of(file: Path) -> str:
    return f"{file.parent.name}-{file.stem}"


@pytest.mark.parametrize("file", FILES, ids=of)
def test_given_a_transcript_then_fetch_reads_the_same(sites: Sites, file: Path) -> None:
    golden, path, request = asked(file)
    sites.page()
    found = sites.fetched(path, request)
    assert found["status"] == golden["status"]
    assert found["broken"] == ""
    if "events" in golden:
        agrees(found, golden, file.stem)
    else:
        same(found["json"], here(golden["json"], sites.plain), file.stem)


@pytest.mark.parametrize("file", STREAMS, ids=of)
def test_given_a_transcript_then_event_source_reads_the_same(sites: Sites, file: Path) -> None:
    golden, path, request = asked(file)
    sites.page()
    found = sites.sourced(path, request)
    assert found["opened"] == 1
    agrees(found, golden, file.stem)


@pytest.mark.parametrize("file", REFUSALS, ids=of)
def test_given_an_error_before_the_stream_then_event_source_does_not_try_again(
    sites: Sites, file: Path
) -> None:
    _, path, request = asked(file)
    sites.page()
    assert sites.sourced(path, request) == {"opened": 0, "events": [], "state": CLOSED}


@pytest.mark.parametrize("file", FOREIGN, ids=of)
def test_given_events_in_pieces_of_seven_bytes_then_every_letter_is_whole(
    sites: Sites, file: Path
) -> None:
    golden, path, request = asked(file)
    sites.page(sites.cut)
    found = sites.fetched(path, request)
    agrees(found, golden, file.stem)
    assert found["chunks"] > len(golden["events"])
    agrees(sites.sourced(path, request), golden, file.stem)


def test_given_a_stream_that_ended_then_event_source_asks_again_unless_it_is_closed(
    sites: Sites,
) -> None:
    sites.page()
    found = sites.sourced("/api/v1/jobs/told/events", most=4)
    assert [event["name"] for event in found["events"]] == ["progress"] * 2 + ["done", "progress"]
    assert found["opened"] == 2


@pytest.mark.parametrize("stream", ENDLESS)
@pytest.mark.parametrize("how", ["fetched", "sourced"])
def test_given_a_page_that_stops_reading_then_the_answer_is_cancelled(
    sites: Sites, stream: str, how: str
) -> None:
    path, body = ENDLESS[stream]
    sites.page()
    found = getattr(sites, how)(path, post(body), most=20)
    assert len(found["events"]) == 20
    until(lambda: sites.service.closed == ["endless"])


def test_given_an_event_source_that_is_closed_then_the_job_is_watched_no_more(
    sites: Sites,
) -> None:
    sites.page()
    found = sites.sourced("/api/v1/jobs/running/events", most=2)
    assert len(found["events"]) == 2
    until(lambda: sites.service.jobs.closed == ["running"])


@pytest.mark.parametrize("stream", ENDLESS)
def test_given_a_tab_that_is_closed_then_the_answer_is_cancelled(sites: Sites, stream: str) -> None:
    path, body = ENDLESS[stream]
    sites.page()
    before = sites.chrome.current_window_handle
    sites.chrome.switch_to.new_window("tab")
    sites.page()
    yielded = sites.service.yielded
    sites.chrome.execute_script("fetched(...arguments)", path, post(body))
    until(lambda: sites.service.yielded > yielded + 20)
    assert sites.service.closed == []
    sites.chrome.close()
    sites.chrome.switch_to.window(before)
    until(lambda: sites.service.closed == ["endless"])


def test_given_a_stream_that_is_cut_off_then_the_page_is_told(sites: Sites) -> None:
    sites.page()
    path, _ = ENDLESS["pipeline"]
    found = sites.fetched(path, post({"message": "bug", "stream": True}))
    assert (found["status"], found["broken"]) == (200, "TypeError")
    # A browser drops what it has not yet handed to the page when the connection fails.
    assert [data(event["data"])["type"] for event in found["events"]] in ([], ["sources"])
    found = sites.fetched("/chat/known/stream", post({"message": "bug"}))
    assert (found["status"], found["json"]["error"]["code"]) == (500, "error")


class TestOtherOrigins:
    """A page of another site, with and without leave to use this server."""

    @pytest.mark.parametrize("file", STREAMS[::4], ids=of)
    def test_given_leave_then_it_reads_the_same(self, sites: Sites, file: Path) -> None:
        golden, path, request = asked(file)
        sites.page(sites.named("shop.example"))
        found = sites.fetched(sites.shared + path, request)
        assert found["status"] == golden["status"]
        agrees(found, golden, file.stem)

    def test_given_leave_then_event_source_reads_the_same(self, sites: Sites) -> None:
        [file] = transcripts("jobs")
        golden, path, _ = asked(file)
        sites.page(sites.named("shop.example"))
        agrees(sites.sourced(sites.shared + path), golden, file.stem)

    @pytest.mark.parametrize(
        ("query", "status", "detail"),
        [("", 400, "empty_question"), ("too many", 503, "busy"), ("root", 500, "error")],
    )
    def test_given_leave_then_it_sees_what_is_wrong(
        self, sites: Sites, query: str, status: int, detail: str
    ) -> None:
        sites.page(sites.named("shop.example"))
        found = sites.fetched(sites.shared + QUESTION[0], post({"query": query}))
        assert (found["status"], found["json"]["detail"]) == (status, detail)
        assert found["headers"].get("retry-after") == ("7" if status == 503 else None)
        assert found["headers"]["x-request-id"]

    def test_given_leave_then_it_may_send_a_credential(self, sites: Sites) -> None:
        sites.page(sites.named("shop.example"))
        request = post(QUESTION[1], authorization="Bearer some", **{"x-api-key": "some"})
        found = sites.fetched(sites.shared + QUESTION[0], request)
        assert (found["status"], len(sites.service.asked)) == (200, 1)
        assert data(found["events"][-1]["data"])["type"] == "done"

    def test_given_leave_then_it_sees_that_something_broke(self, sites: Sites) -> None:
        sites.page(sites.named("shop.example"))
        found = sites.fetched(sites.shared + "/chat/known/stream", post({"message": "bug"}))
        assert found["status"] == 500

    @pytest.mark.parametrize(
        ("page", "server"),
        [("evil.example", "shared"), ("shop.example", "plain"), ("localhost", "shared")],
    )
    def test_given_no_leave_then_nothing_is_asked_and_nothing_read(
        self, sites: Sites, page: str, server: str
    ) -> None:
        sites.page(sites.named(page))
        url = getattr(sites, server)
        assert sites.fetched(url + QUESTION[0], post(QUESTION[1])) == {"broke": "TypeError"}
        found = sites.sourced(url + "/api/v1/jobs/told/events")
        assert found == {"opened": 0, "events": [], "state": CLOSED}
        assert sites.service.asked == []

    def test_given_no_leave_then_a_request_that_is_sent_unasked_is_refused(
        self, sites: Sites
    ) -> None:
        sites.page(sites.named("evil.example"))
        body = json.dumps(QUESTION[1])
        request = {"method": "POST", "mode": "no-cors", "body": body}
        script = "fetch(given[0], given[1]).then(({ type, status }) => [type, status])"
        assert sites.run(script, sites.shared + QUESTION[0], request) in (
            ["opaque", 0],
            {"broke": "TypeError"},
        )
        assert sites.service.asked == []
