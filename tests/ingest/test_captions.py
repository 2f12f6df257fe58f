"""Pictures that a chat model describes: all of Ragstone with a real model server beside it."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ragstone import build
from ragstone.core.document import BlockSpan
from ragstone.core.source import hit_sources
from ragstone.core.turn import Ask, Principal
from ragstone.ingest.pictures import DESCRIBED
from ragstone.local import Ragstone
from ragstone.service import IngestRequest, Progress
from ragstone.settings import IngestSettings, LlmSettings, Settings
from tests.model_server import ModelServer, model_server
from tests.service.test_document_pictures import manual, photo

pytestmark = pytest.mark.slow

ME = Principal()
SAYS = "A giraffe drinks from a green bucket beside the parking lot."


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with model_server(says=(SAYS,)) as server:
        yield server


@asynccontextmanager
async def opened(
    data: Path, model: ModelServer | None, vision: bool = True
) -> AsyncIterator[Ragstone]:
    llm = LlmSettings()
    if model:
        llm = LlmSettings(model="some", base_url=model.url, retries=0, vision=vision)
    ingest = IngestSettings(ocr_pages=0, captions=True)
    async with build.open(Settings(ragstone_data=data, llm=llm, ingest=ingest)) as service:
        yield service


async def ingested(service: Ragstone, path: Path) -> Progress:
    return [step async for step in service.ingest(IngestRequest((str(path),)))][-1]


async def described(service: Ragstone, path: str = "/manual.docx") -> list[str]:
    """What a model said of the pictures of a document, as it stands in its text."""
    read = await service.reading.read(ME, "default", path, 0, 100_000)
    own: list[BlockSpan] = [block for block in read.blocks if block.label == DESCRIBED]
    assert all(span.kind == "caption" and span.pictures for span in own)
    return [read.text[span.start : span.end] for span in own]


async def test_given_a_model_that_sees_then_pictures_are_found_by_what_it_says(
    tmp_path: Path, model: ModelServer
) -> None:
    path = manual(tmp_path / "manual.docx", photo())
    async with opened(tmp_path / "data", model) as service:
        done = await ingested(service, path)
        assert await described(service) == [SAYS]
        [call] = model.calls
        parts = call["messages"][-1]["content"]
        [image] = [part for part in parts if part["type"] == "image_url"]
        assert image["image_url"]["url"].startswith("data:image/png;base64,")
        assert any("describes 1 pictures: about 110 tokens" in note for note in done.notes)
        assert any("described 1 pictures: 1 calls, 110 tokens" in note for note in done.notes)
        found = await service.search(Ask("What does the giraffe drink from?", cache=False))
        [picture, *_] = hit_sources(found.hits)[0].pictures
        assert (await service.reading.picture(ME, "default", "/manual.docx", picture.id)).base64


async def test_given_a_picture_that_was_described_then_the_model_does_not_see_it_again(
    tmp_path: Path, model: ModelServer
) -> None:
    path = manual(tmp_path / "manual.docx", photo())
    async with opened(tmp_path / "data", model) as service:
        await ingested(service, path)
        await ingested(service, path)
        assert len(model.calls) == 1
        manual(path, photo(), photo(5), caption="Figure 3: The pump, and a bucket beside it")
        await ingested(service, path)
        assert len(model.calls) == 2
        assert await described(service) == [SAYS, SAYS]


async def test_given_a_model_that_fails_then_the_text_is_there_and_the_next_ingest_goes_on(
    tmp_path: Path, model: ModelServer
) -> None:
    path = manual(tmp_path / "manual.docx", photo(), photo(5))
    async with opened(tmp_path / "data", model) as service:
        model.way = "500"
        done = await ingested(service, path)
        assert (done.indexed, done.failed) == (1, ())
        assert "2 pictures are not described" in done.notes[-1]
        assert await described(service) == []
        model.way = "good"
        await ingested(service, path)
        assert await described(service) == [SAYS, SAYS]


async def test_given_a_limit_then_the_rest_waits_for_the_next_ingest(
    tmp_path: Path, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragstone.ingest.captions.MAX_PICTURES", 1)
    path = manual(tmp_path / "manual.docx", photo(), photo(5), photo(9))
    async with opened(tmp_path / "data", model) as service:
        done = await ingested(service, path)
        assert (len(model.calls), len(await described(service))) == (1, 1)
        assert any("2 pictures are not described." in n for n in done.notes)
        await ingested(service, path)
        assert (len(model.calls), len(await described(service))) == (2, 2)


@pytest.mark.parametrize("blind", [True, False])
async def test_given_no_model_that_sees_then_a_note_says_so(
    tmp_path: Path, model: ModelServer, blind: bool
) -> None:
    path = manual(tmp_path / "manual.docx", photo())
    async with opened(tmp_path / "data", model if blind else None, vision=False) as service:
        done = await ingested(service, path)
        assert any("INGEST__CAPTIONS has no effect" in note for note in done.notes)
        assert (await described(service), model.calls) == ([], [])


async def test_given_the_same_picture_in_another_document_then_the_model_does_not_see_it_again(
    tmp_path: Path, model: ModelServer
) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    manual(folder / "manual.docx", photo())
    async with opened(tmp_path / "data", model) as service:
        await ingested(service, folder)
        manual(folder / "other.docx", photo(), caption="Figure 1: The same pump again")
        await ingested(service, folder)
        assert len(model.calls) == 1
        assert await described(service, "/docs/other.docx") == [SAYS]
        await service.delete(ME, "default", ["/docs/manual.docx"])
        await ingested(service, folder / "other.docx")
        assert len(model.calls) == 1


async def test_given_a_long_description_in_small_chunks_then_it_is_found_again_whole(
    tmp_path: Path, model: ModelServer
) -> None:
    long = " ".join(f"Sentence {n} tells of the giraffe in the yard." for n in range(16))
    model.says = (long,)
    path = manual(tmp_path / "manual.docx", photo())
    ingest = IngestSettings(ocr_pages=0, captions=True, chunk_size=200, chunk_overlap=80)
    llm = LlmSettings(model="some", base_url=model.url, retries=0, vision=True)
    settings = Settings(ragstone_data=tmp_path / "data", llm=llm, ingest=ingest)
    async with build.open(settings) as service:
        await ingested(service, path)
        manual(path, photo(), caption="Figure 3: The cooling pump, seen from another side")
        await ingested(service, path)
        assert len(model.calls) == 1
        assert await described(service) == [long]
