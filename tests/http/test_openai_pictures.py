"""Images in OpenAI's messages: which are looked at, and which requests are refused."""

import base64
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
import openai
import pytest
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from ragstone.http.app import create_app
from ragstone.http.dialects.pictures import MAX_BYTES, MAX_IMAGES
from ragstone.settings import ServerSettings, Settings
from tests.fake_service import WORDS, FakeService
from tests.http.conftest import Server
from tests.http_server import running

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8
JPEG = b"\xff\xd8\xff" + b"\0" * 8
TEXT = {"type": "text", "text": "What is this?"}


def data_url(data: bytes, media_type: str = "image/png") -> str:
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


PNG_URL = data_url(PNG)


def image(url: Any = PNG_URL, **fields: Any) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url, **fields}}


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(parts)}


@pytest.fixture(scope="module")
def standing() -> FakeService:
    return FakeService()


@pytest.fixture
def service(standing: FakeService) -> FakeService:
    standing.forget()
    return standing


@pytest.fixture(scope="module")
def address(standing: FakeService) -> Iterator[str]:
    settings = Settings(server=ServerSettings(max_request_mb=40))
    with running(create_app(standing, settings, "token")) as address:
        yield address


@pytest.fixture
async def client(address: str, service: FakeService) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{address}/v1", api_key="x", max_retries=0) as made:
        yield made


async def ask(client: AsyncOpenAI, *messages: Any, **fields: Any) -> Any:
    return await client.chat.completions.create(model="ragstone", messages=messages, **fields)


async def refused(client: AsyncOpenAI, *messages: Any, **fields: Any) -> dict[str, Any]:
    with pytest.raises(openai.BadRequestError) as caught:
        await ask(client, *messages, **fields)
    body = caught.value.body
    assert isinstance(body, dict)
    assert body["type"] == "invalid_request_error"
    return body


@pytest.mark.parametrize("detail", [{}, {"detail": "auto"}, {"detail": "high"}])
async def test_given_images_beside_text_then_they_are_the_questions(
    client: AsyncOpenAI, service: FakeService, detail: dict[str, str]
) -> None:
    jpeg = data_url(JPEG)
    answer = await ask(client, user(TEXT, image(**detail), image(jpeg), {**TEXT, "text": "And?"}))
    assert answer.choices[0].message.content == "".join(WORDS)
    [asked] = service.asked
    assert (asked.question, asked.search_type) == ("What is this?\nAnd?", "gpt")
    # The type is what the bytes say, not what the client says.
    assert [picture.media_type for picture in asked.pictures] == ["image/png", "image/jpeg"]
    assert base64.b64decode(asked.pictures[0].base64) == PNG


async def test_given_images_of_earlier_messages_then_the_documents_answer(
    client: AsyncOpenAI, service: FakeService
) -> None:
    said = {"role": "assistant", "content": "A cat."}
    # Not even looked at: what was refused or fetched elsewhere does not end a conversation.
    earlier = user(TEXT, image(), image("https://example.org/cat.png"), image("broken"))
    await ask(client, earlier, said, user(image()), said, {"role": "user", "content": "And cats?"})
    [asked] = service.asked
    assert (asked.question, asked.search_type, asked.pictures) == ("And cats?", "rag", ())
    assert [item.text for item in asked.history] == ["What is this?", "A cat.", "A cat."]


async def test_given_earlier_and_new_images_then_only_the_new_are_looked_at(
    client: AsyncOpenAI, service: FakeService
) -> None:
    said = {"role": "assistant", "content": "A cat."}
    await ask(client, user(TEXT, image()), said, user(TEXT, image(data_url(JPEG))))
    [asked] = service.asked
    assert [picture.media_type for picture in asked.pictures] == ["image/jpeg"]


