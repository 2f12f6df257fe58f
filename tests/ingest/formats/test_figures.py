"""Pictures of every format as figures: where they stand, what they are called, how they look."""

import base64
import io
import zipfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import docx
import pptx
import pypdfium2
import pytest
from PIL import Image

from ragstone.core.document import picture_id
from ragstone.core.errors import DocumentError
from ragstone.ingest.document import Block
from ragstone.ingest.formats.image_file import detect_media_type
from ragstone.ingest.parse import draw_document_picture, parse
from ragstone.settings import IngestSettings
from tests.ingest.formats.test_epub import PAGE, book
from tests.ingest.formats.test_odf import NAMES
from tests.ingest.pdf_files import Placed, placed_pdf

UNREAD = IngestSettings(ocr_pages=0)
SAID = "A sign beside the door of the office"
BLUE = (10, 40, 200)


@cache
def drawing(colour: tuple[int, int, int] = BLUE, kind: str = "PNG") -> bytes:
    """A picture of one colour with a noisy edge, so that it has more than 2 kB."""
    image = Image.new("RGB", (240, 160), colour)
    image.paste(Image.effect_noise((240, 12), 90).convert("RGB"), (0, 0))
    target = io.BytesIO()
    image.save(target, kind)
    return target.getvalue()


def blocks(path: Path, folder: Path | None = None) -> list[Block]:
    return list(parse(path, UNREAD, folder).blocks)


def pictured(path: Path, folder: Path | None = None) -> list[tuple[str, int]]:
    """The texts of the blocks with how many pictures each has."""
    return [(block.text, len(block.pictures)) for block in blocks(path, folder)]


