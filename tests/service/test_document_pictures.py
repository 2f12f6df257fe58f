"""Pictures inside documents: an answer that cites one shows it to who may read the document."""

import io
import zipfile
import zlib
from base64 import b64decode
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from urllib.parse import unquote

import docx
import httpx2
import pytest
import pytest_asyncio
from PIL import Image

from ragstone import build
from ragstone.core.errors import UnknownDocument, UnknownPicture
from ragstone.core.events import Done
from ragstone.core.source import Source, SourcePicture, hit_sources, sources
from ragstone.core.turn import Ask, Principal
from ragstone.http.app import create_app
from ragstone.local import Ragstone
from ragstone.service import IngestRequest, Progress
from ragstone.settings import IngestSettings, Settings
from tests.credentials import a_key, bearer
from tests.in_turn import in_turn

pytestmark = pytest.mark.slow

ME = Principal()
ADA = Principal(user="ada")
CAPTION = "Figure 3: The cooling pump seen from below, with its drain screw"


@pytest_asyncio.fixture
async def ragstone(tmp_path: Path) -> AsyncIterator[Ragstone]:
    settings = Settings(ragstone_data=tmp_path / "data", ingest=IngestSettings(ocr_pages=0))
    async with build.open(settings) as ragstone:
        yield ragstone


def photo(seed: int = 1, size: tuple[int, int] = (320, 200)) -> bytes:
    image = Image.effect_mandelbrot(size, (-2.0, -1.0, 1.0 + seed / 10, 1.0), 20).convert("RGB")
    target = io.BytesIO()
    image.save(target, "PNG")
    return target.getvalue()


def manual(path: Path, *pictures: bytes, caption: str = CAPTION) -> Path:
    document = docx.Document()
    document.add_paragraph("The boiler room holds two boilers and the water softener.")
    for picture in pictures:
        document.add_picture(io.BytesIO(picture))
    document.add_paragraph(caption, style="Caption")
    document.add_paragraph("The valves are turned by hand, once in every week of the winter.")
    document.save(str(path))
    return path


async def ingested(ragstone: Ragstone, path: Path, allowed: tuple[str, ...] = ("*",)) -> Progress:
    request = IngestRequest((str(path),), "notes", allowed=allowed)
    return [step async for step in ragstone.ingest(request)][-1]


async def answered(ragstone: Ragstone, question: str) -> tuple[Source, ...]:
    events = [item async for item in ragstone.ask(Ask(question, collection="notes", cache=False))]
    [done] = [event for event in events if isinstance(event, Done)]
    return tuple(source for source in sources(done.turn) if source.cited)


async def first_picture(ragstone: Ragstone, question: str = "cooling pump") -> SourcePicture:
    found = await ragstone.search(Ask(question, collection="notes"))
    return next(picture for hit in hit_sources(found.hits) for picture in hit.pictures)


