"""Who names a file that could not be read is told so, and nobody learns of a file of others."""

import zipfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from ragstone import build
from ragstone.core.errors import UnknownDocument
from ragstone.core.events import Done
from ragstone.core.turn import Ask, Principal, Turn
from ragstone.http.app import create_app
from ragstone.local import Ragstone
from ragstone.service import IngestRequest, Progress
from ragstone.settings import LlmSettings, Settings
from tests.model_server import model_server

pytestmark = pytest.mark.slow

FEE = "The harbour fee is 40 euros per night."


@dataclass
class World:
    """A service with a folder of documents."""

    service: Ragstone
    settings: Settings
    folder: Path

    async def ingest(self, **options: object) -> Progress:
        request = IngestRequest((str(self.folder),), **options)  # type: ignore[arg-type]
        *_, last = [step async for step in self.service.ingest(request)]
        return last

    async def ask(self, question: str, **options: object) -> Turn:
        events = self.service.ask(Ask(question, **options))  # type: ignore[arg-type]
        *_, last = [event async for event in events]
        assert isinstance(last, Done)
        return last.turn

    async def said(self, question: str, **options: object) -> str:
        turn = await self.ask(question, **options)
        assert turn.answer
        return turn.answer.text


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "fees.md").write_text(FEE)
    (folder / "Budget 2026.key").write_bytes(b"slides")
    (folder / "plan.pdf").write_bytes(bytes(range(256)) * 9)
    settings = Settings(ragstone_data=tmp_path / "data")
    async with build.open(settings) as service:
        await service.start_jobs()
        yield World(service, settings, folder)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        pytest.param(
            "How high is the harbour fee in Budget 2026.key?",
            "Budget 2026.key could not be read: it is of a type that cannot be read (.key).",
            id="a type that is not read",
        ),
        pytest.param(
            "How high is the harbour fee in BUDGET 2026.KEY?",
            "Budget 2026.key could not be read: it is of a type that cannot be read (.key).",
            id="other letters",
        ),
        pytest.param(
            "What does plan.pdf say of the harbour fee?",
            "plan.pdf could not be read: it ends in .pdf, but by its content it is binary data.",
            id="a broken file",
        ),
        pytest.param(
            "Wie hoch ist die Hafengebühr in plan.pdf?",
            "plan.pdf konnte nicht gelesen werden: it ends in .pdf, but by its content it is "
            "binary data.",
            id="in the question's language",
        ),
    ],
)
async def test_who_names_an_unread_file_is_told_why(world: World, question: str, said: str) -> None:
    await world.ingest()

    turn = await world.ask(question)

    assert turn.answer
    assert (turn.answer.text, turn.answer.finish) == (said, "refused")
    assert turn.passages == ()


async def test_other_questions_are_answered_as_before(world: World) -> None:
    await world.ingest()
    for question in ("How high is the harbour fee?", "How high is the harbour fee at ost.example?"):
        assert FEE in await world.said(question)


async def test_a_passage_that_says_the_name_is_what_is_asked_about(world: World) -> None:
    (world.folder / "talks.md").write_text("Budget 2026.key was shown on 4 May 2026.")
    await world.ingest()

    turn = await world.ask("When was Budget 2026.key shown?")

    assert turn.answer
    assert "4 May 2026" in turn.answer.text
    assert ["could not be read" in note for note in turn.notes] == [True]


async def test_a_document_that_is_named_too_is_read(world: World) -> None:
    await world.ingest()
    turn = await world.ask("How high is the harbour fee by fees.md, and by plan.pdf?")
    assert any("plan.pdf could not be read" in note for note in turn.notes)
    assert turn.hits


async def test_nobody_learns_of_a_file_of_others(world: World) -> None:
    await world.ingest(allowed=("group:board",))
    (world.folder / "open.md").write_text("The fee of the harbour for guests is 50 euros.")
    await world.service.readers.set_folder(Principal(), "default", "/docs", ("group:board",))
    stranger, board = Principal(user="eva"), Principal(groups=("board",))

    for question in ("What is in plan.pdf?", "What is in Budget 2026.key?"):
        assert "could not be read" in await world.said(question, principal=board)
        assert "could not be read" not in await world.said(question, principal=stranger)


