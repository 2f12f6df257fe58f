"""The text of scanned pages and pictures, recognised by the real models."""

import base64
import io
import struct
import threading
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pypdfium2
import pytest
from PIL import Image

from ragstone.core.errors import DocumentError, EmptyDocument, TooLarge, UnreadableDocument
from ragstone.ingest.document import Block
from ragstone.ingest.formats import recognition
from ragstone.ingest.parse import parse
from ragstone.settings import IngestSettings
from tests.ingest.formats.chinese import CHINESE, CHINESE_PNG
from tests.ingest.pdf_files import Line, Placed, pdf, placed_pdf, right

pytestmark = pytest.mark.slow

SETTINGS = IngestSettings()
NOTICE = ["The notice period is four weeks.", "", "Employees order a laptop from the help desk."]


def shown(path: Path, page: int = 0, dpi: int = 200) -> Image.Image:
    """A page of a PDF as a picture."""
    document = pypdfium2.PdfDocument(path)
    image = document[page].render(scale=dpi / 72).to_pil()
    document.close()
    return image


def picture(tmp_path: Path, lines: Sequence[Line]) -> Image.Image:
    return shown(pdf(tmp_path / "source.pdf", [lines]))


def scan(path: Path, images: Sequence[Image.Image]) -> Path:
    """A PDF of pictures alone."""
    images[0].save(path, save_all=True, append_images=list(images[1:]), resolution=200)
    return path


def text(blocks: Iterator[Block]) -> str:
    return "\n".join(block.text for block in blocks)


def test_given_a_scanned_page_when_read_then_its_text_has_page_and_boxes(tmp_path: Path) -> None:
    blank = Image.new("RGB", (1700, 2200), "white")
    path = scan(tmp_path / "scan.pdf", [blank, picture(tmp_path, NOTICE)])
    parsed = parse(path, SETTINGS)
    blocks = list(parsed.blocks)
    assert [block.text for block in blocks] == [NOTICE[0], NOTICE[2]]
    assert parsed.metadata["pages_without_text"] == parsed.metadata["pages_recognised"] == 2
    (place,) = blocks[0].places
    assert place.page == 2
    assert place.box is not None
    # The line stands at 72 points from the left, its baseline 52 from the top, in 10 points.
    assert abs(place.box.left - 72) < 6
    assert abs((place.box.top + place.box.bottom) / 2 - 49) < 6


@pytest.mark.parametrize("degrees", [90, 180, 270, 2, -3])
def test_given_a_page_that_lies_askew_when_read_then_its_lines_are_in_order(
    tmp_path: Path, degrees: int
) -> None:
    lines = [word for n in range(6) for word in (f"Rule {n} is about the whales of sea {n}.", "")]
    turned = picture(tmp_path, lines).rotate(degrees, expand=True, fillcolor="white")
    blocks = list(parse(scan(tmp_path / "scan.pdf", [turned]), SETTINGS).blocks)
    # Here and there a space is lost beside a figure.
    assert [block.text.replace(" ", "") for block in blocks] == [
        line.replace(" ", "") for line in lines if line
    ]


def test_given_a_scanned_table_when_read_then_its_cells_have_names(tmp_path: Path) -> None:
    rows = [
        ("Net sales", "4,210", "3,980"),
        ("Rent", "1,110", "1,020"),
        ("Wages", "2,345", "2,001"),
    ]
    page = [right(380, 100, "2023"), right(480, 100, "2022")]
    for number, (label, one, other) in enumerate(rows):
        top = 120 + 20 * number
        page += [Placed(72, top, label), right(380, top, one), right(480, top, other)]
    path = scan(tmp_path / "scan.pdf", [shown(placed_pdf(tmp_path / "table.pdf", [page]))])
    (table,) = (block for block in parse(path, SETTINGS).blocks if block.kind == "table")
    assert table.text.splitlines()[1] == "Rent; 2023: 1,110; 2022: 1,020"


def test_given_a_stamp_on_a_scan_when_read_then_the_scan_is_read_too(tmp_path: Path) -> None:
    path = scan(tmp_path / "scan.pdf", [picture(tmp_path, NOTICE)])
    stamp = pypdfium2.PdfDocument(pdf(tmp_path / "stamp.pdf", [["", "", "Received 3 May"]]))
    document = pypdfium2.PdfDocument(path)
    page = document[0]
    page.insert_obj(stamp.page_as_xobject(0, document).as_pageobject())
    page.gen_content()
    document.save(tmp_path / "stamped.pdf")
    read = text(parse(tmp_path / "stamped.pdf", SETTINGS).blocks)
    assert NOTICE[0] in read
    assert "3 May" in read