async def test_given_an_answer_that_cites_a_caption_then_its_source_has_the_picture(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    await ingested(ragstone, manual(tmp_path / "manual.docx", photo()))
    [source] = await answered(ragstone, "What does figure 3 show of the cooling pump?")
    [picture] = source.pictures
    assert picture.caption == CAPTION
    shown = await ragstone.reading.picture(ME, "notes", source.document_id, picture.id)
    assert shown.media_type == "image/png"
    with Image.open(io.BytesIO(b64decode(shown.base64))) as drawn:
        assert drawn.size == (320, 200)


async def test_given_an_answer_of_another_paragraph_then_no_picture_is_shown(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    await ingested(ragstone, manual(tmp_path / "manual.docx", photo()))
    [source] = await answered(ragstone, "How often are the valves turned by hand?")
    assert source.pictures == ()


async def test_given_no_right_to_the_document_then_its_pictures_are_unknown(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    await ingested(ragstone, manual(tmp_path / "manual.docx", photo()), ("user:ada",))
    read = await ragstone.reading.read(ADA, "notes", "/manual.docx", 0, 10_000)
    [id] = {picture for block in read.blocks for picture in block.pictures}
    assert (await ragstone.reading.picture(ADA, "notes", "/manual.docx", id)).base64
    with pytest.raises(UnknownDocument):
        await ragstone.reading.picture(ME, "notes", "/manual.docx", id)


@in_turn(
    "change",
    [
        lambda id: id.replace("image1", "image2"),
        lambda id: "0" * 32 + id[32:],
        lambda id: id[:32] + "/word/document.xml",
        lambda id: id[:32] + "/../../etc/passwd",
        lambda id: "nonsense",
        lambda id: id + "\x00",
    ],
)
async def test_given_another_id_then_nothing_of_the_file_is_shown(
    ragstone: Ragstone, tmp_path: Path, change: Callable[[str], str]
) -> None:
    await ingested(ragstone, manual(tmp_path / "manual.docx", photo()))
    id = (await first_picture(ragstone)).id
    with pytest.raises(UnknownPicture):
        await ragstone.reading.picture(ME, "notes", "/manual.docx", change(id))


async def test_given_another_picture_in_the_file_by_now_then_it_is_not_shown_for_the_first(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    path = manual(tmp_path / "manual.docx", photo())
    await ingested(ragstone, path)
    id = (await first_picture(ragstone)).id
    manual(path, photo(9))
    with pytest.raises(UnknownPicture):
        await ragstone.reading.picture(ME, "notes", "/manual.docx", id)
    path.unlink()
    with pytest.raises(UnknownPicture):
        await ragstone.reading.picture(ME, "notes", "/manual.docx", id)


def broken(path: Path, name: str, data: bytes) -> Path:
    """The package at `path`, in which one part holds other bytes."""
    with zipfile.ZipFile(path) as archive:
        parts = {item: archive.read(item) for item in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for item, content in parts.items():
            archive.writestr(item, data if item == name else content)
    return path


def png_of(width: int, height: int) -> bytes:
    """A PNG that says it has so many pixels, and holds next to nothing."""
    data = bytearray(photo())
    data[16:24] = width.to_bytes(4) + height.to_bytes(4)
    data[29:33] = zlib.crc32(bytes(data[12:29])).to_bytes(4)
    return bytes(data)


SVG = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>" + b" " * 3_000


@pytest.mark.parametrize(
    "data", [png_of(50_000, 50_000), photo()[:4_000], SVG, bytes(5_000)], ids=range(4)
)
async def test_given_a_picture_that_is_none_then_the_text_is_read_and_the_rest_is_told(
    ragstone: Ragstone, tmp_path: Path, data: bytes
) -> None:
    path = broken(manual(tmp_path / "manual.docx", photo()), "word/media/image1.png", data)
    done = await ingested(ragstone, path)
    assert (done.indexed, done.failed) == (1, ())
    assert any("1 picture of manual.docx is damaged or too large" in note for note in done.notes)
    read = await ragstone.reading.read(ME, "notes", "/manual.docx", 0, 10_000)
    assert CAPTION in read.text
    assert not any(block.pictures for block in read.blocks)


async def test_given_more_pictures_than_can_be_shown_then_the_first_are_and_a_note_says_so(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    path = manual(tmp_path / "manual.docx", photo())
    with zipfile.ZipFile(path, "a") as archive:
        for number in range(1_500):
            archive.writestr(f"word/media/more{number}.png", photo())
    done = await ingested(ragstone, path)
    assert done.indexed == 1
    assert any("1,501 pictures; the first 1,000 can be shown" in note for note in done.notes)
    assert await first_picture(ragstone)


async def test_over_http_a_picture_is_an_image_and_nothing_that_runs(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    await ingested(ragstone, manual(tmp_path / "manual.docx", photo()), ("user:ada",))
    read = await ragstone.reading.read(ADA, "notes", "/manual.docx", 0, 10_000)
    [id] = {picture for block in read.blocks for picture in block.pictures}
    ada, eva = await a_key(ragstone, user="ada"), await a_key(ragstone, user="eva")
    transport = httpx2.ASGITransport(create_app(ragstone, Settings(), "operator-token"))
    address = f"/api/v1/collections/notes/documents/{read.document.id}/pictures/{id}"
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        seen = await http.get(address, headers=bearer(ada))
        other = await http.get(address, headers=bearer(eva))
        nobody = await http.get(address)
    assert (seen.status_code, seen.headers["content-type"]) == (200, "image/png")
    assert seen.content.startswith(b"\x89PNG")
    assert seen.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in seen.headers["content-security-policy"]
    assert (other.status_code, nobody.status_code) == (404, 401)


async def test_the_address_of_a_source_leads_to_its_picture(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    await ingested(ragstone, manual(tmp_path / "manual.docx", photo()))
    picture = await first_picture(ragstone)
    transport = httpx2.ASGITransport(create_app(ragstone, Settings(), "operator-token"))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        found = await http.post(
            "/api/v1/retrieval/retrieve", json={"query": "cooling pump", "collection": "notes"}
        )
        [document] = found.json()["documents"]
        [shown] = document["pictures"]
        image = await http.get(shown["address"])
    assert unquote(shown["address"]).endswith(picture.id)
    assert shown["caption"] == CAPTION
    assert (image.status_code, image.headers["content-type"]) == (200, "image/png")
