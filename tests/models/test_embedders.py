"""The embedders: the real bundled models, and a real server for the remote one."""

import asyncio
import gc
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import pytest
import uvicorn
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from ragstone import build
from ragstone.core.errors import ConfigError, EmbeddingMismatch, ModelUnavailable
from ragstone.core.records import Collection
from ragstone.language.late_interaction import maxsim, unpack_tokens
from ragstone.models import onnx
from ragstone.models.embedders import ConfiguredEmbedders
from ragstone.models.minilm import MiniLm
from ragstone.models.multilingual import MultilingualE5
from ragstone.ports import Embedder, LateEmbedder
from ragstone.settings import EmbeddingSettings, Settings
from tests.patience import until

pytestmark = pytest.mark.slow

TEXTS = ["A whale is a mammal.", "The stock market fell.", "", "x" * 5000, "Wale singen."]


@pytest.fixture(scope="module", params=[MiniLm, MultilingualE5])
def bundled(request: pytest.FixtureRequest) -> Embedder:
    embedder: Embedder = request.param()
    return embedder


async def test_given_texts_when_embedded_then_each_has_one_unit_vector_in_order(
    bundled: Embedder,
) -> None:
    vectors = await bundled.embed_passages(TEXTS)
    assert vectors.shape == (len(TEXTS), bundled.dimensions)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)
    alone = await bundled.embed_passages(TEXTS[1:2])
    assert float(alone[0] @ vectors[1]) > 0.98


async def test_given_a_question_then_the_passage_that_answers_is_nearest(
    bundled: Embedder,
) -> None:
    passages = await bundled.embed_passages(
        ["Paris is the capital of France.", "Bread is baked from flour.", "Whales live at sea."]
    )
    [query] = await bundled.embed_queries(["Which city is France's seat of government?"])
    assert int(np.argmax(passages @ query)) == 0


async def test_given_another_language_then_the_multilingual_model_still_finds_the_passage() -> None:
    model = MultilingualE5()
    passages = await model.embed_passages(["Bread is baked from flour.", "Whales live at sea."])
    [query] = await model.embed_queries(["Wo leben Wale?"])
    assert int(np.argmax(passages @ query)) == 1


async def test_given_a_nul_character_then_the_text_after_it_counts() -> None:
    model = MultilingualE5()
    vectors = await model.embed_passages(["a\0whale", "a", "a whale"])
    assert vectors[0] @ vectors[2] > vectors[0] @ vectors[1]


async def test_given_many_callers_at_once_then_each_gets_its_own(bundled: Embedder) -> None:
    texts = [f"Sentence number {i} about topic {i % 5}." for i in range(12)]
    alone = await bundled.embed_queries(texts)
    together = await asyncio.gather(*(bundled.embed_queries([text]) for text in texts))
    assert all(float(item[0] @ row) > 0.98 for item, row in zip(together, alone, strict=True))


def _threads() -> list[threading.Thread]:
    """Those of bundled models."""
    return [item for item in threading.enumerate() if item.name.startswith(("minilm", "e5"))]


