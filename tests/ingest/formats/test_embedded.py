"""Pictures inside documents, read by the real models where they stand."""

import base64
import io
import zipfile
from collections.abc import Sequence
from pathlib import Path

import docx
import pptx
import pypdfium2
import pytest
from PIL import Image

from ragstone.core.errors import EmptyDocument
from ragstone.ingest.formats import recognition
from ragstone.ingest.formats.page_pictures import find_picture_files
from ragstone.ingest.parse import parse
from ragstone.settings import IngestSettings
from tests.ingest.formats.test_epub import PAGE, book
from tests.ingest.formats.test_odf import NAMES
from tests.ingest.pdf_files import pdf

SETTINGS = IngestSettings()
NOTICE = "The notice period is four weeks."
SAID = "A sign beside the door of the office"


def picture(folder: Path, line: str = NOTICE, size: tuple[int, int] | None = None) -> io.BytesIO:
    document = pypdfium2.PdfDocument(pdf(folder / "source.pdf", [[line]]))
    image = document[0].render(scale=2, crop=(0, 600, 300, 0)).to_pil()
    document.close()
    target = io.BytesIO()
    (image.resize(size) if size else image).save(target, "PNG")
    target.seek(0)
    return target


def word(folder: Path, pictures: Sequence[io.BytesIO], said: str = "") -> Path:
    document = docx.Document()
    document.add_paragraph("Before it.")
    for item in pictures:
        document.add_picture(item)
    for shape in document.inline_shapes:
        shape._inline.docPr.set("descr", said)
    document.add_paragraph("After it.")
    document.save(str(folder / "a.docx"))
    return folder / "a.docx"


def texts(path: Path, settings: IngestSettings = SETTINGS) -> list[tuple[str, str, int | None]]:
    return [(block.kind, block.text, block.page) for block in parse(path, settings).blocks]


@pytest.mark.slow
def test_given_a_picture_in_a_text_when_read_then_its_words_stand_where_it_does(
    tmp_path: Path,
) -> None:
    path = word(tmp_path, [picture(tmp_path)], SAID)
    assert texts(path) == [
        ("paragraph", "Before it.", None),
        ("caption", SAID, None),
        ("paragraph", NOTICE, None),
        ("paragraph", "After it.", None),
    ]
    assert recognition.PICTURES_UNREAD not in parse(path, SETTINGS).metadata


@pytest.mark.slow
def test_given_a_picture_on_two_slides_when_read_then_its_words_are_on_the_first(
    tmp_path: Path,
) -> None:
    deck = pptx.Presentation()
    for title in ("One", "Two"):
        slide = deck.slides.add_slide(deck.slide_layouts[5])
        slide.shapes.title.text = title
        slide.shapes.add_picture(picture(tmp_path), 0, 2_000_000)
    deck.save(str(tmp_path / "a.pptx"))
    assert texts(tmp_path / "a.pptx") == [
        ("heading", "One", 1),
        ("paragraph", NOTICE, 1),
        ("heading", "Two", 2),
    ]


def test_given_pictures_without_the_extra_when_read_then_they_wait_and_what_is_said_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recognition, "is_installed", lambda: False)
    path = word(tmp_path, [picture(tmp_path), picture(tmp_path, "Another one.")], SAID)
    assert [text for _, text, _ in texts(path)] == ["Before it.", SAID, SAID, "After it."]
    assert parse(path, SETTINGS).metadata[recognition.PICTURES_UNREAD] == 2


def test_given_pictures_alone_without_the_extra_when_read_then_the_message_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recognition, "is_installed", lambda: False)
    document = docx.Document()
    document.add_picture(picture(tmp_path))
    document.save(str(tmp_path / "a.docx"))
    with pytest.raises(EmptyDocument, match=r"pictures alone.*pip install 'ragstone\[ocr\]'"):
        parse(tmp_path / "a.docx", SETTINGS)


@pytest.mark.parametrize("said", ["image1.png", "Picture 3", "logo_small"])
def test_given_an_ornament_named_by_a_program_when_read_then_nothing_is_said_of_it(
    tmp_path: Path, said: str
) -> None:
    sign = io.BytesIO()
    Image.effect_noise((20, 20), 90).save(sign, "PNG")
    sign.seek(0)
    assert [text for _, text, _ in texts(word(tmp_path, [sign], said))] == [
        "Before it.",
        "After it.",
    ]


