"""Rerankers: real servers in every shape, a chat model that ranks."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ragstone.build import open_adapters
from ragstone.core.answer import Usage
from ragstone.core.errors import ConfigError, ModelUnavailable
from ragstone.core.records import Collection
from ragstone.plugins.rerankers.endpoint import RemoteReranker
from ragstone.plugins.rerankers.listwise import ListwiseReranker, parse_ranking
from ragstone.ports import Said
from ragstone.settings import RerankSettings, Settings
from tests.engine.samples import a_chunk
from tests.http_server import running

COLLECTION = Collection("default", "default", "m", "m/1", 8, "en")
CHUNKS = [a_chunk("Cats purr."), a_chunk("Whales sing in the sea."), a_chunk("Ships sail.")]
QUESTION = "Who is it that can sing in the sea?"


@contextmanager
def a_server(answer: Callable[[dict[str, Any]], Response], seen: list[Any]) -> Iterator[str]:
    async def rerank(request: Request) -> Response:
        body = await request.json()
        seen.append((body, request.headers.get("authorization")))
        return answer(body)

    with running(Starlette(routes=[Route("/v1/rerank", rerank, methods=["POST"])])) as url:
        yield f"{url}/v1/rerank"


def a_reranker(url: str, **changes: Any) -> RemoteReranker:
    return RemoteReranker(RerankSettings(base_url=url, **changes))


def overlap(question: str, text: str) -> float:
    asked = set(question.lower().strip("?").split())
    return len(asked & set(text.lower().strip(".").split())) / len(asked)


def cohere(body: dict[str, Any]) -> Response:
    rows = [
        {"index": i, "relevance_score": overlap(body["query"], text), "document": {"text": text}}
        for i, text in enumerate(body["documents"])
    ]
    rows.sort(key=lambda row: -row["relevance_score"])
    return JSONResponse({"id": "1", "results": rows[: body["top_n"]], "meta": {}})


def tei(body: dict[str, Any]) -> Response:
    if "texts" not in body:
        return JSONResponse({"error": "missing field `texts`"}, 422)
    rows = [{"index": i, "score": overlap(body["query"], t)} for i, t in enumerate(body["texts"])]
    return JSONResponse(sorted(rows, key=lambda row: -row["score"]))


def logits(body: dict[str, Any]) -> Response:
    rows = [
        {"index": i, "relevance_score": 20 * overlap(body["query"], text) - 5}
        for i, text in enumerate(body["documents"])
    ]
    return JSONResponse({"model": "m", "results": rows})


@pytest.mark.parametrize("shape", [cohere, tei, logits])
async def test_given_an_endpoint_of_any_shape_then_its_scores_are_read(shape: Any) -> None:
    seen: list[Any] = []
    with a_server(shape, seen) as url:
        model = a_reranker(url, model="m", api_key=SecretStr("k"))
        for _ in range(2):
            judged = await model.judge(COLLECTION, QUESTION, CHUNKS)
            assert np.argsort(-judged.scores)[0] == 1
            assert np.all((judged.scores >= 0) & (judged.scores <= 1))
        await model.aclose()
    assert all(key == "Bearer k" for _, key in seen)
    assert len(seen) == (3 if shape is tei else 2)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Response("no", 401), "RERANK__API_KEY"),
        (Response("no", 503), "answered 503"),
        (Response("<html>", 200), "no JSON"),
        (JSONResponse({"results": [{"index": 0, "relevance_score": 0.5}]}), "every passage"),
        (JSONResponse({"results": [{"index": 9, "relevance_score": 0.5}]}), "what it should be"),
        (JSONResponse({"results": [{"index": 0, "relevance_score": None}]}), "what it should be"),
        (JSONResponse({"detail": "wrong"}, 422), "answered 422"),
        (JSONResponse({}), "what it should be"),
        (Response(json.dumps([{"index": 0, "score": float("nan")}])), "every passage"),
    ],
)
async def test_given_an_endpoint_that_answers_nonsense_then_a_clear_error(
    answer: Response, said: str
) -> None:
    with a_server(lambda body: answer, []) as url:
        model = a_reranker(url)
        with pytest.raises(ModelUnavailable, match=said):
            await model.judge(COLLECTION, QUESTION, CHUNKS)
        await model.aclose()


async def test_given_no_server_then_the_error_names_it_without_its_password() -> None:
    model = a_reranker("http://ann:hunter2@127.0.0.1:9/rerank?key=s3cret")
    with pytest.raises(ModelUnavailable) as raised:
        await model.judge(COLLECTION, QUESTION, CHUNKS)
    assert "127.0.0.1:9" in str(raised.value)
    assert "hunter2" not in str(raised.value)
    assert "s3cret" not in str(raised.value)
    await model.aclose()


class Ranking:
    """A chat model that says what it is told to."""

    name = "ranking"

    def __init__(self, reply: str) -> None:
        self.reply = reply
        self.asked: list[str] = []

    async def complete(self, rules: str, text: str, max_tokens: int) -> Said:
        self.asked.append(text)
        return Said(self.reply, finish="stop", usage=Usage(10, 5, 1))


async def test_given_a_chat_model_then_its_order_becomes_scores_and_its_tokens_count() -> None:
    model = Ranking("[2] > [3]")
    judged = await ListwiseReranker(model).judge(COLLECTION, QUESTION, CHUNKS)
    assert np.argsort(-judged.scores).tolist() == [1, 2, 0]
    assert (judged.weight, judged.usage) == (0.7, Usage(10, 5, 1))
    assert "Whales sing" in model.asked[0]


async def test_given_a_chat_model_that_ranks_nothing_then_the_order_stands() -> None:
    judged = await ListwiseReranker(Ranking("I cannot.")).judge(COLLECTION, "q", CHUNKS)
    assert judged.weight == 0


@pytest.mark.parametrize(
    ("said", "order"),
    [("[2] > [1] > [3]", [1, 0, 2]), ("3, 3, 99, 1", [2, 0]), ("none", []), ("0", [])],
)
def test_given_a_reply_then_each_existing_passage_is_named_once(
    said: str, order: list[int]
) -> None:
    assert parse_ranking(said, 3) == order


@pytest.mark.parametrize(
    ("rerank", "said"),
    [({"model": "llm"}, "LLM__MODEL"), ({"model": "bge-reranker"}, "RERANK__BASE_URL")],
)
async def test_given_settings_that_name_no_reranker_then_a_clear_error(
    rerank: dict[str, str], said: str, tmp_path: Path
) -> None:
    settings = Settings(ragstone_data=tmp_path, rerank=RerankSettings(**rerank))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=said):
        async with open_adapters(settings):
            pass
