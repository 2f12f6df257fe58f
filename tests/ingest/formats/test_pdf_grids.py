"""Ruled tables of PDF pages: the lines make the cells, whatever stands in them."""

from collections.abc import Sequence
from pathlib import Path

from ragstone.ingest.document import Block
from ragstone.ingest.parse import parse
from ragstone.settings import IngestSettings
from tests.ingest.pdf_files import Placed, Ruled, grid, placed_pdf

XS = (72.0, 200.0, 320.0, 440.0)
"""The edges of three columns."""


def cell(column: int, top: float, text: str, font: str = "F3") -> Placed:
    return Placed(XS[column] + 4, top, text, font=font)


def read(path: Path, *pages: Sequence[Placed | Ruled]) -> list[Block]:
    return list(parse(placed_pdf(path / "a.pdf", pages), IngestSettings()).blocks)


def rows(blocks: Sequence[Block]) -> list[str]:
    return [row for block in blocks if block.kind == "table" for row in block.text.splitlines()]


def test_given_words_alone_in_ruled_cells_when_read_then_columns_name_them(tmp_path: Path) -> None:
    texts = [cell(0, 112, "Role"), cell(1, 112, "May read"), cell(2, 112, "May write")]
    texts += [cell(0, 132, "Guest"), cell(1, 132, "titles"), cell(2, 132, "nothing")]
    texts += [cell(0, 152, "Editor"), cell(1, 152, "all of a"), cell(2, 152, "drafts")]
    texts += [cell(1, 164, "team")]
    lines = grid(XS, (100, 120, 140, 170))
    assert rows(read(tmp_path, [*texts, *lines])) == [
        "Role: Guest; May read: titles; May write: nothing",
        "Role: Editor; May read: all of a team; May write: drafts",
    ]


def test_given_a_cell_over_two_columns_when_read_then_it_names_both(tmp_path: Path) -> None:
    texts = [cell(0, 122, "Country"), cell(1, 112, "Languages"), cell(1, 132, "first")]
    texts += [cell(2, 132, "second"), cell(0, 152, "Finland"), cell(1, 152, "Finnish")]
    texts += [cell(2, 152, "Swedish")]
    lines = [Ruled(XS[0], y, XS[3], y) for y in (100, 140, 160)]
    lines += [Ruled(XS[1], 120, XS[3], 120), Ruled(XS[2], 120, XS[2], 160)]
    lines += [Ruled(x, 100, x, 160) for x in (XS[0], XS[1], XS[3])]
    assert rows(read(tmp_path, [*texts, *lines])) == [
        "Country: Finland; Languages first: Finnish; Languages second: Swedish"
    ]


def test_given_a_cell_over_two_rows_when_read_then_it_is_in_both(tmp_path: Path) -> None:
    texts = [cell(0, 112, "Fault"), cell(1, 112, "Cause"), cell(2, 112, "Remedy")]
    texts += [cell(0, 142, "No light"), cell(1, 132, "Lamp"), cell(2, 132, "Change it")]
    texts += [cell(1, 152, "Switch"), cell(2, 152, "Call us")]
    lines = [Ruled(XS[0], y, XS[3], y) for y in (100, 120, 160)]
    lines += [Ruled(XS[1], 140, XS[3], 140), *(Ruled(x, 100, x, 160) for x in XS)]
    assert rows(read(tmp_path, [*texts, *lines])) == [
        "Fault: No light; Cause: Lamp; Remedy: Change it",
        "Fault: No light; Cause: Switch; Remedy: Call us",
    ]


def test_given_a_ruled_table_over_two_pages_when_read_then_its_names_go_on(tmp_path: Path) -> None:
    first = [cell(0, 692, "Port"), cell(1, 692, "Use"), cell(2, 692, "Owner")]
    first += [cell(0, 712, "eighty"), cell(1, 712, "web"), cell(2, 712, "Ada")]
    second = [cell(0, 62, "ten"), cell(1, 62, "mail"), cell(2, 62, "Bo")]
    second += [cell(0, 82, "two"), cell(1, 82, "files"), cell(2, 82, "Cy")]
    pages = [*first, *grid(XS, (680, 700, 720))], [*second, *grid(XS, (50, 70, 90))]
    assert rows(read(tmp_path, *pages)) == [
        "Port: eighty; Use: web; Owner: Ada",
        "Port: ten; Use: mail; Owner: Bo",
        "Port: two; Use: files; Owner: Cy",
    ]


