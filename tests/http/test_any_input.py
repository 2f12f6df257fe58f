"""Whatever a client sends, the server does not break."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as with_settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from ragstone.http.app import create_app
from ragstone.settings import Settings
from tests.fake_service import MODEL, FakeService

# "bug" and "broken" make the fake service fail on purpose; no other text does.
leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(codec=None), max_size=10),
    st.sampled_from(["ragstone", MODEL, "default", "user", "system", "text", "base64", "/nowhere"]),
)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(["role", "content", "type", "text", "and", "or", "not", "any_of"]),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=10,
)
messages = st.lists(
    st.fixed_dictionaries({"role": st.just("user") | values, "content": values}), max_size=3
)
fields = st.fixed_dictionaries(
    {},
    optional={
        "model": st.sampled_from(["ragstone", MODEL]) | values,
        "messages": messages | values,
        "input": values,
        "question": values,
        "collection": st.just("default") | values,
        "tenant": values,
        "paths": values,
        "texts": values,
        "principal": st.just({}) | values,
        "where": values,
        "query": values,
        "queries": st.lists(values, max_size=3) | values,
        "message": values,
        "session_id": values,
        "sync": values,
        "path": values,
        "functions": values,
        "function_call": values,
        **dict.fromkeys(
            ("stream", "stream_options", "n", "stop", "temperature", "max_tokens"), values
        ),
        **dict.fromkeys(("level", "top_k", "trace", "dimensions", "encoding_format"), values),
    },
)


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    app = create_app(FakeService(), Settings(), "token")
    headers = {"authorization": "Bearer token", "content-type": "application/json"}
    with TestClient(
        app, base_url="http://127.0.0.1", headers=headers, raise_server_exceptions=False
    ) as client:
        yield client


@pytest.mark.parametrize(
    "path",
    [
        "/v1/chat/completions",
        "/v1/embeddings",
        "/api/v1/retrieval/retrieve",
        "/api/v1/document/search_rerank",
        "/api/v1/rag/generate",
        "/api/v1/rag/generate/stream",
        "/api/v1/rag/batch",
        "/api/v1/rag/query",
        "/api/v1/rag/query-stream",
        "/chat/known/stream",
        "/chat/known/documents",
        "/Plone/@rag-ask",
        "/plone/webhook",
        "/plone/visitor",
        "/plone/settings",
    ],
)
@with_settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(body=fields | values)
def test_any_json(client: TestClient, path: str, body: Any) -> None:
    response = client.post(path, content=json.dumps(body).encode())
    assert response.status_code < 500, response.text
    if response.status_code >= 400:
        assert len(response.json()["error"]["message"]) < 500


@with_settings(max_examples=60)
@given(content=st.binary(max_size=50))
def test_any_bytes(client: TestClient, content: bytes) -> None:
    assert client.post("/v1/chat/completions", content=content).status_code in (400, 404)
