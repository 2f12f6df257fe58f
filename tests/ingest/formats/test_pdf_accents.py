"""Letters of a PDF whose accents are drawn by themselves, as old fonts of TeX have them."""

from pathlib import Path

import pytest

from ragstone.ingest.parse import parse
from ragstone.settings import IngestSettings
from tests.ingest.pdf_files import Placed, placed_pdf

WIDTH = 6
"""Of each character."""


def draw(text: str, left: float = 72.0) -> list[Placed]:
    """The characters of a line, where `<` goes back by one character as TeX does."""
    placed = []
    for sign in text:
        if sign == "<":
            left -= WIDTH
        else:
            placed.append(Placed(left, 100, sign))
            left += WIDTH
    return placed


def read(tmp_path: Path, text: str) -> str:
    path = placed_pdf(tmp_path / "a.pdf", [[*draw(text), Placed(72, 130, "Another line.")]])
    return next(iter(parse(path, IngestSettings()).blocks)).text


@pytest.mark.parametrize(
    ("drawn", "expected"),
    [
        ("La tension est r´<egl´<ee `<a zero.", "La tension est réglée à zero."),
        ("Die Gr¨<oße h¨<angt ab.", "Die Größe hängt ab."),
        ("El ni~<no come en Espa~<na.", "El niño come en España."),
        ("C<¸a commence; il a re¸<cu ceci.", "Ça commence; il a reçu ceci."),
        ("Une fen^<etre ouverte.", "Une fenêtre ouverte."),
    ],
    ids=["french", "german", "spanish", "cedilla", "circumflex"],
)
def test_a_letter_and_the_accent_over_it_are_one(tmp_path: Path, drawn: str, expected: str) -> None:
    assert read(tmp_path, drawn) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Run `apt` and `echo a`, or x^e and ~user.",
        "It is called `a quotation' by some.",
        "The accents ´ and ` stand alone.",
    ],
)
def test_a_sign_beside_a_letter_stays_a_sign(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == text