def test_given_text_and_scanned_pages_when_read_then_all_come_in_order(tmp_path: Path) -> None:
    first = pypdfium2.PdfDocument(pdf(tmp_path / "text.pdf", [["A page with text."]] * 2))
    scanned = pypdfium2.PdfDocument(scan(tmp_path / "scan.pdf", [picture(tmp_path, NOTICE)]))
    first.import_pages(scanned, index=1)
    first.save(tmp_path / "mixed.pdf")
    parsed = parse(tmp_path / "mixed.pdf", SETTINGS)
    assert parsed.metadata["pages_recognised"] == 1
    assert [block.page for block in parsed.blocks] == [1, 2, 2, 3]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("a.png", {}),
        ("a.jpg", {"quality": 80}),
        ("a.webp", {"quality": 80}),
        ("a.tiff", {"compression": "tiff_lzw"}),
    ],
)
def test_given_a_picture_when_read_then_its_text_is_the_document(
    tmp_path: Path, name: str, options: dict[str, object]
) -> None:
    picture(tmp_path, NOTICE).save(tmp_path / name, **options)
    parsed = parse(tmp_path / name, SETTINGS)
    assert (parsed.title, parsed.pages) == ("a", 1)
    assert [block.text for block in parsed.blocks] == [NOTICE[0], NOTICE[2]]


def test_given_a_picture_with_a_resolution_then_its_boxes_are_in_points(tmp_path: Path) -> None:
    picture(tmp_path, NOTICE).save(tmp_path / "a.png", dpi=(200, 200))
    place = next(iter(parse(tmp_path / "a.png", SETTINGS).blocks)).places[0]
    assert place.box is not None
    assert abs(place.box.left - 72) < 6


