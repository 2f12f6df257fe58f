"""What Pipeline V5's document prints of an answer: the whole of Ragstone with a real model server,
and without one."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from ragstone.core.turn import Ask
from ragstone.settings import RerankSettings
from tests.http.conftest import Server
from tests.model_server import ModelServer

EXAMPLES = Path(__file__).parents[2] / "examples" / "documents"
SMALL, LARGE = "llama2:70b", "openai/gpt-oss-120b"
PART = "You sum up one part of a longer text"
APART = "You take a question apart"
PLACES = [f"Place{n:02d}" for n in range(1, 61)]
LIKES = [
    "herring",
    "cod",
    "salmon",
    "eel",
    "pike",
    "trout",
    "carp",
    "perch",
    "tuna",
    "sole",
    "shark",
    "ray",
    "crab",
    "squid",
    "seal",
]
LONG = "\n\n".join(
    f"## {place}\n\nThe lighthouse of {place} was built in {1800 + n}. "
    + "".join(f"Its keeper {n * i} had {i + n} {like}s. " for i, like in enumerate(LIKES, 1))
    for n, place in enumerate(PLACES, 1)
)
OST = "# The lighthouse of Ost\n\nThe lighthouse of Ost was built in 1871. It is 34 metres high."
MILL = "# The mill of West\n\nThe mill of West was built in 1650. It grinds rye and wheat."
TRAIN = "# The train of Nord\n\nThe train of Nord runs every day at noon. It has nine carriages."


async def uploaded(http: httpx2.AsyncClient, **texts: str) -> None:
    files = [("files", (f"{name}.md", text.encode())) for name, text in texts.items()]
    response = await http.post("/chat/c/documents", files=files)
    assert not response.json()["failed"]


async def told(http: httpx2.AsyncClient, message: str, session: str = "s") -> list[Any]:
    body = {"message": message, "session_id": session}
    response = await http.post("/chat/c/stream", json=body)
    assert response.status_code == 200, response.text
    return [json.loads(line[6:]) for line in response.text.splitlines() if line.startswith("data:")]


def text(events: list[Any]) -> str:
    return "".join(event["content"] for event in events if event["type"] == "token")


def a_model(server: Server) -> ModelServer:
    assert server.model is not None
    return server.model


def asked(model: ModelServer, rules: str) -> list[str]:
    """What was sent with rules that begin so."""
    sent = [call["messages"] for call in model.calls]
    return [str(item[-1]["content"]) for item in sent if str(item[0]["content"]).startswith(rules)]


def answering(model: ModelServer) -> str:
    """The system's text of the last answer that was asked for."""
    return next(
        str(call["messages"][0]["content"]) for call in reversed(model.calls) if call.get("stream")
    )


@pytest.mark.conforms("V5", "Flow 3", "SUMMARIZE: every chunk is read, in order, in parts")
async def test_given_more_than_the_window_then_every_part_is_read_in_order_and_combined(
    with_model: Server,
) -> None:
    http, model = await with_model.start(name=SMALL), a_model(with_model)
    await uploaded(http, places=LONG)
    model.replies = {PART: "Lighthouses were built from 1801 on [1]."}
    model.says = ("Lighthouses were built from 1801 on [1].",)
    events = await told(http, "tl;dr")
    # Parts are read at the same time.
    read = "\n".join(sorted(asked(model, PART), key=lambda part: part[part.index("Place") :]))
    assert len(asked(model, PART)) > 3
    found = [read.index(f"lighthouse of {place} was") for place in PLACES]
    assert found == sorted(found)
    assert "<summaries>" in answering(model)
    assert "Lighthouses were built" in answering(model)
    for call in model.calls:
        sent = sum(len(str(item["content"])) for item in call["messages"])
        assert sent < 4 * 4096
    assert text(events) == "Lighthouses were built from 1801 on [1]."
    [source] = [event for event in events[-2]["sources"] if event["cited"]]
    assert "Place01" in source["content"]
    assert events[-1]["is_grounded"] is True


async def test_given_all_of_it_fits_then_it_is_read_at_once(with_model: Server) -> None:
    http, model = await with_model.start(name=LARGE), a_model(with_model)
    await uploaded(http, places=LONG)
    await told(http, "Please summarize everything")
    assert not asked(model, PART)
    found = [answering(model).index(f"lighthouse of {place} was") for place in PLACES]
    assert found == sorted(found)


async def test_given_a_summary_after_two_questions_then_it_is_not_taken_apart(
    with_model: Server,
) -> None:
    http, model = await with_model.start(name=LARGE), a_model(with_model)
    await uploaded(http, ost=OST, mill=MILL)
    await told(http, "When was the lighthouse built? When was the mill built?")
    assert asked(model, APART)
    model.calls.clear()
    events = await told(http, "Summarize the lighthouse")

    assert events[-1]["state"]["detected_intent"] == "summarize"
    assert events[-1]["state"]["skip_rewrite"] is True
    assert not asked(model, APART)


async def test_given_a_part_that_the_model_does_not_answer_then_it_says_what_was_read(
    with_model: Server,
) -> None:
    http, model = await with_model.start(name=SMALL), a_model(with_model)
    await uploaded(http, places=LONG)
    model.ways = ["500"]
    response = await http.post(
        "/v2/rag/query",
        json={"query": "tl;dr", "collection_name": "chat_c"},
    )
    assert "passages could be read." in response.text
    assert '"type":"done"' in response.text


@pytest.mark.conforms("V5", "Flow 3", "SUMMARIZE without a model: the structure is the summary")
async def test_given_no_model_then_the_structure_gives_the_summary(server: Server) -> None:
    http = await server.start()
    await uploaded(http, ost=OST, west=MILL, nord=TRAIN)
    said = text(await told(http, "Please summarize everything"))
    for fact in ("The lighthouse of Ost", "1871", "The mill of West", "1650", "at noon"):
        assert fact in said


@pytest.mark.conforms("V5", "Configuration", "final_k 5, whatever kind of question it is")
async def test_given_many_chunks_then_five_at_most_reach_the_model(with_model: Server) -> None:
    http, model = await with_model.start(name=LARGE), a_model(with_model)
    files = [("files", (file.name, file.read_bytes())) for file in sorted(EXAMPLES.glob("*.*"))]
    await http.post("/chat/c/documents", files=files)
    for message in (
        "List all prices and limits.",
        "What is the difference between the battery and the solar panel?",
    ):
        state = (await told(http, message, session=message))[-1]["state"]
        # The context filter may leave fewer.
        assert 2 < answering(model).count("[Source ") == len(state["relevant_documents"]) <= 5
        assert len(state["retrieved_documents"]) > 10


@pytest.mark.conforms("V5", "Flow 5", "A cross-encoder reranks by default")
async def test_given_a_chat_then_the_reader_reads_question_and_passage_together(
    server: Server,
) -> None:
    http = await server.start()
    await uploaded(http, ost=OST, west=MILL, nord=TRAIN)
    assert server.service is not None
    for profile, reranker in (("chats", "reader"), ("", "late interaction")):
        ask = Ask("When was the lighthouse built?", collection="chat_c", profile=profile)
        [rerank] = [
            item for item in (await server.service.search(ask)).trace if item.stage == "rerank"
        ]
        assert rerank.reason.replace("-", " ").startswith(reranker), rerank


async def test_given_a_reranker_that_is_named_then_it_reranks_chats_too(server: Server) -> None:
    await server.start(rerank=RerankSettings(model="late-interaction"))
    assert server.service is not None
    assert server.service._adapters.reading_reranker is None