def colour_of(path: Path, id: str, folder: Path | None = None) -> tuple[int, ...]:
    """The colour in the middle of a picture as it is shown."""
    _, data = draw_document_picture(path, UNREAD, id, folder)
    with Image.open(io.BytesIO(data)) as image:
        found = image.convert("RGB").getpixel((image.width // 2, image.height // 2))
    assert isinstance(found, tuple)
    return tuple(found)


def looks_alike(one: Sequence[int], other: Sequence[int]) -> bool:
    return all(abs(a - b) < 12 for a, b in zip(one, other, strict=True))


def only_picture(path: Path, folder: Path | None = None) -> str:
    [id] = {id for block in blocks(path, folder) for id in block.pictures}
    return id


def word(folder: Path, *parts: bytes | str | tuple[str, str]) -> Path:
    """A Word file of pictures, paragraphs, and paragraphs with the name of their style."""
    document = docx.Document()
    for part in parts:
        if isinstance(part, bytes):
            document.add_picture(io.BytesIO(part))
        else:
            text, style = (part, "Normal") if isinstance(part, str) else part
            document.add_paragraph(text, style=style)
    document.save(str(folder / "a.docx"))
    return folder / "a.docx"


BEFORE, AFTER = "The pump stands in the cellar.", "It is oiled twice in a year."
CAPTION = "Figure 2: The pump"


def test_given_a_picture_without_words_when_read_then_the_paragraph_before_it_has_it(
    tmp_path: Path,
) -> None:
    path = word(tmp_path, BEFORE, drawing(), AFTER)
    assert pictured(path) == [(BEFORE, 1), (AFTER, 0)]
    assert looks_alike(colour_of(path, only_picture(path)), BLUE)


@pytest.mark.parametrize("caption", [(CAPTION, "Caption"), CAPTION])
def test_given_a_caption_below_or_above_a_picture_when_read_then_it_has_the_picture(
    tmp_path: Path, caption: str | tuple[str, str]
) -> None:
    assert pictured(word(tmp_path, BEFORE, drawing(), caption, AFTER)) == [
        (BEFORE, 0),
        (CAPTION, 1),
        (AFTER, 0),
    ]
    assert pictured(word(tmp_path, BEFORE, caption, drawing(), AFTER))[1] == (CAPTION, 1)


def test_given_a_picture_below_a_heading_when_read_then_the_paragraph_has_it(
    tmp_path: Path,
) -> None:
    path = word(tmp_path, ("The pump", "Heading 1"), drawing(), AFTER)
    assert pictured(path) == [("The pump", 0), (AFTER, 1)]
    path = word(tmp_path, drawing(), AFTER)
    assert pictured(path) == [(AFTER, 1)]


def test_given_a_picture_on_two_slides_when_read_then_the_first_has_it(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    for title in ("One", "Two"):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = f"Words of slide {title}"
        slide.shapes.add_picture(io.BytesIO(drawing()), 0, 5_000_000)
    deck.save(str(tmp_path / "a.pptx"))
    found = blocks(tmp_path / "a.pptx")
    assert [block.page for block in found if block.pictures] == [1]
    assert looks_alike(colour_of(tmp_path / "a.pptx", only_picture(tmp_path / "a.pptx")), BLUE)


def test_given_a_picture_in_a_libreoffice_file_when_read_then_it_has_its_description(
    tmp_path: Path,
) -> None:
    shown = (
        '<draw:frame xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0">'
        '<draw:image xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="Pictures/one.png"/>'
        f"<svg:desc>{SAID}</svg:desc></draw:frame>"
    )
    body = f"<office:text><text:p>{BEFORE}{shown}</text:p></office:text>"
    path = tmp_path / "a.odt"
    with zipfile.ZipFile(path, "w") as package:
        content = f"<office:document-content {NAMES}><office:body>{body}</office:body>"
        package.writestr("content.xml", f"{content}</office:document-content>")
        package.writestr("Pictures/one.png", drawing())
    assert pictured(path) == [(BEFORE, 0), (SAID, 1)]
    assert looks_alike(colour_of(path, only_picture(path)), BLUE)


def test_given_a_picture_in_a_book_when_read_then_it_has_its_description(tmp_path: Path) -> None:
    page = PAGE.format(f"<p>{BEFORE}</p><img src='../img/one.png' alt='{SAID}'/>")
    files: dict[str, str | bytes] = {"OPS/text/a.xhtml": page, "OPS/img/one.png": drawing()}
    path = book(tmp_path, **files)
    assert pictured(path)[-2:] == [(BEFORE, 0), (SAID, 1)]
    assert looks_alike(colour_of(path, only_picture(path)), BLUE)


@pytest.mark.parametrize("inside", [True, False])
def test_given_a_figure_of_a_page_when_read_then_its_caption_has_the_picture(
    tmp_path: Path, inside: bool
) -> None:
    address = "../one.png"
    if inside:
        address = f"data:image/png;base64,{base64.b64encode(drawing()).decode()}"
    (tmp_path / "one.png").write_bytes(drawing())
    (tmp_path / "docs").mkdir()
    path = tmp_path / "docs/a.html"
    path.write_text(
        f"<main><p>{BEFORE}</p><figure><img src='{address}'><figcaption>{CAPTION}</figcaption>"
        f"</figure><p>{AFTER}</p></main>"
    )
    assert pictured(path, tmp_path) == [(BEFORE, 0), (CAPTION, 1), (AFTER, 0)]
    id = only_picture(path, tmp_path)
    assert looks_alike(colour_of(path, id, tmp_path), BLUE)
    if not inside:
        with pytest.raises(DocumentError):
            draw_document_picture(path, UNREAD, id, None)


def with_image(path: Path, data: bytes, left: float, top: float, width: float, height: float,
               pages: Sequence[int] = (0,)) -> Path:  # fmt: skip
    """The PDF with a JPEG on some pages, at points from the left and the top."""
    document = pypdfium2.PdfDocument(path.read_bytes())
    for index in pages:
        page = document[index]
        one = pypdfium2.PdfImage.new(document)
        one.load_jpeg(io.BytesIO(data))
        matrix = pypdfium2.PdfMatrix().scale(width, height)
        one.set_matrix(matrix.translate(left, page.get_height() - top - height))
        page.insert_obj(one)
        page.gen_content()
    document.save(str(path))
    document.close()
    return path


LINES = [
    Placed(60, 80, BEFORE),
    Placed(60, 420, "Figure 7: The boiler of the second house, seen from the stairs"),
    Placed(60, 500, "The boiler was built in the year of the great flood, of copper."),
]


@pytest.mark.parametrize("rotate", [0, 90])
def test_given_a_picture_on_a_page_of_a_pdf_when_read_then_the_caption_below_it_has_it(
    tmp_path: Path, rotate: int
) -> None:
    path = placed_pdf(tmp_path / "a.pdf", [LINES, [Placed(60, 80, AFTER)]])
    with_image(path, drawing(kind="JPEG"), 60, 120, 300, 280)
    assert pictured(path) == [(BEFORE, 0), (LINES[1].text, 1), (LINES[2].text, 0), (AFTER, 0)]
    assert looks_alike(colour_of(path, only_picture(path)), BLUE)


def test_given_a_picture_without_a_caption_in_a_pdf_when_read_then_what_stands_above_has_it(
    tmp_path: Path,
) -> None:
    path = placed_pdf(tmp_path / "a.pdf", [[LINES[0], LINES[2]], [Placed(60, 80, AFTER)]])
    with_image(path, drawing(kind="JPEG"), 60, 120, 300, 280)
    assert pictured(path) == [(BEFORE, 1), (LINES[2].text, 0), (AFTER, 0)]


@pytest.mark.parametrize(
    ("width", "height"), [(30, 280), (60, 60), (612, 792)], ids=["rule", "logo", "background"]
)
def test_given_an_ornament_in_a_pdf_when_read_then_it_is_no_picture(
    tmp_path: Path, width: float, height: float
) -> None:
    path = placed_pdf(tmp_path / "a.pdf", [LINES])
    with_image(path, drawing(kind="JPEG"), 0, 0, width, height)
    assert not any(count for _, count in pictured(path))


def test_given_a_picture_on_every_page_of_a_pdf_when_read_then_it_stands_on_the_first_alone(
    tmp_path: Path,
) -> None:
    path = placed_pdf(tmp_path / "a.pdf", [LINES, LINES])
    with_image(path, drawing(kind="JPEG"), 60, 120, 300, 280, pages=(0, 1))
    assert sum(count for _, count in pictured(path)) == 1


def test_given_bytes_behind_a_picture_when_shown_then_they_are_gone(tmp_path: Path) -> None:
    hidden = b"<script>alert(1)</script>" * 100
    path = word(tmp_path, BEFORE, drawing() + hidden, AFTER)
    media_type, data = draw_document_picture(path, UNREAD, only_picture(path))
    assert media_type == "image/png" == detect_media_type(data)
    assert b"script" not in data


def test_given_a_photo_when_shown_then_it_is_small_and_says_nothing_of_its_place(
    tmp_path: Path,
) -> None:
    noise = [Image.effect_noise((3_000, 2_000), 90) for _ in range(3)]
    photo = Image.merge("RGB", noise)
    about = Image.Exif()
    about[0x010E] = "Taken at home"
    target = io.BytesIO()
    photo.save(target, "JPEG", exif=about)
    path = word(tmp_path, BEFORE, target.getvalue(), AFTER)
    media_type, data = draw_document_picture(path, UNREAD, only_picture(path))
    assert media_type == "image/jpeg"
    assert b"Taken at home" not in data
    with Image.open(io.BytesIO(data)) as image:
        assert max(image.size) == 1_600


@pytest.mark.parametrize("name", ["word/document.xml", "word/media/none.png", "1.5", "", "x" * 400])
def test_given_the_name_of_no_picture_when_shown_then_it_is_refused(
    tmp_path: Path, name: str
) -> None:
    path = word(tmp_path, BEFORE, drawing(), AFTER)
    with pytest.raises(DocumentError):
        draw_document_picture(path, UNREAD, picture_id(drawing(), name))


def test_given_a_text_file_when_a_picture_is_wanted_then_it_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(BEFORE)
    with pytest.raises(DocumentError):
        draw_document_picture(path, UNREAD, picture_id(b"", "1"))