def test_given_a_photo_that_is_shown_turned_when_read_then_so_is_it_read(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    picture(tmp_path, NOTICE).rotate(90, expand=True).save(tmp_path / "a.jpg", exif=exif)
    assert NOTICE[0] in text(parse(tmp_path / "a.jpg", SETTINGS).blocks)


def test_given_a_tiff_of_pages_when_read_then_each_block_has_its_page(tmp_path: Path) -> None:
    pages = [picture(tmp_path, [f"This is page {number}."]) for number in (1, 2)]
    pages[0].save(tmp_path / "a.tif", save_all=True, append_images=pages[1:])
    parsed = parse(tmp_path / "a.tif", SETTINGS)
    assert parsed.pages == 2
    assert [(block.page, block.text) for block in parsed.blocks] == [
        (1, "This is page 1."),
        (2, "This is page 2."),
    ]


def test_given_transparent_black_letters_when_read_then_they_are_on_white(tmp_path: Path) -> None:
    seen = picture(tmp_path, NOTICE).convert("L")
    letters = Image.new("RGBA", seen.size, (0, 0, 0, 0))
    letters.putalpha(seen.point(lambda value: 255 - value))
    letters.save(tmp_path / "a.png")
    assert NOTICE[0] in text(parse(tmp_path / "a.png", SETTINGS).blocks)


def test_given_german_when_read_then_umlauts_are_kept(tmp_path: Path) -> None:
    line = "Die Kündigungsfrist beträgt für Angestellte vier Wochen."
    picture(tmp_path, [(line, 14)]).save(tmp_path / "a.png")
    assert text(parse(tmp_path / "a.png", SETTINGS).blocks) == line


def test_given_chinese_when_read_then_its_characters_are_right(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(base64.b64decode(CHINESE_PNG))
    assert text(parse(tmp_path / "a.png", SETTINGS).blocks) == CHINESE


@pytest.mark.parametrize("size", [(800, 600), (1, 1), (3000, 2), (2, 3000)])
def test_given_a_picture_without_text_when_read_then_it_is_empty(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    Image.new("RGB", size, "teal").save(tmp_path / "a.png")
    with pytest.raises(EmptyDocument, match=r"^a\.png holds pictures in which no text"):
        parse(tmp_path / "a.png", SETTINGS)


def test_given_a_scan_without_words_when_read_then_it_is_empty(tmp_path: Path) -> None:
    path = scan(tmp_path / "a.pdf", [Image.new("RGB", (850, 1100), "white")])
    with pytest.raises(EmptyDocument, match="no text was recognised"):
        parse(path, SETTINGS)


def png_of(width: int, height: int) -> bytes:
    """A PNG that claims so many pixels and has few bytes."""
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(bytes(1000))),
        (b"IEND", b""),
    )
    data = b"\x89PNG\r\n\x1a\n"
    for name, body in parts:
        data += struct.pack(">I", len(body)) + name + body
        data += struct.pack(">I", zlib.crc32(name + body))
    return data


@pytest.mark.parametrize("side", [8_000, 11_000, 100_000])
def test_given_a_picture_that_unpacks_to_gigabytes_when_read_then_it_is_refused(
    tmp_path: Path, side: int
) -> None:
    (tmp_path / "a.png").write_bytes(png_of(side, side))
    with pytest.raises(TooLarge, match="60,000,000"):
        parse(tmp_path / "a.png", SETTINGS)


@pytest.mark.parametrize("kind", ["png", "jpeg", "tiff", "webp"])
@pytest.mark.parametrize("share", [0.01, 0.3, 0.9])
def test_given_a_truncated_picture_when_read_then_it_is_one_line(
    tmp_path: Path, kind: str, share: float
) -> None:
    whole = io.BytesIO()
    picture(tmp_path, NOTICE).save(whole, kind)
    data = whole.getvalue()
    (tmp_path / f"a.{kind}").write_bytes(data[: max(20, int(share * len(data)))])
    with pytest.raises(DocumentError) as raised:
        list(parse(tmp_path / f"a.{kind}", SETTINGS).blocks)
    assert "\n" not in raised.value.message


def test_given_more_scanned_pages_than_allowed_when_read_then_it_is_refused(
    tmp_path: Path,
) -> None:
    blank = Image.new("L", (85, 110), "white")
    few = SETTINGS.model_copy(update={"ocr_pages": 2})
    path = scan(tmp_path / "a.pdf", [blank] * 3)
    with pytest.raises(TooLarge, match="3 scanned pages; the limit is 2"):
        parse(path, few)
    blank.save(tmp_path / "a.tiff", save_all=True, append_images=[blank] * 2)
    with pytest.raises(TooLarge, match="3 pages; the limit is 2"):
        parse(tmp_path / "a.tiff", few)


def test_given_a_high_confidence_when_read_then_unsure_lines_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragstone.plugins.ocr.rapidocr.CONFIDENCE", 1.0)
    picture(tmp_path, NOTICE).save(tmp_path / "a.png")
    with pytest.raises(EmptyDocument):
        parse(tmp_path / "a.png", SETTINGS)


def test_given_pages_to_recognise_when_read_then_each_is_told_before(tmp_path: Path) -> None:
    told: list[int] = []
    path = scan(tmp_path / "a.pdf", [picture(tmp_path, NOTICE)] * 2)
    list(parse(path, SETTINGS, noticed=lambda: told.append(1)).blocks)
    assert len(told) == 2


def test_given_recognition_is_off_when_read_then_it_says_how_to_have_it(tmp_path: Path) -> None:
    off = SETTINGS.model_copy(update={"ocr_pages": 0})
    image = picture(tmp_path, NOTICE)
    image.save(tmp_path / "a.png")
    with pytest.raises(UnreadableDocument, match="INGEST__OCR_PAGES"):
        parse(tmp_path / "a.png", off)
    with pytest.raises(EmptyDocument, match=r"no text layer.*INGEST__OCR_PAGES"):
        parse(scan(tmp_path / "a.pdf", [image]), off)


def test_given_no_extra_when_read_then_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recognition, "is_installed", lambda: False)
    image = picture(tmp_path, NOTICE)
    image.save(tmp_path / "a.png")
    with pytest.raises(UnreadableDocument, match=r"pip install 'ragstone\[ocr\]'"):
        parse(tmp_path / "a.png", SETTINGS)
    with pytest.raises(EmptyDocument, match=r"pip install 'ragstone\[ocr\]'"):
        parse(scan(tmp_path / "a.pdf", [image]), SETTINGS)


def test_given_work_that_takes_too_long_when_waited_for_then_it_goes_on_alone() -> None:
    held = threading.Event()
    with pytest.raises(TimeoutError):
        recognition.in_time(held.wait, 0.001)
    assert recognition.is_computing()
    held.set()
    assert recognition.in_time(lambda: 3, 60.0) == 3


def test_given_work_that_fails_when_waited_for_then_its_error_is_raised() -> None:
    def fails() -> None:
        raise UnreadableDocument("It is damaged.")

    with pytest.raises(UnreadableDocument, match="damaged"):
        recognition.in_time(fails, 60.0)