@pytest.mark.slow
def test_given_a_damaged_picture_when_read_then_the_text_around_it_is_read(tmp_path: Path) -> None:
    path = word(tmp_path, [picture(tmp_path)])
    whole = picture(tmp_path).getvalue()
    path.write_bytes(path.read_bytes().replace(whole[100:140], bytes(40)))
    assert next(text for _, text, _ in texts(path)) == "Before it."


SHOWN = (
    '<draw:frame xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0">'
    '<draw:image xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="Pictures/one.png"/>'
    f"<svg:desc>{SAID}</svg:desc></draw:frame>"
)


def libre(folder: Path, kind: str, body: str) -> Path:
    content = f"<office:document-content {NAMES}><office:body>{body}</office:body>"
    with zipfile.ZipFile(folder / f"a.{kind}", "w") as package:
        package.writestr("content.xml", f"{content}</office:document-content>")
        package.writestr("Pictures/one.png", picture(folder).getvalue())
        package.writestr("Thumbnails/thumbnail.png", picture(folder, "A preview.").getvalue())
    return folder / f"a.{kind}"


CELLS = f"""<table:table table:name="S"><table:table-row><table:table-cell><text:p>Who</text:p>
</table:table-cell><table:table-cell><text:p>Where</text:p></table:table-cell></table:table-row>
<table:table-row><table:table-cell>{SHOWN}<text:p>Ann</text:p></table:table-cell>
<table:table-cell><text:p>Bern</text:p></table:table-cell></table:table-row></table:table>"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "body", "expected"),
    [
        (
            "odt",
            f"<office:text><text:p>Before it.{SHOWN}</text:p><text:p>After it.</text:p>{SHOWN}"
            "</office:text>",
            [
                ("paragraph", "Before it.", None),
                ("caption", SAID, None),
                ("paragraph", NOTICE, None),
                ("paragraph", "After it.", None),
                ("caption", SAID, None),
            ],
        ),
        (
            "odp",
            f"<office:presentation><draw:page>{SHOWN}</draw:page></office:presentation>",
            [("heading", "Slide 1", 1), ("caption", SAID, 1), ("paragraph", NOTICE, 1)],
        ),
        (
            "ods",
            f"<office:spreadsheet>{CELLS}</office:spreadsheet>",
            [
                ("heading", "S", 1),
                ("table", "Who: Ann; Where: Bern", 1),
                ("caption", SAID, 1),
                ("paragraph", NOTICE, 1),
            ],
        ),
    ],
)
def test_given_a_picture_in_a_libreoffice_file_when_read_then_its_words_stand_where_it_does(
    tmp_path: Path, kind: str, body: str, expected: list[tuple[str, str, int | None]]
) -> None:
    assert texts(libre(tmp_path, kind, body)) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "shown",
    ["<img src='../img/sc%61n.png' alt=''/>", "<svg><image xlink:href='../img/scan.png'/></svg>"],
)
def test_given_a_picture_in_a_book_when_read_then_its_words_stand_where_it_does(
    tmp_path: Path, shown: str
) -> None:
    page = PAGE.format(f"<h1>Two</h1><p>Before it.</p><p>{shown}</p><ol><li>First</li></ol>")
    files: dict[str, str | bytes] = {
        "OPS/text/a.xhtml": page,
        "OPS/img/scan.png": picture(tmp_path).getvalue(),
    }
    assert texts(book(tmp_path, **files))[-4:] == [
        ("heading", "Two", None),
        ("paragraph", "Before it.", None),
        ("paragraph", NOTICE, None),
        ("item", "1. First", None),
    ]


def page(folder: Path, *addresses: str) -> Path:
    """A page with a picture in a sentence and others in a list."""
    items = "".join(f"<li><img src='{address}' alt='{SAID}'></li>" for address in addresses[1:])
    (folder / "docs").mkdir(exist_ok=True)
    (folder / "docs/a.html").write_text(
        f"<html><body><main><p>Here <img src='{addresses[0]}'> it is.</p><ul>{items}</ul>"
        "<p>After it.</p></main></body></html>",
        encoding="utf-8",
    )
    return folder / "docs/a.html"


@pytest.mark.slow
def test_given_pictures_in_a_page_and_beside_it_when_read_then_their_words_stand_where_they_do(
    tmp_path: Path,
) -> None:
    (tmp_path / "beside it.png").write_bytes(picture(tmp_path).getvalue())
    other = "The office opens at nine."
    inside = base64.b64encode(picture(tmp_path, other).getvalue()).decode()
    path = page(tmp_path, "../beside%20it.png?v=1", f"data:image/png;base64,{inside}")
    parsed = parse(path, SETTINGS, tmp_path)
    assert [(block.kind, block.text) for block in parsed.blocks] == [
        ("paragraph", "Here it is."),
        ("paragraph", NOTICE),
        ("caption", SAID),
        ("paragraph", other),
        ("paragraph", "After it."),
    ]


@pytest.mark.parametrize(
    ("address", "folder"),
    [
        ("../../outside.png", "given"),
        ("../.hidden/one.png", "given"),
        ("../link.png", "given"),
        ("../one.png", None),
        ("file:../one.png", "given"),
        ("https://example.org/one.png", "given"),
        ("//example.org/one.png", "given"),
        ("../one%00.png", "given"),
        ("../small.png", "given"),
        ("../gone.png", "given"),
        ("data:image/svg+xml;base64," + "A" * 4000, "given"),
    ],
)
def test_given_a_picture_that_is_not_the_page_s_when_read_then_it_is_none(
    tmp_path: Path, address: str, folder: str | None
) -> None:
    given = tmp_path / "given"
    (given / ".hidden").mkdir(parents=True)
    whole = picture(tmp_path).getvalue()
    for name in ("outside.png", "given/.hidden/one.png", "given/one.png"):
        (tmp_path / name).write_bytes(whole)
    (given / "small.png").write_bytes(whole[:500])
    (given / "link.png").symlink_to(tmp_path / "outside.png")
    path = page(given, address)
    parsed = parse(path, SETTINGS, tmp_path / folder if folder else None)
    assert parsed.recognised == 0
    assert [block.text for block in parsed.blocks] == ["Here it is.", "After it."]
    assert find_picture_files(path, given) == ((given / "one.png",) if folder is None else ())


def test_given_pictures_of_a_page_without_the_extra_when_read_then_they_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recognition, "is_installed", lambda: False)
    (tmp_path / "one.png").write_bytes(picture(tmp_path).getvalue())
    parsed = parse(page(tmp_path, "../one.png", "../one.png"), SETTINGS, tmp_path)
    assert parsed.metadata[recognition.PICTURES_UNREAD] == 1
    assert [block.text for block in parsed.blocks] == ["Here it is.", SAID, "After it."]


@pytest.mark.slow
@pytest.mark.parametrize("data", ["AAAA" * 1000, "not base64 at all! " * 200])
def test_given_a_damaged_picture_in_a_page_when_read_then_the_text_around_it_is_read(
    tmp_path: Path, data: str
) -> None:
    path = page(tmp_path, f"data:image/png;base64,{data}")
    assert [text for _, text, _ in texts(path)] == ["Here it is.", "After it."]


@pytest.mark.slow
def test_given_a_picture_that_takes_too_long_then_the_text_is_kept_and_those_left_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragstone.ingest.formats.embedded.PAGE_SECONDS", 0.001)
    (tmp_path / "one.png").write_bytes(picture(tmp_path).getvalue())
    inside = base64.b64encode(picture(tmp_path, "The office opens at nine.").getvalue()).decode()
    path = page(tmp_path, "../one.png", f"data:image/png;base64,{inside}")
    parsed = parse(path, SETTINGS, tmp_path)
    found = list(parsed.blocks)
    assert [item.text for item in found if item.text] == ["Here it is.", SAID, "After it."]
    [note] = parsed.last_notes()
    assert note.startswith("The text in these pictures of a.html is not read")
    assert note.endswith("seconds: one.png, #2.")
