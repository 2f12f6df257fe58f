"""Pictures in a question where no chat model sees: their text is asked about."""

import base64
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from PIL import Image

from ragstone import build
from ragstone.core.errors import NoChatModel, RagstoneError
from ragstone.core.events import Done, Failed
from ragstone.core.tool import Picture
from ragstone.core.turn import Ask, Turn
from ragstone.ingest.captions import MAX_CHARS, with_picture_text
from ragstone.local import Ragstone
from ragstone.service import IngestRequest
from ragstone.settings import IngestSettings, Settings
from tests.ingest.formats.test_embedded import picture

NOTES = (
    "# Errors\n\nError E-4711 means that the drain of the pump is blocked.\n\n"
    "Error E-2200 means that the lid of the boiler is open.\n"
)
SHOWN = "The panel says E-4711 today."


def image(data: bytes, media_type: str = "image/png") -> Picture:
    return Picture(media_type, base64.b64encode(data).decode())


@asynccontextmanager
async def opened(tmp_path: Path, ocr_pages: int = 1000) -> AsyncIterator[Ragstone]:
    file = tmp_path / "errors.md"
    file.write_text(NOTES)
    ingest = IngestSettings(ocr_pages=ocr_pages)
    settings = Settings(ragstone_data=tmp_path / "data", ingest=ingest)
    async with build.open(settings) as ragstone:
        assert [step async for step in ragstone.ingest(IngestRequest((str(file),)))][-1].finished
        yield ragstone


async def answered(ragstone: Ragstone, *pictures: Picture) -> Turn | RagstoneError:
    ask = Ask("What does this mean?", pictures=pictures, search_type="gpt", cache=False)
    last = [event async for event in ragstone.ask(ask)][-1]
    if isinstance(last, Failed):
        return last.error
    assert isinstance(last, Done)
    return last.turn


@pytest.mark.slow
async def test_given_no_model_that_sees_then_the_text_in_the_picture_is_part_of_the_question(
    tmp_path: Path,
) -> None:
    screen = picture(tmp_path, SHOWN).getvalue()
    async with opened(tmp_path) as ragstone:
        turn = await answered(ragstone, image(screen[:200]), image(screen))
        assert isinstance(turn, Turn)
        assert "E-4711" in turn.ask.question
        assert turn.answer is not None
        assert "drain of the pump is blocked" in turn.answer.text


@pytest.mark.slow
async def test_given_a_picture_without_text_or_no_recognition_then_it_is_an_error(
    tmp_path: Path,
) -> None:
    empty = io.BytesIO()
    Image.new("RGB", (400, 300), "white").save(empty, "PNG")
    async with opened(tmp_path) as ragstone:
        assert isinstance(await answered(ragstone, image(empty.getvalue())), NoChatModel)
    async with opened(tmp_path, ocr_pages=0) as ragstone:
        screen = image(picture(tmp_path, SHOWN).getvalue())
        assert isinstance(await answered(ragstone, screen), NoChatModel)


async def test_given_much_text_then_the_question_stays_short() -> None:
    async def beginning(file: Path, size: int, characters: int) -> str:
        return "x" * characters

    shown = [image(b"one"), image(b"two"), image(b"three", "image/gif")]
    asked = await with_picture_text(Ask("What?", pictures=tuple(shown)), beginning)
    assert (len(asked.question), asked.pictures) == (len("What?\n\n") + MAX_CHARS, ())
