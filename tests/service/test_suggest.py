"""Suggested questions are answered from the section that they are about, and leave no trace."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ragstone import build
from ragstone.core.errors import UnknownCollection
from ragstone.core.filters import path_filter
from ragstone.core.records import Topic
from ragstone.core.turn import Ask, Principal, Turn
from ragstone.local import Ragstone
from ragstone.service import IngestRequest
from ragstone.settings import LlmSettings, Settings
from tests.model_server import model_server

ADA, BOB = Principal(user="ada", groups=("staff",)), Principal(user="bob")
MANUAL = """# Heron manual

The Heron is a pump for wells.

## Cleaning

Rinse the filter once a week with clear water.

## Warranty

The warranty lasts 24 months from delivery.

## Storage

Keep the pump dry and above 5 degrees in winter.
"""
BERICHT = """# Jahresbericht

Der Verein hat 40 Mitglieder.

## Finanzen

Die Einnahmen waren 9.000 Euro, die Ausgaben 7.500 Euro.
"""
QUESTION = "How long does the warranty last?"
CLEANING = "What do the documents say about “Cleaning”?"
WARRANTY = "What do the documents say about “Warranty”?"
STORAGE = "What do the documents say about “Storage”?"


@pytest.fixture
async def ragstone(tmp_path: Path) -> AsyncIterator[Ragstone]:
    async with build.open(Settings(ragstone_data=tmp_path / "data")) as opened:
        await fill(opened, tmp_path)
        yield opened


async def fill(service: Ragstone, folder: Path) -> None:
    for name, text, readers in (("heron.md", MANUAL, ("group:staff",)), ("verein.md", BERICHT, ())):
        (folder / name).write_text(text, encoding="utf-8")
        async for _ in service.ingest(IngestRequest((str(folder / name),), allowed=readers)):
            pass


async def answer(service: Ragstone, question: str, whose: Principal = ADA) -> Turn:
    return await service._answers.answer(Ask(question, whose, keeps=False))


async def cited(service: Ragstone, question: str) -> dict[str, int]:
    answered = (await answer(service, question)).answer
    assert answered
    return {citation.chunk_id: citation.start for citation in answered.citations}


async def test_after_an_answer_other_sections_of_its_documents_are_suggested(
    ragstone: Ragstone,
) -> None:
    places = await cited(ragstone, QUESTION)

    found = await ragstone.suggest(ADA, "default", cited=places, asked=[QUESTION])

    assert found == [STORAGE, CLEANING]


async def test_every_suggestion_is_answered(ragstone: Ragstone) -> None:
    for question in await ragstone.suggest(ADA, "default"):
        said = (await answer(ragstone, question)).answer

        assert said
        assert said.finish == "stop"
        assert said.citations


async def test_to_begin_with_each_document_is_asked_about_in_its_language(
    ragstone: Ragstone,
) -> None:
    found = await ragstone.suggest(ADA, "default")

    assert found[:2] == [CLEANING, "Was sagen die Dokumente über „Finanzen“?"]


async def test_what_was_asked_is_not_suggested(ragstone: Ragstone) -> None:
    places = await cited(ragstone, QUESTION)

    found = await ragstone.suggest(ADA, "default", cited=places, asked=[QUESTION, STORAGE.lower()])

    assert found == [CLEANING]


async def test_nothing_of_documents_that_others_read_is_suggested(ragstone: Ragstone) -> None:
    places = await cited(ragstone, QUESTION)

    assert await ragstone.suggest(BOB, "default", cited=places) == []
    assert CLEANING not in await ragstone.suggest(BOB, "default")
    with pytest.raises(UnknownCollection):
        await ragstone.suggest(ADA, "nowhere")


async def test_nothing_is_suggested_that_the_chosen_documents_do_not_answer(
    ragstone: Ragstone,
) -> None:
    places = await cited(ragstone, QUESTION)
    elsewhere = path_filter("/verein.md")

    assert await ragstone.suggest(ADA, "default", cited=places, where=elsewhere) == []


async def test_a_blocked_topic_is_not_suggested_and_not_recorded_as_asked(
    ragstone: Ragstone,
) -> None:
    await ragstone.put_topics("default", [Topic("", "default", "Cleaning")])
    places = await cited(ragstone, QUESTION)

    found = await ragstone.suggest(ADA, "default", cited=places)

    assert found == [STORAGE]
    assert await ragstone.list_blocked("default", 10) == []


async def test_nobody_is_said_to_have_asked_what_was_suggested(ragstone: Ragstone) -> None:
    await ragstone.suggest(ADA, "default")

    assert not (await ragstone.statistics.traces("default", 10))
    assert not (await ragstone.conversations.rooms(ADA)).rooms


async def test_suggestions_cost_no_call_of_the_chat_model(tmp_path: Path) -> None:
    with model_server() as model:
        llm = LlmSettings(model="some", base_url=model.url)
        async with build.open(Settings(ragstone_data=tmp_path / "data", llm=llm)) as opened:
            await fill(opened, tmp_path)

            assert CLEANING in await opened.suggest(ADA, "default")
            assert model.calls == []
