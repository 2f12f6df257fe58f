"""Lines of PDF pages in Arabic and Hebrew, in whatever order their glyphs are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.ingest.formats.pdf_direction import (
    Character,
    order_leftward_lines,
    read_leftward,
)

LINES = [
    ("ىلع فظوملا لصحي", "يحصل الموظف على"),
    (".2024 ةنس يف رانيد 3,500", "3,500 دينار في سنة 2024."),
    ("هه 14:30 ةعاسلا", "الساعة 14:30 هه"),
    ("טנרטניא אלל Ragstone 5.2 תכרעמה", "המערכת Ragstone 5.2 ללא אינטרנט"),
    (".)וטורב( םילקש 7,200 אוה רכשה", "השכר הוא 7,200 שקלים (ברוטו)."),
    ("3 001 عومجملا", "المجموع 3 001"),
    ("1 250 000 לכה ךס", "סך הכל 1 250 000"),
    ("ימי השפוח 3-9 וא 50% לש", "של 50% או 3-9 חופשה ימי"),
]


def place(drawn: str) -> list[Character]:
    """What is drawn from the left, each sign as wide as a space."""
    return [
        (number, ord(sign), (6.0 * number, 0.0, 6.0 * number + 6, 12.0), 10.0)
        for number, sign in enumerate(drawn)
        if sign != " "
    ]


def read(characters: list[Character]) -> str:
    ordered, _ = order_leftward_lines(characters)
    return "".join(read_leftward([chr(code) for _, code, *_ in ordered]))


@pytest.mark.parametrize(("drawn", "meant"), LINES, ids=[meant for _, meant in LINES])
@given(data=st.data())
def test_a_line_is_read_by_the_places_of_its_signs(
    drawn: str, meant: str, data: st.DataObject
) -> None:
    assert read(data.draw(st.permutations(place(drawn)))) == meant


def test_lam_and_alef_of_one_glyph_are_in_order_in_a_line_of_other_letters() -> None:
    line = place("The word \u0627\u0644 is short")
    glyph = (54.0, 0.0, 66.0, 12.0)
    line = [(at, code, glyph if code > 255 else edges, level) for at, code, edges, level in line]

    ordered, leftward = order_leftward_lines(line)

    assert not leftward
    assert "\u0644\u0627" in "".join(chr(code) for _, code, *_ in ordered)