async def test_what_is_gone_or_deleted_is_told_of_no_more(world: World) -> None:
    await world.ingest()
    (world.folder / "Budget 2026.key").unlink()
    await world.ingest(prune=True)
    assert "could not be read" not in await world.said("What is in Budget 2026.key?")

    await world.service.delete(Principal(), "default", ["/docs/plan.pdf"])
    assert "could not be read" not in await world.said("What is in plan.pdf?")


async def test_a_file_that_is_mended_is_read(world: World) -> None:
    await world.ingest()
    (world.folder / "plan.pdf").unlink()
    (world.folder / "plan.md").write_text("The quay is renewed in June.")
    (world.folder / "notes.txt").write_bytes(b"\x00\x01\x02" * 500)
    await world.ingest(prune=True)
    assert "could not be read" in await world.said("When is the quay renewed in notes.txt?")

    (world.folder / "notes.txt").write_text("The quay is renewed in July.")
    await world.ingest()

    assert "July" in await world.said("When is the quay renewed in notes.txt?")


async def test_files_that_are_passed_over_are_counted_and_listed_nowhere(world: World) -> None:
    first = await world.ingest()
    again = await world.ingest()

    for progress in (first, again):
        assert [(item.kind, item.files) for item in progress.skipped] == [(".key", 1)]
        assert [failed.path for failed in progress.failed] == ["/docs/plan.pdf"]
    listed = await world.service.documents(Principal(), "default")
    assert [item.path for item in listed] == ["/docs/fees.md", "/docs/plan.pdf"]
    summary = await world.service.collection(Principal(), "default")
    assert (summary.documents, summary.failed) == (1, 1)
    folders = await world.service.reading.folders(Principal(), "default")
    assert [(item.path, item.documents) for item in folders] == [("/docs", 2)]
    with pytest.raises(UnknownDocument):
        await world.service.reading.read(Principal(), "default", "/docs/Budget 2026.key", 0, 100)


async def test_members_of_an_archive_count_too(world: World) -> None:
    with zipfile.ZipFile(world.folder / "old.zip", "w") as archive:
        archive.writestr("tariff.md", "Mooring costs 9 euros.")
        archive.writestr("sketch.dwg", b"drawing")
    await world.ingest()
    said = await world.said("What does mooring cost by sketch.dwg?")
    assert said.startswith("sketch.dwg could not be read")


async def test_a_search_has_a_note_beside_what_it_finds(world: World) -> None:
    await world.ingest()
    found = await world.service.search(Ask("harbour fee in plan.pdf"))
    assert found.hits
    assert any("plan.pdf could not be read" in note for note in found.notes)


async def test_a_chat_model_is_not_asked(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "fees.md").write_text(FEE)
    (tmp_path / "docs" / "plan.key").write_bytes(b"slides")
    with model_server() as model:
        settings = Settings(
            ragstone_data=tmp_path / "data", llm=LlmSettings(model="some", base_url=model.url)
        )
        async with build.open(settings) as service:
            await service.start_jobs()
            world = World(service, settings, tmp_path / "docs")
            await world.ingest()
            for level in ("basic", "maximum"):
                said = await world.said("How high is the fee in plan.key?", level=level)
                assert said.startswith("plan.key could not be read")


async def test_dialects_tell_it_in_their_answers(world: World) -> None:
    await world.ingest()
    question = "How high is the harbour fee in plan.pdf?"
    transport = httpx.ASGITransport(create_app(world.service, world.settings, "token"))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        chat = {"model": "ragstone", "messages": [{"role": "user", "content": question}]}
        openai = (await http.post("/v1/chat/completions", json=chat)).json()
        rag = (await http.post("/api/v1/rag/query", json={"query": question})).json()
    said = openai["choices"][0]["message"]["content"]
    assert said.startswith("plan.pdf could not be read")
    assert rag["answer"].startswith("plan.pdf could not be read")