def test_given_lines_around_text_that_are_no_cells_when_read_then_it_stays_text(
    tmp_path: Path,
) -> None:
    box = [cell(0, 112, "Keep this in a dry"), cell(0, 124, "place, children away.")]
    blocks = read(tmp_path, [*box, *grid((XS[0], XS[3]), (100, 130))])
    assert [(block.kind, block.text) for block in blocks] == [
        ("paragraph", "Keep this in a dry place, children away.")
    ]


def test_given_figures_with_no_lines_between_rows_when_read_then_rows_are_found(
    tmp_path: Path,
) -> None:
    texts = [cell(0, 112, "Fruit"), cell(1, 112, "2023"), cell(2, 112, "2022")]
    for place, fruit in enumerate(("Apples", "Pears", "Plums", "Cherries")):
        top = 132 + 14 * place
        texts += [cell(0, top, fruit), cell(1, top, f"{place}1,5"), cell(2, top, f"{place}2,7")]
    table = read(tmp_path, [*texts, *grid(XS, (100, 120, 190))])
    assert rows(table)[-1] == "Cherries; 2023: 31,5; 2022: 32,7"


def test_given_a_ruled_table_drawn_last_when_read_then_it_stands_where_it_is_seen(
    tmp_path: Path,
) -> None:
    texts = [cell(0, 112, "Colour"), cell(1, 112, "Meaning")]
    texts += [cell(0, 132, "red"), cell(1, 132, "stop")]
    around = [Placed(72, 90, "Lights have colours."), Placed(72, 170, "Do as they say.")]
    blocks = read(tmp_path, [*around, *texts, *grid(XS[:3], (100, 120, 140))])
    assert [block.kind for block in blocks] == ["paragraph", "table", "paragraph"]


def test_units_below_the_names_are_part_of_these(tmp_path: Path) -> None:
    texts = [cell(0, 112, "Plant"), cell(1, 112, "Power"), cell(2, 112, "Heat")]
    texts += [cell(1, 132, "MWh"), cell(2, 132, "GJ")]
    texts += [cell(0, 152, "Lund"), cell(1, 152, "120"), cell(2, 152, "340")]
    texts += [cell(0, 172, "Ask"), cell(1, 172, "90"), cell(2, 172, "200")]

    assert rows(read(tmp_path, [*texts, *grid(XS, (100, 120, 140, 160, 180))])) == [
        "Plant: Lund; Power (MWh): 120; Heat (GJ): 340",
        "Plant: Ask; Power (MWh): 90; Heat (GJ): 200",
    ]


def test_a_table_whose_columns_are_the_records_is_turned(tmp_path: Path) -> None:
    texts = [cell(0, 112, "Vessel"), cell(1, 112, "Aurora"), cell(2, 112, "Boreas")]
    texts += [cell(0, 132, "Length"), cell(1, 132, "24"), cell(2, 132, "31")]
    texts += [cell(0, 152, "Port"), cell(1, 152, "Moss"), cell(2, 152, "Larvik")]

    (block,) = read(tmp_path, [*texts, *grid(XS, (100, 120, 140, 160))])

    assert block.text.splitlines() == [
        "Vessel: Aurora; Length: 24; Port: Moss",
        "Vessel: Boreas; Length: 31; Port: Larvik",
    ]
    assert [(place.box.left, place.box.right) for place in block.places if place.box] == [
        (200, 320),
        (320, 440),
    ]


def test_a_table_beside_short_lines_stands_between_them(tmp_path: Path) -> None:
    wide = [Placed(250, 112, "Dock"), Placed(370, 112, "Depth"), Placed(250, 132, "One"),
            Placed(370, 132, "5"), Placed(250, 152, "Two"), Placed(370, 152, "6")]  # fmt: skip
    lines = grid((240, 360, 440), (100, 120, 140, 160))
    above, below = Placed(72, 80, "The docks:", font="F1"), Placed(72, 190, "All.", font="F1")

    kinds = [block.kind for block in read(tmp_path, [above, *wide, *lines, below])]

    assert kinds == ["paragraph", "table", "paragraph"]
