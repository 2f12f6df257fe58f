"""Characters of PDF pages become lines."""

from pathlib import Path

import pytest

from ragstone.ingest.formats.pdf_direction import Character
from ragstone.ingest.formats.pdf_rules import Rule, Rules
from ragstone.ingest.formats.pdf_text import mark_struck
from ragstone.ingest.formats.struck import CURRENT, StruckText
from ragstone.ingest.parse import parse
from ragstone.settings import IngestSettings
from tests.ingest.pdf_files import Placed, arabic_pdf, ligature_pdf, placed_pdf

BODY = [
    Placed(72, 100 + 14 * number, f"Line {number} of the text goes over the page and on.", 11, "F1")
    for number in range(6)
]


def read(path: Path, *items: Placed) -> str:
    document = parse(placed_pdf(path / "a.pdf", [[*BODY, *items]]), IngestSettings())
    return "\n".join(block.text for block in document.blocks)


def test_a_line_goes_on_behind_raised_text(tmp_path: Path) -> None:
    text = read(
        tmp_path,
        Placed(72, 240, "The sample held 3.2 x 10", 11, "F1"),
        Placed(194, 236, "6", 6, "F1"),
        Placed(200, 240, "spores per gram.", 11, "F1"),
    )
    assert "The sample held 3.2 x 10^6 spores per gram." in text


def test_a_line_below_raised_text_is_another_line(tmp_path: Path) -> None:
    text = read(
        tmp_path,
        Placed(72, 240, "Zinc: 412", 11, "F1"),
        Placed(117.5, 236, "7", 6, "F1"),
        Placed(72, 280, "Lead: 100", 11, "F1"),
    )
    assert "Zinc: 412 ⁷\nLead: 100" in text


def test_ligatures_that_a_file_calls_their_last_letter_are_whole(tmp_path: Path) -> None:
    lines = ["The first final list fills it.", "A flat list of lilies lies in this field."]
    blocks = parse(ligature_pdf(tmp_path / "a.pdf", lines), IngestSettings()).blocks
    assert [block.text for block in blocks] == lines


@pytest.mark.parametrize(
    "glyphs",
    [
        ["ا", "لإ", "ن", "ت", "ا", "ج"],
        ["ا", "ل", "م", "ش", "ك", "لا", "ت"],
        ["ا", "لأ", "م", "ن", " ", "ا", "ل", "آ", "ن"],
    ],
    ids="".join,
)
def test_lam_and_alef_in_one_glyph_are_in_order(tmp_path: Path, glyphs: list[str]) -> None:
    (block,) = parse(arabic_pdf(tmp_path / "a.pdf", glyphs), IngestSettings()).blocks

    assert block.text == "".join(glyphs)


WORDS = "Fee 40 55"
LETTERS: list[Character] = [
    (place, ord(sign), None if sign == " " else (6.0 * place, 0.0, 6.0 * place + 6, 12.0), 10.0)
    for place, sign in enumerate(WORDS)
]


@pytest.mark.parametrize(
    ("at", "start", "end", "left"),
    [
        (7.5, 24, 36, "Fee \ufdd2\ufdd3 55"),
        (11, 24, 36, WORDS),
        (7.5, 0, 300, WORDS),
        (7.5, 24, 62, WORDS),
        (1, 24, 36, WORDS),
    ],
    ids=["through a word", "under it", "past the text", "past its end", "over it"],
)
def test_text_is_struck_out_by_a_line_through_it_alone(
    at: float, start: float, end: float, left: str
) -> None:
    CURRENT.set(told := StruckText())

    kept, marks = mark_struck(LETTERS, Rules(across=(Rule(at, start, end),)))

    assert "".join(marks.get(place, chr(code)) for place, code, _, _ in kept) == left
    assert bool(told.notes()) == (left != WORDS)
