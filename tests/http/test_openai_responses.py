"""The Responses API as the official client speaks it, before real documents."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import openai
import pytest

from ragstone.core.errors import InputError
from ragstone.core.filters import And, AnyOf, Not, Or, Range
from ragstone.core.turn import Principal
from ragstone.plugins.responses.requests import ResponsesRequest, condition
from tests.http.open_documents import OpenDocuments, opened
from tests.in_turn import in_turn
from tests.model_server import ModelServer, model_server

QUESTION = "How long does a full battery charge last without sun?"
TOOL = {
    "type": "function",
    "name": "weather",
    "description": "Of a town.",
    "parameters": {"type": "object", "properties": {"town": {"type": "string"}}},
    "strict": True,
}
SEARCH = {"type": "file_search", "vector_store_ids": ["default"], "max_num_results": 3}


@pytest.fixture
async def documents(tmp_path: Path, indexed_documents: Path) -> AsyncIterator[OpenDocuments]:
    async with opened(indexed_documents, tmp_path) as documents:
        yield documents


@pytest.fixture
async def modelled(
    tmp_path: Path, indexed_documents: Path
) -> AsyncIterator[tuple[OpenDocuments, ModelServer]]:
    with model_server(says=("It lasts 31 days ", "without sun [1].")) as model:
        async with opened(indexed_documents, tmp_path, llm=model.url) as documents:
            yield documents, model


async def test_an_answer_with_its_annotations(documents: OpenDocuments) -> None:
    response = await documents.openai.responses.create(model="ragstone", input=QUESTION)
    assert "31 days" in response.output_text
    assert (response.status, response.error) == ("completed", None)
    (message,) = response.output
    (part,) = message.content
    (cited,) = part.annotations
    assert cited.type == "url_citation"
    assert part.text[cited.start_index : cited.end_index] == "[1]"
    assert cited.url.startswith("http://127.0.0.1/#/documents/default/")
    assert response.usage.total_tokens == 0
    assert response.model_extra["ragstone"]["sources"][0]["number"] == 1


async def test_a_stream_ends_with_the_whole_response(documents: OpenDocuments) -> None:
    async with documents.openai.responses.stream(model="ragstone", input=QUESTION) as stream:
        events = [event async for event in stream]
        whole = await stream.get_final_response()
    kinds = [event.type for event in events]
    assert kinds[:4] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
    ]
    assert kinds[-5:] == [
        "response.output_text.annotation.added",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    said = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert said == whole.output_text
    assert whole.output[0].content[0].annotations


async def test_documents_are_searched_as_files(documents: OpenDocuments) -> None:
    for stream in (True, False):
        response = await documents.openai.responses.create(
            model="ragstone",
            input=[{"role": "user", "content": [{"type": "input_text", "text": QUESTION}]}],
            tools=[SEARCH],
            include=["file_search_call.results"],
            stream=stream,
        )
        if stream:
            events = [event async for event in response]
            response = events[-1].response
            assert "response.file_search_call.completed" in [event.type for event in events]
        search, message = response.output
        assert search.type == "file_search_call"
        assert search.queries == [QUESTION]
        assert 1 <= len(search.results) <= 3
        web, file = message.content[0].annotations
        assert (web.type, file.type) == ("url_citation", "file_citation")
        assert file.file_id in {result.file_id for result in search.results}
        assert file.filename == "lantern-3-manual.md"


async def test_a_response_is_continued(modelled: tuple[OpenDocuments, ModelServer]) -> None:
    documents, model = modelled
    create = documents.openai.responses.create
    first = await create(model="ragstone", input=QUESTION, instructions="Be brief.")
    model.calls.clear()
    await create(
        model="ragstone", input="And how is it stored in winter?", previous_response_id=first.id
    )
    told = str([call["messages"] for call in model.calls])
    assert QUESTION in told
    # Instructions are of one response.
    assert "Be brief." not in told
    with pytest.raises(openai.BadRequestError, match="previous_response_id"):
        await create(model="ragstone", input="And?", previous_response_id="resp_1")


async def test_what_was_not_kept_or_is_of_a_conversation_is_not_continued_by_an_id(
    documents: OpenDocuments,
) -> None:
    create = documents.openai.responses.create
    for fields in ({"store": False}, {"conversation": "of-eva"}):
        said = await create(model="ragstone", input=QUESTION, extra_body=fields)
        with pytest.raises(openai.BadRequestError, match="cannot be continued"):
            await create(model="ragstone", input="And?", previous_response_id=said.id)


async def test_a_response_is_retrieved_as_it_was_given(documents: OpenDocuments) -> None:
    responses = documents.openai.responses
    first = await responses.create(model="ragstone", input=QUESTION)
    events = [
        event
        async for event in await responses.create(
            model="ragstone", input="And in winter?", previous_response_id=first.id, stream=True
        )
    ]
    second = events[-1].response

    found = await responses.retrieve(second.id)

    assert found.output_text == second.output_text
    assert found.previous_response_id == first.id
    assert (found.status, found.model, found.usage) == ("completed", "ragstone", second.usage)
    again = await responses.retrieve(first.id)
    assert again.output == first.output
    assert abs(again.created_at - first.created_at) <= 1
    items = [item async for item in responses.input_items.list(first.id)]
    assert [item.content[0].text for item in items] == [QUESTION]
    with pytest.raises(openai.BadRequestError, match="background"):
        await responses.cancel(first.id)


async def test_a_deleted_response_is_gone_and_the_others_stay(documents: OpenDocuments) -> None:
    responses = documents.openai.responses
    first = await responses.create(model="ragstone", input=QUESTION)
    second = await responses.create(
        model="ragstone", input="And in winter?", previous_response_id=first.id
    )

    await responses.delete(first.id)

    with pytest.raises(openai.NotFoundError):
        await responses.retrieve(first.id)
    with pytest.raises(openai.NotFoundError):
        await responses.create(model="ragstone", input="And?", previous_response_id=first.id)
    assert (await responses.retrieve(second.id)).previous_response_id is None
    await responses.delete(second.id)
    assert (await documents.service.conversations.rooms(Principal())).total == 0


@in_turn("id", ["resp_1", f"resp_{'0' * 32}_{'1' * 32}", f"resp_{'a' * 65}", "x"])
async def test_a_response_that_is_not_there_is_404(documents: OpenDocuments, id: str) -> None:
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/cancel"), ("GET", "/input_items")):
        response = await documents.http.request(method, f"/v1/responses/{id}{path}")
        assert response.status_code == 404, response.text
        assert response.json()["error"]["code"] == "unknown_response"


async def test_what_was_not_stored_is_not_retrieved(documents: OpenDocuments) -> None:
    responses = documents.openai.responses
    said = await responses.create(model="ragstone", input=QUESTION, store=False)
    with pytest.raises(openai.NotFoundError):
        await responses.retrieve(said.id)


async def test_a_store_without_documents_holds_no_answer(documents: OpenDocuments) -> None:
    store = await documents.openai.vector_stores.create()
    tools: Any = [{"type": "file_search", "vector_store_ids": [store.id]}]
    said = await documents.openai.responses.create(model="ragstone", input=QUESTION, tools=tools)
    assert "no documents" in said.output_text


async def test_tools_are_called_and_their_results_read(
    modelled: tuple[OpenDocuments, ModelServer],
) -> None:
    documents, model = modelled
    create = documents.openai.responses.create
    asked: list[Any] = [{"role": "user", "content": "What is the weather in Ost?"}]
    for stream in (False, True):
        model.way = 'call weather {"town":"Ost"}'
        response = await create(model="ragstone", input=asked, tools=[TOOL], stream=stream)
        if stream:
            events = [event async for event in response]
            done = [e for e in events if e.type == "response.function_call_arguments.done"]
            assert [item.arguments for item in done] == ['{"town":"Ost"}']
            response = events[-1].response
        (call,) = response.output
        assert (call.type, call.name, call.arguments) == (
            "function_call",
            "weather",
            '{"town":"Ost"}',
        )
    model.way = "good"
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "Rain."}
    reasoned = {"type": "reasoning", "id": "rs_1", "summary": []}
    again = [*asked, reasoned, call.model_dump(exclude_none=True), result]
    model.calls.clear()
    answer = await create(model="ragstone", input=again, tools=[TOOL])
    assert "31 days" in answer.output_text
    # The model may be asked once more, whether the sources support what it said.
    told = [item for item in model.calls if any(m.get("role") == "tool" for m in item["messages"])]
    assert told == model.calls[:1]


async def test_json_of_a_schema(modelled: tuple[OpenDocuments, ModelServer]) -> None:
    documents, model = modelled
    model.says = ('{"days": 31, "table": [[2], [3]]}',)
    schema = {"type": "object", "properties": {"days": {"type": "integer"}}}
    wanted = {"format": {"type": "json_schema", "name": "days", "schema": schema, "strict": True}}
    response = await documents.openai.responses.create(
        model="ragstone", input=QUESTION, text=wanted
    )
    assert response.output_text == '{"days": 31, "table": [[2], [3]]}'
    [written] = [call for call in model.calls if "response_format" in call]
    assert written["response_format"]["json_schema"]["schema"] == schema
    kept = await documents.openai.responses.retrieve(response.id)
    assert kept.output_text == response.output_text


@in_turn(
    ("fields", "words"),
    [
        ({"input": []}, "input"),
        ({"input": [{"type": "item_reference", "id": "msg_1"}]}, "item_reference"),
        ({"input": [{"type": "computer_call"}]}, "computer_call"),
        ({"input": [{"role": "user", "content": [{"type": "input_file"}]}]}, "input_file"),
        ({"input": [{"role": "king", "content": "a"}]}, "role"),
        ({"input": [{"role": "user", "content": 7}]}, "content"),
        ({"input": "a", "tools": [{"type": "web_search"}]}, "web_search"),
        ({"input": "a", "tools": [{**SEARCH, "vector_store_ids": ["a", "b"]}]}, "vector_store_ids"),
        ({"input": "a", "tools": [{**SEARCH, "filters": {"type": "is"}}]}, "filters"),
        ({"input": "a", "tools": ["x"]}, "tools"),
        ({"input": "a", "tools": 5}, "tools"),
        ({"input": "a", "tools": True}, "tools"),
        ({"input": "a", "tool_choice": {"type": "mcp"}}, "mcp"),
        ({"input": "a", "background": True}, "background"),
        ({"input": "a", "prompt": {"id": "p"}}, "prompt"),
        ({"input": "a", "conversation": "\n"}, "room"),
        ({"input": "a", "text": {"format": {"type": "xml"}}}, "response_format"),
        ({"input": "a", "model": "gpt-5"}, "gpt-5"),
        ({"input": [{"type": "function_call_output", "call_id": "x", "output": "y"}]}, "user"),
    ],
)
async def test_bad_requests(documents: OpenDocuments, fields: Any, words: str) -> None:
    response = await documents.post("/v1/responses", **{"model": "ragstone", **fields})
    assert response.status_code in (400, 404)
    assert words in response.json()["error"]["message"]


def test_filters_of_vector_stores() -> None:
    year, both = "metadata.year", {"type": "eq", "key": "year", "value": 2024}
    compared = {
        "eq": AnyOf(year, (5,)),
        "ne": Not(AnyOf(year, (5,))),
        "gte": Range(year, 5),
        "lte": Range(year, at_most=5),
        "gt": And((Range(year, 5), Not(AnyOf(year, (5,))))),
        "lt": And((Range(year, at_most=5), Not(AnyOf(year, (5,))))),
    }
    for kind, wanted in compared.items():
        assert condition({"type": kind, "key": "year", "value": 5}) == wanted
    assert condition({"type": "in", "key": "year", "value": [1, 2]}) == AnyOf(year, (1, 2))
    assert condition({"type": "or", "filters": [both, both]}) == Or((AnyOf(year, (2024,)),) * 2)
    deep: Any = both
    for _ in range(20):
        deep = {"type": "and", "filters": [deep]}
    for bad in (deep, [], {"type": "in", "key": "a", "value": "b"}, {"type": "eq", "value": 1}):
        with pytest.raises(InputError):
            condition(bad)


def test_a_request_is_the_chat_request_that_means_the_same() -> None:
    request = ResponsesRequest.model_validate(
        {
            "model": "ragstone-basic",
            "instructions": "Be brief.",
            "input": [
                {"role": "user", "content": "One?"},
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "1"}],
                },
                {"role": "user", "content": "Two?"},
            ],
            "tools": [{**SEARCH, "filters": {"type": "eq", "key": "year", "value": 2024}}],
            "max_output_tokens": 9,
            "store": False,
        }
    )
    ask = request.ask("a" * 32)
    assert (ask.question, ask.guidance, ask.level) == ("Two?", "Be brief.", "basic")
    assert [(item.role, item.text) for item in ask.history] == [
        ("user", "One?"),
        ("assistant", "1"),
    ]
    assert (ask.top_k, ask.where) == (3, AnyOf("metadata.year", (2024,)))
    assert (ask.max_tokens, ask.room, ask.tools) == (9, None, ())
