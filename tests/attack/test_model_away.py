"""A chat model that is down or rests, or contradicts the documents: their own sentences answer at
every door, marked as such, but where a document wants the error of a model that is down."""

import asyncio
from pathlib import Path

import httpx2
import pytest

from ragstone.models.configured_chat import NOTE
from ragstone.plugins.plone.settings import PloneSettings
from ragstone.service.contract import operations
from ragstone.service.wire import OPERATION_HEADER
from ragstone.settings import LlmSettings
from ragstone.verify import quoting
from tests.attack.house import House, a_house
from tests.attack.test_deadlines import CHAT, DOORS, HEADERS, QUESTION
from tests.model_server import closed_port, model_server

pytestmark = pytest.mark.slow

ERRORS = ("chat-core", "pipeline", "RAG engine v1")
"""The doors of dialects whose documents say that a failed call of the model is an error."""

PLONE = PloneSettings(collection="manuals")
ALL_DOORS = {
    **DOORS,
    "Plone": ("/@rag-ask", {"question": QUESTION, "sync": True}),
    "OpenAI chat, voted": ("/v1/chat/completions", {**CHAT, "votes": True}),
    "OpenAI chat, judged": ("/v1/chat/completions", {**CHAT, "level": "enhanced"}),
}


async def send_to_all(house: House, folder: Path) -> dict[str, httpx2.Response]:
    headers = {**HEADERS, OPERATION_HEADER: operations()["ask"].fingerprint}
    upload = {"files": [("files", ("lamp.md", (folder / "manuals" / "lamp.md").read_bytes()))]}
    await house.send({}, "POST", "/chat/lamp/documents", **upload)
    sent = (house.send(headers, "POST", path, body) for path, body in ALL_DOORS.values())
    return dict(zip(ALL_DOORS, await asyncio.gather(*sent), strict=True))


def is_marked_answer(response: httpx2.Response, note: str = NOTE) -> bool:
    return response.status_code == 200 and "40 hours" in response.text and note in response.text


async def test_a_model_that_is_down_is_an_error_only_where_a_document_says_so(
    tmp_path: Path,
) -> None:
    llm = LlmSettings(base_url=closed_port(), model="m", retries=0)
    async with a_house(tmp_path, llm=llm, plone=PLONE) as house:
        responses = await send_to_all(house, tmp_path)

    wrong = {
        door: (response.status_code, response.text)
        for door, response in responses.items()
        if is_marked_answer(response) == door.startswith(ERRORS)
    }
    assert not wrong
    assert responses["pipeline"].status_code == 503
    assert responses["RAG engine v1"].status_code == 500


async def test_an_operator_who_wants_the_fallback_has_it_at_every_door(tmp_path: Path) -> None:
    llm = LlmSettings(base_url=closed_port(), model="m", retries=0)
    async with a_house(tmp_path, llm=llm, plone=PLONE) as house:
        await house.service.settings.put("global", {"llm.fallback": "extractive"}, "test")
        responses = await send_to_all(house, tmp_path)

    assert [door for door, response in responses.items() if not is_marked_answer(response)] == []


async def test_an_operator_who_wants_the_error_has_it_at_every_door(tmp_path: Path) -> None:
    llm = LlmSettings(base_url=closed_port(), model="m", retries=0, fallback="none")
    async with a_house(tmp_path, llm=llm, plone=PLONE) as house:
        responses = await send_to_all(house, tmp_path)
        ready = await house.service.ready()

    assert [door for door, response in responses.items() if NOTE in response.text] == []
    assert responses["OpenAI chat"].status_code == 503
    assert not ready["models"].startswith("ok")


async def test_a_model_that_rests_is_replaced_without_being_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragstone.models.calls.BREAKER_FAILURES", 1)
    with model_server(way="500") as model:
        llm = LlmSettings(base_url=model.url, model="m", retries=0)
        async with a_house(tmp_path, llm=llm) as house:
            await house.send({}, "POST", "/v1/chat/completions", CHAT)
            asked = len(model.calls)
            response = await house.send({}, "POST", "/v1/chat/completions", CHAT)

    assert is_marked_answer(response)
    assert len(model.calls) == asked


async def test_what_only_a_chat_model_can_do_stays_an_error(tmp_path: Path) -> None:
    llm = LlmSettings(base_url=closed_port(), model="m", retries=0)
    async with a_house(tmp_path, llm=llm) as house:
        as_json = {**CHAT, "response_format": {"type": "json_object"}}
        response = await house.send({}, "POST", "/v1/chat/completions", as_json)

    assert response.status_code == 503
    assert response.json()["error"]["code"] == "model_unavailable"


async def test_a_model_that_contradicts_the_documents_is_set_right_at_every_door(
    tmp_path: Path,
) -> None:
    with model_server(says=("The lamp has a battery of 12 hours. [1]",)) as model:
        llm = LlmSettings(base_url=model.url, model="m")
        async with a_house(tmp_path, llm=llm, plone=PLONE) as house:
            responses = await send_to_all(house, tmp_path)

    wrong = {
        door: response.text
        for door, response in responses.items()
        if not is_marked_answer(response, quoting.NOTE)
    }
    assert not wrong
