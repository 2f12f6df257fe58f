"""Questions that a chat model thinks of for each chunk: the whole of Ragstone with a real model
server beside it."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone import build
from ragstone.core.answer import Usage
from ragstone.core.chunk import MAX_QUESTIONS, answer_id, question_id
from ragstone.core.filters import Filter, Not, eq
from ragstone.core.turn import Ask, Hit, Principal
from ragstone.local import Ragstone
from ragstone.service import IngestRequest, Progress
from ragstone.settings import IngestSettings, LlmSettings, Settings
from tests.model_server import ModelServer, model_server

pytestmark = pytest.mark.slow

LAMP = "# Lamp\n\nThe device glows for thirty-one days in a row when the cell is full at dusk.\n"
BOAT = "# Boat\n\nThe vessel carries nine persons at most and leaves the pier at noon each day.\n"
ABOUT_LAMP = "What is the maximal endurance of the lantern accumulator?"
ABOUT_BOAT = "How many passengers may board the ferry?"
ALONE = "Endurance of an accumulator?"


@pytest.fixture
def model() -> Iterator[ModelServer]:
    replies = {
        "thirty-one days": json.dumps({"questions": [ABOUT_LAMP, ABOUT_LAMP, "Is it a lamp?"]}),
        "nine persons": f"Here are the questions:\n1. {ABOUT_BOAT}\n2. Not one of them",
    }
    with model_server(replies=replies) as server:
        yield server


@asynccontextmanager
async def opened(data: Path, model: ModelServer | None) -> AsyncIterator[Ragstone]:
    llm = LlmSettings(model="some", base_url=model.url, retries=0) if model else LlmSettings()
    settings = Settings(ragstone_data=data, llm=llm, ingest=IngestSettings(questions=2))
    async with build.open(settings) as service:
        yield service


def written(folder: Path, **texts: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return folder


async def ingested(service: Ragstone, folder: Path, **options: object) -> Progress:
    last = Progress("")
    async for last in service.ingest(IngestRequest((str(folder),), **options)):  # type: ignore[arg-type]
        assert not last.error
    return last


async def found(
    service: Ragstone, question: str, user: str = "", where: Filter | None = None
) -> list[Hit]:
    principal = Principal(user=user) if user else Principal()
    ask = Ask(question, principal=principal, where=where, cache=False)
    return list((await service.search(ask)).hits)


async def questions(service: Ragstone) -> list[str]:
    adapters = service._adapters
    [collection] = await adapters.catalog.collections()
    scan = adapters.index.scan(collection, eq("kind", "question"))
    return sorted([item.text async for batch in scan for item in batch])


@pytest.mark.conforms(
    "Query pipeline", "Step 7", "Hypothetical-question chunks are made (INGEST__QUESTIONS)"
)
@pytest.mark.conforms(
    "Query pipeline", "Step 7", "Hypothetical-question chunks find their chunk and are not shown"
)
async def test_given_a_chat_model_then_chunks_are_found_by_the_questions_it_thinks_of(
    tmp_path: Path, model: ModelServer
) -> None:
    folder = written(tmp_path / "docs", lamp=LAMP, boat=BOAT)
    async with opened(tmp_path / "data", model) as service:
        last = await ingested(service, folder)
        assert (last.questions, last.chunks) == (3, 2)
        assert last.usage == Usage(200, 20, 2)
        assert "some thought of 3 questions about 2 passages: 2 calls, 220 tokens." in last.notes
        assert await questions(service) == [ABOUT_BOAT, "Is it a lamp?", ABOUT_LAMP]
        first, *_ = await found(service, ALONE)
        assert (first.chunk.path, first.chunk.kind) == ("/docs/lamp.md", "normal")
        assert first.chunk.text.endswith("full at dusk.")
        for question in (ABOUT_LAMP, ABOUT_BOAT):
            hits = await found(service, question)
            assert len({hit.chunk.chunk_id for hit in hits}) == len(hits)
            assert not any("questions" in hit.chunk.text or "?" in hit.chunk.text for hit in hits)
        text = await service.reading.read(Principal(), "default", "/docs/lamp.md", 0, 1000)
        assert "accumulator" not in text.text
        [summary] = await service.collections(Principal())
        assert summary.chunks == 2
        [job] = await service.jobs.list("default")
        assert job.progress["usage"]["prompt_tokens"] == 200


async def test_given_them_then_words_alone_find_the_chunk_only_by_its_question(
    tmp_path: Path, model: ModelServer
) -> None:
    folder = written(tmp_path / "docs", lamp=LAMP, boat=BOAT)
    async with opened(tmp_path / "data", model) as service:
        await ingested(service, folder)
        [hit, *_] = await found(service, ABOUT_BOAT)
        assert (hit.chunk.path, hit.bm25 is not None) == ("/docs/boat.md", True)


async def test_given_a_filter_of_the_kind_then_a_question_does_not_get_around_it(
    tmp_path: Path, model: ModelServer
) -> None:
    folder = written(tmp_path / "docs", lamp=LAMP, boat=BOAT)
    async with opened(tmp_path / "data", model) as service:
        await ingested(service, folder)
        assert not await found(service, ABOUT_LAMP, where=eq("kind", "question"))
        assert not await found(service, ABOUT_LAMP, where=Not(eq("kind", "normal")))


async def test_given_a_document_of_somebody_then_its_questions_are_his_alone(
    tmp_path: Path, model: ModelServer
) -> None:
    async with opened(tmp_path / "data", model) as service:
        await ingested(service, written(tmp_path / "a", lamp=LAMP), allowed=("user:bob",))
        await ingested(service, written(tmp_path / "b", boat=BOAT))
        assert {hit.chunk.path for hit in await found(service, ABOUT_LAMP)} == {"/b/boat.md"}
        first, *_ = await found(service, ABOUT_LAMP, "bob")
        assert first.chunk.path == "/a/lamp.md"


async def test_given_a_document_changes_or_goes_then_so_do_its_questions(
    tmp_path: Path, model: ModelServer
) -> None:
    folder = written(tmp_path / "docs", lamp=LAMP, boat=BOAT)
    async with opened(tmp_path / "data", model) as service:
        await ingested(service, folder)
        written(folder, lamp=LAMP.replace("thirty-one", "forty"))
        model.replies["forty days"] = '{"questions": ["Does it last forty days?"]}'
        model.calls.clear()
        again = await ingested(service, folder)
        assert (again.questions, len(model.calls)) == (1, 1)
        assert await questions(service) == ["Does it last forty days?", ABOUT_BOAT]
        assert (await ingested(service, folder)).questions == 0
        assert len(model.calls) == 1
        await service.delete(Principal(), "default", ["/docs/lamp.md"])
        assert await questions(service) == [ABOUT_BOAT]
        steps = [step async for step in service.maintenance.examine(mend=False)]
        assert not any("chunks are in the index" in note for note in steps[-1].notes)


async def test_given_a_model_that_fails_then_the_documents_answer_and_the_next_ingest_goes_on(
    tmp_path: Path, model: ModelServer
) -> None:
    folder = written(tmp_path / "docs", lamp=LAMP)
    async with opened(tmp_path / "data", model) as service:
        model.way = "500"
        last = await ingested(service, folder)
        assert (last.indexed, last.failed, last.questions) == (1, (), 0)
        assert "Ingest again to go on." in last.notes[-1]
        assert await found(service, "How long does the device glow?")
    model.way = "good"
    async with opened(tmp_path / "data", model) as service:
        again = await ingested(service, folder)
        assert (again.unchanged, again.questions) == (1, 2)
        assert (await found(service, ALONE))[0].chunk.path == "/docs/lamp.md"


async def test_given_no_chat_model_then_a_note_says_what_to_set(tmp_path: Path) -> None:
    async with opened(tmp_path / "data", None) as service:
        last = await ingested(service, written(tmp_path / "docs", lamp=LAMP))
        assert any("set (LLM__MODEL)" in note for note in last.notes)
        assert await questions(service) == []


@given(st.uuids(version=5), st.integers(0, MAX_QUESTIONS - 1))
def test_a_questions_id_leads_to_its_chunk_and_no_other_id_changes(id: object, n: int) -> None:
    question = question_id(str(id), n)
    assert question != str(id)
    assert answer_id(question) == str(id)
    assert answer_id(str(id)) == str(id)
    assert answer_id("a") == "a"
