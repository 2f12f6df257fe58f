"""PDFs whose fonts do not say what their glyphs mean, and those with the signs of symbol fonts."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from ragstone.core.errors import UnreadableDocument
from ragstone.ingest.document import Parsed
from ragstone.ingest.formats import recognition
from ragstone.ingest.parse import parse
from ragstone.settings import IngestSettings
from tests.ingest.pdf_files import Placed, placed_pdf

WITHOUT_OCR = IngestSettings(ocr_pages=0)
SENTENCES = (
    "The notice period is four weeks for all employees.",
    "During probation it is two weeks.",
    "Employees order a laptop from the help desk.",
)


def make_page(font: str, sentences: Sequence[str] = SENTENCES) -> list[Placed]:
    return [Placed(72, 80 + 30 * place, text, font=font) for place, text in enumerate(sentences)]


def read(path: Path, pages: Sequence[Sequence[Placed]]) -> Parsed:
    return parse(placed_pdf(path, pages), WITHOUT_OCR)


def make_bullet(top: float, sign: str, font: str, gap: float = 18) -> list[Placed]:
    return [Placed(72, top, sign, font=font), Placed(72 + gap, top, f"{top:.0f} skis", font="F1")]


def test_a_pdf_whose_fonts_map_nothing_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UnreadableDocument) as refusal:
        read(tmp_path / "a.pdf", [make_page("F4"), make_page("F4")])

    assert refusal.value.message == (
        "Not readable text: the fonts of a.pdf do not say which letters they show. "
        "To read its text, set INGEST__OCR_PAGES."
    )


def test_the_refusal_says_how_to_install_what_recognises_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recognition, "is_installed", lambda: False)

    with pytest.raises(UnreadableDocument, match=r"pip install 'ragstone\[ocr\]'"):
        parse(placed_pdf(tmp_path / "a.pdf", [make_page("F4")]), IngestSettings())


def test_only_the_unreadable_pages_are_left_out_and_named(tmp_path: Path) -> None:
    pages = [make_page(font) for font in ("F1", "F4", "F1", "F4", "F4")]

    parsed = read(tmp_path / "a.pdf", pages)

    assert {block.page for block in parsed.blocks} == {1, 3}
    (note,) = parsed.notes
    assert note.startswith("Not readable text on pages 2, 4-5: the fonts of a.pdf do not say")


def test_unreadable_pages_wait_for_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recognition, "is_installed", lambda: False)
    path = placed_pdf(tmp_path / "a.pdf", [make_page("F1"), make_page("F4")])

    assert parse(path, IngestSettings()).metadata["pages_unread"] == 1


@pytest.mark.slow
def test_unreadable_pages_are_recognised_as_scans_are(tmp_path: Path) -> None:
    # The substitute for the font that is not in the file draws what its numbers say.
    path = placed_pdf(tmp_path / "a.pdf", [make_page("F1"), make_page("F4")])

    parsed = parse(path, IngestSettings())

    assert parsed.metadata["pages_recognised"] == 1
    assert not parsed.notes


def test_an_unreadable_line_on_a_page_that_is_read_is_left_out(tmp_path: Path) -> None:
    page = [*make_page("F1", SENTENCES * 4), Placed(72, 500, "Paid in full by us.", font="F4")]

    text = " ".join(block.text for block in read(tmp_path / "a.pdf", [page]).blocks)

    assert text == " ".join(SENTENCES * 4)


@pytest.mark.parametrize("gap", [18, 13], ids=["apart", "close"])
@pytest.mark.parametrize(
    ("sign", "font", "label"),
    [
        ("\xa7", "F5", "•"),
        ("n", "F5", "•"),
        ("q", "F5", "•"),
        ("v", "F5", "•"),
        ("\xd8", "F5", "•"),
        ("\xfc", "F5", "✓"),
        ("\xb7", "F6", "•"),
        ("•", "F1", "•"),
    ],
)
def test_the_bullets_of_symbol_fonts_are_bullets(
    tmp_path: Path, sign: str, font: str, label: str, gap: float
) -> None:
    lead = [Placed(72, 80, "The following are not covered:", font="F1")]
    bullets = [make_bullet(top, sign, font, gap) for top in (100, 114, 128)]

    blocks = list(read(tmp_path / "a.pdf", [sum(bullets, lead)]).blocks)

    assert [(block.kind, block.label) for block in blocks[1:]] == [("item", label)] * 3


def test_a_box_says_wherever_it_stands_whether_it_is_checked(tmp_path: Path) -> None:
    page = [
        Placed(72, 100, "Large filer: Yes", font="F1"),
        Placed(152, 100, "x", font="F5"),
        Placed(165, 100, "No", font="F1"),
        Placed(185, 100, "o", font="F5"),
    ]

    (block,) = read(tmp_path / "a.pdf", [page]).blocks

    assert block.text == "Large filer: Yes ☒ No ☐"


def test_a_word_that_begins_like_a_bullet_is_none(tmp_path: Path) -> None:
    page = make_page("F1", ["q is the charge of the body.", "o livro", "§ 5 Leave is paid."])

    assert {block.kind for block in read(tmp_path / "a.pdf", [page]).blocks} == {"paragraph"}


def test_a_long_list_of_pages_is_cut(tmp_path: Path) -> None:
    pages = [make_page(font) for font in ("F1", "F4") * 25]

    (note,) = read(tmp_path / "a.pdf", pages).notes

    assert note.startswith("Not readable text on pages 2, 4, 6,")
    assert ", 40, and 5 more: the fonts" in note
