"""What Pipeline V5's document prints of an answer, of one chat with three documents: each test asks
in a session of its own."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import httpx2
import pytest
import pytest_asyncio

from tests.documents import copied
from tests.http.conftest import Server
from tests.http.test_chats_answers import (
    LARGE,
    MILL,
    OST,
    TRAIN,
    answering,
    asked,
    told,
    uploaded,
)
from tests.model_server import ModelServer, model_server

pytestmark = pytest.mark.asyncio(loop_scope="module")

TAKES_APART = "You take a question apart"

Chat = tuple[httpx2.AsyncClient, ModelServer]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def three_documents(
    tmp_path_factory: pytest.TempPathFactory, indexed_documents: Path
) -> AsyncIterator[Chat]:
    """A chat with three documents and a large model, for all tests that change nothing of it."""
    data = copied(indexed_documents, tmp_path_factory.mktemp("chat") / "data")
    with model_server() as model:
        async with AsyncExitStack() as stack:
            server = Server(stack, data)
            server.model = model
            http = await server.start(name=LARGE)
            await uploaded(http, ost=OST, west=MILL, nord=TRAIN)
            yield http, model


@pytest.fixture
def chat(three_documents: Chat) -> Chat:
    """The same, with a model that has been asked nothing."""
    _, model = three_documents
    model.calls.clear()
    model.replies = {}
    return three_documents


@pytest.mark.conforms("V5", "Flow 3", "SUMMARIZE is recognised, also of several documents")
@pytest.mark.parametrize(
    "message",
    [
        "tl;dr",
        "Please summarize everything",
        "Sum up all documents for me",
        "Give me the gist",
        "Fasse bitte alle Dokumente zusammen",
        "Résume tous les documents",
        "Resume todos los documentos",
        "Riassumi tutto",
        "总结所有文件",
        "全部まとめてください",
        "모든 문서를 요약해줘",
        "Сделай краткое резюме",
    ],
)
async def test_given_a_summary_of_several_documents_then_all_are_read(
    chat: Chat, message: str
) -> None:
    http, model = chat
    events = await told(http, message, session=message)
    assert events[-1]["state"]["detected_intent"] in ("summarize", "question")
    for fact in ("1871", "rye and wheat", "nine carriages"):
        assert fact in answering(model)


async def test_given_two_documents_by_name_then_these_are_read(chat: Chat) -> None:
    http, model = chat
    await told(http, "Summarize ost.md and west.md", session="names")
    assert "1871" in answering(model)
    assert "rye and wheat" in answering(model)
    assert "nine carriages" not in answering(model)


@pytest.mark.conforms("V5", "2. Route Query", "COMPLEX questions are taken apart, SIMPLE ones not")
@pytest.mark.conforms("V5", "State Schema", "query_complexity, skip_rewrite, iterations")
async def test_given_a_complex_question_then_it_is_rewritten_and_a_simple_one_is_not(
    chat: Chat,
) -> None:
    http, model = chat
    parts = ["When was the lighthouse of Ost built?", "When was the mill of West built?"]
    model.replies = {TAKES_APART: json.dumps({"queries": parts})}
    for message in (
        "Compare the age of the lighthouse of Ost with the age of the mill of West.",
        "When was the lighthouse built? And when was the mill built?",
    ):
        model.calls.clear()
        state = (await told(http, message, session=message))[-1]["state"]
        assert len(asked(model, TAKES_APART)) == 1
        assert (state["query_complexity"], state["skip_rewrite"]) == ("complex", False)
    model.calls.clear()
    state = (await told(http, "How high is the lighthouse of Ost?", session="t"))[-1]["state"]
    assert not asked(model, TAKES_APART)
    assert (state["query_complexity"], state["skip_rewrite"]) == ("simple", True)
    assert (state["iteration"], state["max_iterations"], state["errors"]) == (1, 1, [])
    assert "contextualize" in state["processing_steps"]
    talk = (await told(http, "Thank you!", session="t"))[-1]["state"]
    assert (talk["query_complexity"], talk["detected_intent"]) == ("conversational", "gratitude")
    assert state["detected_intent"] == "question"


@pytest.mark.conforms("V5", "State Schema", "retrieved_documents, relevant_documents: documents")
async def test_given_an_answer_then_the_state_names_the_documents(chat: Chat) -> None:
    http, model = chat
    state = (await told(http, "When was the lighthouse of Ost built?", session="s"))[-1]["state"]
    assert {"ost.md"} <= {item["name"] for item in state["relevant_documents"]}
    assert len(state["relevant_documents"]) == answering(model).count("[Source ")
    known = {item["id"] for item in state["retrieved_documents"]}
    assert known >= {item["id"] for item in state["relevant_documents"]}


@pytest.mark.conforms("V5", "1. Intent Router", "Intents are named greeting, gratitude, question")
@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("Hello!", "greeting"),
        ("Vielen Dank", "gratitude"),
        ("谢谢", "gratitude"),
        ("Bye", "goodbye"),
    ],
)
async def test_given_small_talk_after_a_question_then_no_model_is_asked(
    chat: Chat, message: str, name: str
) -> None:
    http, model = chat
    await told(http, "How high is the lighthouse of Ost?", session=message)
    model.calls.clear()
    state = (await told(http, message, session=message))[-1]["state"]
    assert (state["detected_intent"], model.calls) == (name, [])


@pytest.mark.conforms(
    "V5", "State Schema", "A question is simple or complex, also to an empty chat"
)
async def test_given_a_chat_without_documents_then_a_question_is_no_conversation(
    chat: Chat,
) -> None:
    http, _ = chat
    for message, complexity in (
        ("How high is the lighthouse of Ost?", "simple"),
        ("Hello!", "conversational"),
    ):
        sent = await http.post("/chat/empty/stream", json={"message": message})
        done = json.loads(sent.text.strip().splitlines()[-1].removeprefix("data: "))
        assert done["state"]["query_complexity"] == complexity
