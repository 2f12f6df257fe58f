"""Titles, tags and further questions of chat programs are no questions to the documents."""

import asyncio
import json
from pathlib import Path

import httpx2
import pytest

from ragstone.core.turn import Ask, Message
from ragstone.http.dialects.openai.housekeeping import find_chore
from tests.http.open_documents import opened
from tests.model_server import model_server

OPEN_WEBUI = """### Task:
{task}
### Output:
JSON format: {{ "{key}": {example} }}
### Chat History:
<chat_history>
USER: How long does the battery last without any sun in winter?
ASSISTANT: 31 days [1].
</chat_history>"""
TITLE = OPEN_WEBUI.format(task="Generate a concise title.", key="title", example='"a title"')
TAGS = OPEN_WEBUI.format(task="Generate 1-3 tags.", key="tags", example='["tag1"]')
MORE = OPEN_WEBUI.format(task="Predict messages.", key="follow_ups", example='["one"]')
LIBRECHAT = (
    "Provide a concise, 5-word-or-less title for the conversation, using title case "
    "conventions. Only return the title itself.\n\nConversation:\nUser: Where is the fuse?\nAI: x"
)


FEW_WORDS = {
    TITLE: {"title": "How long does the battery last"},
    TAGS: {"tags": ["General"]},
    MORE: {"follow_ups": []},
}


def said(response: httpx2.Response) -> str:
    assert response.status_code == 200, response.text
    if not response.headers["content-type"].startswith("text/event-stream"):
        return str(response.json()["choices"][0]["message"]["content"])
    lines = [json.loads(line[6:]) for line in response.text.split("\n\n")[:-2]]
    return "".join(item["choices"][0]["delta"].get("content", "") for item in lines)


def ask(text: str, **fields: object) -> dict[str, object]:
    return {"model": "ragstone", "messages": [{"role": "user", "content": text}], **fields}


async def test_without_a_chat_model_a_few_words_of_the_conversation_do(
    tmp_path: Path, indexed_documents: Path
) -> None:
    async with opened(indexed_documents, tmp_path) as documents:
        for prompt, wanted in FEW_WORDS.items():
            for stream in (True, False):
                response = await documents.post(
                    "/v1/chat/completions", **ask(prompt, stream=stream)
                )
                assert json.loads(said(response)) == wanted
        assert said(await documents.post("/v1/chat/completions", **ask(LIBRECHAT))) == (
            "Where is the fuse"
        )
        assert await documents.questions() == 0
        await documents.post("/v1/chat/completions", **ask("How long does a full charge last?"))
        # Statistics are written after the answer: had the others been counted, it would be more.
        for _ in range(1000):
            if counted := await documents.questions():
                break
            await asyncio.sleep(0.02)
        assert counted == 1


async def test_a_chat_model_answers_them_without_a_search(
    tmp_path: Path, indexed_documents: Path
) -> None:
    with model_server(says=('{"title": ', '"Battery life"}')) as model:
        async with opened(indexed_documents, tmp_path, llm=model.url) as documents:
            response = await documents.post("/v1/chat/completions", **ask(TITLE))
            assert json.loads(said(response)) == {"title": "Battery life"}
            assert await documents.questions() == 0
            (call,) = model.calls
            assert "<source" not in json.dumps(call["messages"])
            model.way = "500"
            response = await documents.post("/v1/chat/completions", **ask(TITLE))
            assert json.loads(said(response)) == FEW_WORDS[TITLE]


QUESTIONS = [
    "How do I write a concise title for this conversation report?",
    "### Task:\nWhat is the task?",
    "What does the guide say of tags?",
    'Which fields has {"title": 1}?',
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions_to_the_documents_are_none(question: str) -> None:
    assert find_chore(Ask(question)) is None


def test_a_program_may_say_it_in_a_system_message() -> None:
    told = "You are a professional conversation summarizer. Generate a title of 10 words."
    ask = Ask("user: Where is it?", guidance=told, history=(Message("user", "before"),))
    chore = find_chore(ask)
    assert chore
    assert (chore.kind, chore.said) == ("title", "Where is it?")