async def test_given_calls_of_tools_for_a_question_with_an_image_then_it_is_looked_at_again(
    client: AsyncOpenAI, service: FakeService
) -> None:
    function = {"name": "weather", "arguments": "{}"}
    call = {"id": "a", "type": "function", "function": function}
    called = {"role": "assistant", "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "a", "content": "Rain."}
    await ask(client, user(TEXT, image()), called, result)
    assert (len(service.asked[0].pictures), len(service.asked[0].steps)) == (1, 1)
    shown = {**result, "content": [image()]}
    error = await refused(client, user(TEXT), called, shown)
    assert "role tool" in error["message"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([TEXT, image("https://example.org/a.png")], "not fetched"),
        ([TEXT, image("HTTP://127.0.0.1/a.png")], "not fetched"),
        ([TEXT, image("file:///etc/passwd")], "data:image/png;base64,"),
        ([TEXT, image(base64.b64encode(PNG).decode())], "data:image/png;base64,"),
        ([TEXT, image("")], "data:image/png;base64,"),
        ([TEXT, {"type": "image_url"}], "data:image/png;base64,"),
        ([TEXT, image("data:image/png;base64,!!!")], "base64"),
        ([TEXT, image("data:image/png;base64,\xe9\u2603")], "base64"),
        ([TEXT, image("data:image/png," + "A" * 8)], "base64"),
        ([TEXT, image("data:image/png;base64,")], "PNG, JPEG, GIF or WebP"),
        ([TEXT, image(data_url(b"<svg/>", "image/svg+xml"))], "PNG, JPEG, GIF or WebP"),
        ([TEXT, image(data_url(b"%PDF-1.7"))], "PNG, JPEG, GIF or WebP"),
        ([TEXT, *[image()] * (MAX_IMAGES + 1)], "too many"),
        ([TEXT, {"type": "image_url", "image_url": data_url(PNG)}], "image_url"),
        ([TEXT, image(7)], "image_url.url"),
        ([TEXT, image(detail=7)], "image_url.detail"),
        ([TEXT, {"type": "input_audio", "input_audio": {"data": ""}}], "'input_audio'"),
        ([TEXT, {"type": "file", "file": {"file_data": data_url(PNG)}}], "'file'"),
        ([TEXT, {"text": "no type"}], "type"),
        ([TEXT, "bare"], "content.parts.1"),
    ],
)
async def test_given_what_is_no_image_then_a_clear_400(
    client: AsyncOpenAI, service: FakeService, parts: list[Any], words: str, stream: bool
) -> None:
    error = await refused(client, user(*parts), stream=stream)
    assert words in error["message"]
    assert error["code"] == "invalid_request"
    assert len(error["message"]) < 300
    assert service.asked == []


async def test_given_an_image_without_a_question_then_a_clear_400(client: AsyncOpenAI) -> None:
    for parts in ([image()], [{"type": "text", "text": ""}, image()]):
        assert (await refused(client, user(*parts)))["code"] == "empty_question"


async def test_given_half_a_character_in_an_image_then_a_clear_400(
    client: AsyncOpenAI,
) -> None:
    body = {"model": "ragstone", "messages": [user(TEXT, image("data:image/png;base64,\ud800"))]}
    async with httpx2.AsyncClient(base_url=str(client.base_url)) as http:
        response = await http.post(
            "chat/completions",
            content=json.dumps(body).encode(),
            headers={"content-type": "application/json"},
        )
    assert (response.status_code, "base64" in response.text) == (400, True)


async def test_given_an_image_that_is_too_large_then_a_clear_400(client: AsyncOpenAI) -> None:
    error = await refused(client, user(TEXT, image(data_url(PNG + b"\0" * MAX_BYTES))))
    assert "larger than 10 MB" in error["message"]


async def test_given_the_schema_then_it_describes_images(service: FakeService) -> None:
    schemas = create_app(service, Settings(), "token").openapi()["components"]["schemas"]
    assert "data URL" in schemas["ImageUrl"]["properties"]["url"]["description"]
    assert "image_url" in schemas["ContentPart"]["properties"]


async def refusals(server: Server) -> list[dict[str, Any]]:
    """What the whole of Ragstone says to an image, in one piece and streamed."""
    await server.start()
    http = DefaultAsyncHttpxClient(transport=server.transport)
    async with AsyncOpenAI(
        base_url="http://127.0.0.1/v1", api_key="x", http_client=http, max_retries=0
    ) as client:
        return [
            await refused(client, user(TEXT, image()), stream=stream) for stream in (False, True)
        ]


async def test_given_no_model_then_400_says_what_to_set(server: Server) -> None:
    for error in await refusals(server):
        assert error["code"] == "no_chat_model"
        assert "LLM__MODEL" in error["message"]


async def test_given_a_model_that_does_not_see_then_400_says_what_to_set(
    with_model: Server,
) -> None:
    for error in await refusals(with_model):
        assert error["code"] == "no_vision"
        assert "LLM__VISION" in error["message"]
    assert with_model.model is not None
    assert with_model.model.calls == []
