"""Requests are found again: their ids in answers, logs and spans, never what was asked."""

import io
import json
import logging
from collections.abc import AsyncIterator, Iterator

import httpx2
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ragstone.cli.running import _Json
from ragstone.core.correlation import correlation
from ragstone.settings import Settings
from ragstone.telemetry.spans import Telemetry
from tests.fake_service import FakeService, limited_app

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.fixture
def spans() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
async def http(spans: InMemorySpanExporter) -> AsyncIterator[httpx2.AsyncClient]:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    telemetry = Telemetry(provider.get_tracer("test"))
    app = limited_app(FakeService(), Settings(), telemetry)
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(_Json())
    logger = logging.getLogger("ragstone")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield written
    logger.removeHandler(handler)
    logger.setLevel(level)


async def ask(
    http: httpx2.AsyncClient, question: str = "What is the secret of Zoltan?", **headers: str
) -> httpx2.Response:
    body = {"model": "ragstone", "messages": [{"role": "user", "content": question}]}
    return await http.post("/v1/chat/completions", json=body, headers=headers)


async def test_given_an_id_then_the_answer_and_the_log_have_it(
    http: httpx2.AsyncClient, log: io.StringIO
) -> None:
    response = await ask(http, **{"x-request-id": "order-7"})
    assert response.headers["x-request-id"] == "order-7"
    [line] = [
        json.loads(splitline) for splitline in log.getvalue().splitlines() if "chat" in splitline
    ]
    assert (line["request_id"], line["status"], line["method"]) == ("order-7", 200, "POST")
    assert line["route"] == "/v1/chat/completions"
    assert "Zoltan" not in log.getvalue()


@pytest.mark.parametrize("bad", ["", "a b", "x" * 200, "a\tb", "ä"])
def test_given_an_id_that_is_none_then_another_is_made(bad: str) -> None:
    assert len(correlation(bad, "").request) == 32


@pytest.mark.parametrize(
    "bad",
    ["", "00", f"ff-{TRACE}-{PARENT}-01", f"00-{'0' * 32}-{PARENT}-01", f"00-xyz-{PARENT}-01"],
)
def test_given_a_trace_that_is_none_then_another_is_made(bad: str) -> None:
    names = correlation("", bad)
    assert names.trace != TRACE
    assert len(names.trace) == 32
    assert names.parent == ""


async def test_given_a_trace_then_the_spans_belong_to_it(
    http: httpx2.AsyncClient, spans: InMemorySpanExporter
) -> None:
    await ask(http, traceparent=f"00-{TRACE}-{PARENT}-01")
    found = {span.name: span for span in spans.get_finished_spans()}
    assert {f"{span.context.trace_id:032x}" for span in found.values() if span.context} == {TRACE}
    request, question = found["POST"], found["ragstone.question"]
    assert request.parent
    assert f"{request.parent.span_id:016x}" == PARENT
    assert question.parent
    assert request.context
    assert question.parent.span_id == request.context.span_id
    assert question.attributes
    assert question.attributes["ragstone.level"] == "standard"
    assert "ragstone.engine.stage retrieve" in found
    chat = next(span for name, span in found.items() if name.startswith("chat "))
    assert chat.attributes
    assert chat.attributes["gen_ai.usage.input_tokens"] == 7
    assert "Zoltan" not in "".join(span.to_json() for span in found.values())


async def test_given_a_failure_then_its_span_is_an_error(
    http: httpx2.AsyncClient, spans: InMemorySpanExporter
) -> None:
    await ask(http, "broken")
    [question] = [s for s in spans.get_finished_spans() if s.name == "ragstone.question"]
    assert not question.status.is_ok
    assert question.attributes
    assert question.attributes["error.type"]


async def test_given_a_probe_then_it_leaves_no_line_and_no_span(
    http: httpx2.AsyncClient, spans: InMemorySpanExporter, log: io.StringIO
) -> None:
    response = await http.get("/health")
    assert response.headers["x-request-id"]
    assert not spans.get_finished_spans()
    assert not log.getvalue()
