"""The official `openai` client against a real server process on real documents."""

import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import openai
import pytest

from tests.documents import copied
from tests.e2e.processes import serving
from tests.patience import PATIENCE

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(indexed_documents: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    data = copied(indexed_documents, tmp_path_factory.mktemp("server") / "data")
    with serving(data) as url:
        yield url


@pytest.fixture
def client(server: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server}/v1", api_key="none", max_retries=0) as made:
        yield made


QUESTION = "How long does a full battery charge last without sun?"


def test_given_a_question_then_the_answer_has_markers_and_its_sources(
    client: openai.OpenAI,
) -> None:
    done = client.chat.completions.create(
        model="ragstone", messages=[{"role": "user", "content": QUESTION}]
    )
    answer = done.choices[0].message.content or ""
    assert "31 days" in answer
    assert "[1]" in answer
    assert done.choices[0].finish_reason == "stop"
    sources = done.model_extra["ragstone"]["sources"]  # type: ignore[index]
    cited = [source for source in sources if source["cited"]]
    assert cited[0]["path"] == "/documents/lantern-3-manual.md"
    assert "31 days" in " ".join(cited[0]["snippet"].split())


def test_given_a_stream_then_it_says_the_same(client: openai.OpenAI) -> None:
    messages = [{"role": "user", "content": QUESTION}]
    whole = client.chat.completions.create(model="ragstone", messages=messages)  # type: ignore[arg-type]
    pieces, usage = [], None
    stream = client.chat.completions.create(
        model="ragstone",
        messages=messages,  # type: ignore[arg-type]
        stream=True,
        stream_options={"include_usage": True},
    )
    for chunk in stream:
        usage = chunk.usage or usage
        pieces += [choice.delta.content or "" for choice in chunk.choices]
    assert "".join(pieces) == whole.choices[0].message.content
    assert usage is not None


def test_given_models_and_embeddings_then_the_client_understands_them(
    client: openai.OpenAI,
) -> None:
    names = {model.id for model in client.models.list()}
    assert {"ragstone", "ragstone-basic", "all-MiniLM-L6-v2"} <= names
    found = client.embeddings.create(model="all-MiniLM-L6-v2", input=["a whale", "a cat"])
    vectors = np.array([row.embedding for row in found.data])
    assert vectors.shape == (2, 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)


@pytest.mark.parametrize(
    ("question", "extra", "error"),
    [
        ("", {}, openai.BadRequestError),
        ("x" * 100_000, {}, openai.BadRequestError),
        (QUESTION, {"collection": "nowhere"}, openai.NotFoundError),
        (QUESTION, {"level": "genius"}, openai.BadRequestError),
        (QUESTION, {"passages": -1}, openai.BadRequestError),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_given_wrong_input_then_the_clients_own_error(
    client: openai.OpenAI,
    question: str,
    extra: dict[str, object],
    error: type[Exception],
    stream: bool,
) -> None:
    with pytest.raises(error) as caught:
        client.chat.completions.create(
            model="ragstone",
            messages=[{"role": "user", "content": question}],
            extra_body=extra,
            stream=stream,
        )
    assert "Traceback" not in str(caught.value)


def test_given_a_server_then_it_says_how_it_is(server: str) -> None:
    pages = {}
    for path in ("health", "ready", "metrics", "docs", "openapi.json"):
        with urllib.request.urlopen(f"{server}/{path}", timeout=PATIENCE) as response:
            pages[path] = response.read().decode()
            assert response.status == 200
    assert "ok" in pages["ready"]
    assert "ragstone_" in pages["metrics"]
    assert "/v1/chat/completions" in pages["openapi.json"]


def test_given_an_empty_data_directory_then_the_server_is_ready_and_says_what_to_do(
    tmp_path: Path,
) -> None:
    with (
        serving(tmp_path / "data") as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none") as client,
        pytest.raises(openai.NotFoundError, match="ragstone ingest"),
    ):
        client.chat.completions.create(
            model="ragstone", messages=[{"role": "user", "content": "Where is the lamp?"}]
        )


def test_given_a_follow_up_then_it_is_answered_from_what_was_said_before(
    client: openai.OpenAI,
) -> None:
    done = client.chat.completions.create(
        model="ragstone",
        messages=[
            {
                "role": "user",
                "content": "How long does the battery of the Lantern 3 take to charge?",
            },
            {"role": "assistant", "content": "A full charge lasts 31 days. [1]"},
            {"role": "user", "content": "And how long does it last without sun?"},
        ],
        extra_body={"trace": True},
    )
    assert "31 days" in (done.choices[0].message.content or "")
    trace = done.model_extra["ragstone"]["trace"]  # type: ignore[index]
    [asked] = [item for item in trace if item["stage"] == "contextualize"]
    assert "Lantern 3" in asked["decision"]