async def test_given_data_directories_that_are_closed_then_their_models_are_gone_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While two are open they share a model; what is left of them waits for no collector."""
    monkeypatch.setattr(onnx, "opened", WeakValueDictionary())
    before = set(_threads())
    gc.disable()
    try:
        async with (
            build.open(Settings(ragstone_data=tmp_path / "one")) as one,
            build.open(Settings(ragstone_data=tmp_path / "two")) as other,
        ):
            for service in (one, other):
                await service.embed(["a whale"])
            assert len(onnx.opened) == 1
        assert len(onnx.opened) == 0
        assert await until(lambda: set(_threads()) <= before, 10)
    finally:
        gc.enable()


async def test_given_nothing_then_no_vectors() -> None:
    assert (await MultilingualE5().embed_passages([])).shape == (0, 384)
    assert (await MiniLm().embed_passages([])).shape == (0, 384)


def a_collection(fingerprint: str, language: str = "en") -> Collection:
    return Collection("default", "c", "m", fingerprint, 384, language)


def test_given_auto_then_english_gets_the_english_model_and_others_the_multilingual() -> None:
    embedders = ConfiguredEmbedders(EmbeddingSettings())
    assert embedders.choose("en").name == "all-MiniLM-L6-v2"
    assert embedders.choose("de").name == "multilingual-e5-small"
    assert embedders.choose("mul").name == "multilingual-e5-small"
    for language in ("en", "zh"):
        embedder = embedders.choose(language)
        assert embedders.find_indexing(a_collection(embedder.fingerprint, language)) is embedder


def test_given_a_model_by_name_then_it_alone_is_used_and_another_index_is_a_clear_error() -> None:
    embedders = ConfiguredEmbedders(EmbeddingSettings(model="minilm"))
    assert embedders.choose("zh").name == "all-MiniLM-L6-v2"
    with pytest.raises(EmbeddingMismatch, match="ragstone rebuild --collection c"):
        embedders.find_indexing(a_collection(MultilingualE5.fingerprint))


@pytest.mark.parametrize(
    "settings",
    [
        EmbeddingSettings(model="bge-m3"),
        EmbeddingSettings(base_url="http://127.0.0.1:1/v1"),
    ],
)
def test_given_half_a_configuration_then_a_clear_error(settings: EmbeddingSettings) -> None:
    with pytest.raises(ConfigError, match="EMBEDDING__"):
        ConfiguredEmbedders(settings)


@dataclass
class Server:
    """A small embedding server: letters counted."""

    url: str = ""
    broken: Any = None
    seen: list[dict[str, Any]] = field(default_factory=list)

    async def embeddings(self, request: Request) -> JSONResponse:
        body = await request.json()
        self.seen.append({**body, "key": request.headers.get("authorization")})
        if self.broken is not None:
            status, answer = self.broken
            return JSONResponse(answer, status)
        rows = [
            {"index": i, "embedding": [len(text) + 1.0, text.count("a") + 0.5, 1.0]}
            for i, text in enumerate(body["input"])
        ]
        return JSONResponse({"data": rows[::-1]})


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server()
    routes = [Route("/v1/embeddings", state.embeddings, methods=["POST"])]
    config = uvicorn.Config(Starlette(routes=routes), port=0, log_level="error")
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run)
    thread.start()
    while not running.started:
        threading.Event().wait(0.01)
    port = running.servers[0].sockets[0].getsockname()[1]
    state.url = f"http://127.0.0.1:{port}/v1"
    yield state
    running.should_exit = True
    thread.join()


async def a_remote(server: Server, **changes: Any) -> ConfiguredEmbedders:
    settings = EmbeddingSettings(model="m", base_url=server.url, **changes)
    embedders = ConfiguredEmbedders(settings)
    await embedders.connect()
    return embedders


async def test_given_a_server_then_its_vectors_come_in_order_in_batches(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragstone.models.remote_embedder.BATCH", 2)
    embedders = await a_remote(server, api_key=SecretStr("k"))
    embedder = embedders.choose("en")
    assert embedder.dimensions == 3
    vectors = await embedder.embed_passages(["", "aa", "bbbb"])
    assert vectors.shape == (3, 3)
    assert vectors[0][0] < vectors[2][0]
    assert sorted(len(s["input"]) for s in server.seen) == [1, 1, 2]
    assert server.seen[0]["key"] == "Bearer k"
    assert embedders.find_indexing(a_collection(embedder.fingerprint)) is embedder
    await embedders.aclose()


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ((401, {}), "EMBEDDING__API_KEY"),
        ((500, {}), "500"),
        ((200, {"nonsense": 1}), "not what it should be"),
        ((200, {"data": []}), "shape"),
        ((200, {"data": [{"index": 0, "embedding": [1.0]}]}), "shape"),
    ],
)
async def test_given_a_server_that_misbehaves_then_model_unavailable(
    server: Server, broken: Any, message: str
) -> None:
    embedders = await a_remote(server)
    server.broken = broken
    with pytest.raises(ModelUnavailable, match=message):
        await embedders.choose("en").embed_queries(["a"])
    await embedders.aclose()


async def test_given_no_server_then_the_error_names_its_url() -> None:
    settings = EmbeddingSettings(model="m", base_url="http://127.0.0.1:9/v1")
    embedders = ConfiguredEmbedders(settings)
    with pytest.raises(ModelUnavailable, match="127.0.0.1:9"):
        await embedders.connect()
    await embedders.aclose()


def test_given_a_model_that_is_not_loaded_yet_then_it_is_known_to_give_token_vectors() -> None:
    assert isinstance(MiniLm(), LateEmbedder)
    assert not isinstance(MultilingualE5(), LateEmbedder)


async def test_given_texts_then_one_pass_gives_the_same_vectors_and_token_vectors_that_match() -> (
    None
):
    model = MiniLm()
    texts = ["Whales sing in the deep sea.", "A cat purrs.", ""]
    vectors, packed = await model.embed_with_tokens(texts)
    assert np.allclose(vectors, await model.embed_passages(texts), atol=1e-5)
    passages = [unpack_tokens(item, model.token_scale()) for item in packed]
    question = (await model.embed_question("Which animals sing in the sea?")).tokens
    assert question is not None
    assert len(question.ids) == len(question.vectors)
    weights = model.token_weights(question.ids.tolist(), np.ones(len(question.ids), np.float32))
    scores = maxsim(question, weights, passages)
    assert int(np.argmax(scores)) == 0
    [ids] = await model.token_ids(texts[:1])
    assert ids == passages[0].ids.tolist()
    assert len(passages[0].vectors) < len(ids)
