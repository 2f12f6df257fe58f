"""Workbooks: several tables in a sheet, merged cells, and values as their formats show them."""

import zipfile
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.comments import Comment

from ragstone.ingest.document import Block
from ragstone.ingest.formats.sheets import format_cell, sheet_blocks
from ragstone.ingest.parse import parse
from ragstone.settings import IngestSettings


def read(path: Path, make: Callable[[Any], None]) -> list[Block]:
    book = openpyxl.Workbook()
    make(book.active)
    book.save(path / "a.xlsx")
    return list(parse(path / "a.xlsx", IngestSettings()).blocks)[1:]


def test_given_merged_headers_and_a_title_when_read_then_records_have_both_names(
    tmp_path: Path,
) -> None:
    def make(sheet: Any) -> None:
        sheet.append(["Budget, thousand euros"])
        sheet.append(["Department", "2024", None, "2025", None])
        sheet.append([None, "Plan", "Actual", "Plan", "Forecast"])
        sheet.append(["Surgery", 8420, 8655, 8900, 8870])
        for cells in ("A1:E1", "A2:A3", "B2:C2", "D2:E2"):
            sheet.merge_cells(cells)

    (table,) = read(tmp_path, make)
    assert table.label == "Budget, thousand euros"
    assert table.text.splitlines()[1:] == [
        "Department: Surgery; 2024 Plan: 8420; 2024 Actual: 8655; 2025 Plan: 8900; "
        "2025 Forecast: 8870"
    ]


def test_given_two_tables_below_each_other_when_read_then_each_has_its_own_columns(
    tmp_path: Path,
) -> None:
    def make(sheet: Any) -> None:
        for row in (
            ["Rooms"], [], ["Room", "Price"], ["Suite", 245], ["Twin", 48], [],
            ["Papers"], [], ["Service", "Fee"], ["Copy", 2],
        ):  # fmt: skip
            sheet.append(row)

    assert [(block.kind, block.text, block.label) for block in read(tmp_path, make)] == [
        ("paragraph", "Rooms", ""),
        ("table", "Room: Suite; Price: 245\nRoom: Twin; Price: 48", "Rooms"),
        ("paragraph", "Papers", ""),
        ("table", "Service: Copy; Fee: 2", "Papers"),
    ]


def test_given_two_tables_side_by_side_when_read_then_they_are_apart(tmp_path: Path) -> None:
    def make(sheet: Any) -> None:
        sheet.append(["Name", "Age", None, "City", "Mayor"])
        sheet.append(["Ann", 30, None, "Oslo", "Bo"])
        sheet.append(["Eve", 40, None, "Rome", "Al"])

    assert [block.text for block in read(tmp_path, make)] == [
        "Name: Ann; Age: 30\nName: Eve; Age: 40",
        "City: Oslo; Mayor: Bo\nCity: Rome; Mayor: Al",
    ]


def test_given_an_empty_row_in_a_table_when_read_then_its_columns_go_on(tmp_path: Path) -> None:
    def make(sheet: Any) -> None:
        for row in ([None, "2023", "2024"], ["Cash", 1, 2], [], ["Debt", 3, 4], ["Tax", 5, 6]):
            sheet.append(row)

    assert [block.text for block in read(tmp_path, make)] == [
        "Cash; 2023: 1; 2024: 2",
        "Debt; 2023: 3; 2024: 4\nTax; 2023: 5; 2024: 6",
    ]


def test_given_number_formats_when_read_then_units_and_dates_are_shown(tmp_path: Path) -> None:
    def make(sheet: Any) -> None:
        sheet.append(["Share", "Price", "Due", "Weight"])
        sheet.append([0.125, 1200.5, datetime(2025, 3, 12), 7])
        for cell, kind in zip(
            sheet[2], ("0.0%", '#,##0.00 "EUR"', "dd.mm.yyyy", '0" kg"'), strict=True
        ):
            cell.number_format = kind

    (table,) = read(tmp_path, make)
    assert table.text == "Share: 12.5%; Price: 1,200.50 EUR; Due: 2025-03-12; Weight: 7 kg"


def test_given_hidden_sheets_and_rows_when_read_then_they_are_there(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["open"])
    hidden = book.create_sheet("Lists")
    hidden.append(["behind"])
    hidden.row_dimensions[1].hidden = True
    hidden.sheet_state = "hidden"
    book.save(tmp_path / "a.xlsx")
    parsed = parse(tmp_path / "a.xlsx", IngestSettings())
    assert (parsed.title, parsed.pages) == ("a", 2)
    assert [(block.text, block.page) for block in parsed.blocks] == [
        ("Sheet", 1), ("open", 1), ("Lists (hidden)", 2), ("behind (hidden)", 2),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (1234567, "#,##0,", "1,235"),
        (-5, '#,##0;(#,##0);"-"', "(5)"),
        (0, '#,##0;(#,##0);"-"', "-"),
        (-1.5, "0.0", "-1.5"),
        (0.1 + 0.2, "General", "0.3"),
        (7, "00000", "00007"),
        (12.5, "[$€-407] #,##0.00", "€ 12.50"),
        (2.5, "# ?/?", "2.5"),
        (1e20, "General", "1e+20"),
        (True, "General", "TRUE"),
        ("#N/A", "General", ""),
        (date(2025, 5, 1), "mmm yy", "2025-05-01"),
        (datetime(2025, 5, 1), "mmm yy", "2025-05"),
        (datetime(2025, 5, 1, 8, 30), "dd.mm.yyyy hh:mm", "2025-05-01 08:30"),
        (time(21, 15), "hh:mm", "21:15"),
        (timedelta(hours=38, minutes=30), "[h]:mm", "38:30"),
    ],
)
def test_values_are_shown_as_their_format_says(value: object, kind: str, text: str) -> None:
    assert format_cell(value, kind) == text


@given(st.floats(allow_nan=False), st.text(alphabet='0#.,%"-;E+[]$_*\\ @?/', max_size=12))
def test_any_format_shows_some_text(value: float, kind: str) -> None:
    assert isinstance(format_cell(value, kind), str)


CELLS = st.lists(st.lists(st.sampled_from(["", "a", "b", "7", "2024"]), max_size=6), max_size=12)


@given(CELLS)
def test_no_cell_of_a_sheet_is_lost(rows: list[list[str]]) -> None:
    text = " ".join(f"{block.text} {block.label}" for block in sheet_blocks(rows))
    assert all(cell in text for row in rows for cell in row)


def test_given_protection_that_openpyxl_does_not_know_when_read_then_the_cells_are(
    tmp_path: Path,
) -> None:
    book = openpyxl.Workbook()
    book.active.append(["Name", "Days"])
    book.active.append(["Ann", 30])
    book.active.protection.sheet = True
    plain = tmp_path / "plain.xlsx"
    book.save(plain)
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(tmp_path / "a.xlsx", "w") as target:
        for name in source.namelist():
            data = source.read(name).replace(b"<sheetProtection ", b'<sheetProtection content="1" ')
            target.writestr(name, data)
    blocks = list(parse(tmp_path / "a.xlsx", IngestSettings()).blocks)
    assert blocks[1].text == "Name: Ann; Days: 30"


def test_given_equal_values_when_read_then_only_what_is_merged_is_one(tmp_path: Path) -> None:
    def make(sheet: Any) -> None:
        for row in (["Monday", "Tuesday"], ["closed", "closed"], ["Holidays", None]):
            sheet.append(row)
        sheet.merge_cells("A3:B3")

    *_, table = read(tmp_path, make)
    assert table.text == "Monday: closed; Tuesday: closed\nHolidays"


def test_given_labels_that_spaces_indent_when_read_then_they_carry_the_one_above(
    tmp_path: Path,
) -> None:
    def make(sheet: Any) -> None:
        sheet.append([None, "2019", "2020"])
        sheet.append(["Assets", None, 12])
        sheet.append(["   Cash", 5, 7])
        sheet.append(["   Stock", 4, 5])
        sheet.append(["Debts", None, 2])

    (table,) = read(tmp_path, make)
    assert table.text.splitlines() == [
        "Assets; 2020: 12",
        "Assets > Cash; 2019: 5; 2020: 7",
        "Assets > Stock; 2019: 4; 2020: 5",
        "Debts; 2020: 2",
    ]


def test_what_is_hidden_is_marked_and_its_sheets_come_last(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    draft, tariff = book.active, book.create_sheet("Tariff")
    draft.title, draft.sheet_state = "Draft", "veryHidden"
    for row in (["Zone", "Fare"], ["A", 9.9]):
        draft.append(row)
    for row in (["Zone", "Fare", "Cost"], ["A", 2.4, 1.1], ["B", 3.1, 1.6]):
        tariff.append(row)
    tariff.row_dimensions[3].hidden = True
    tariff.column_dimensions["C"].hidden = True
    book.save(tmp_path / "a.xlsx")

    blocks = list(parse(tmp_path / "a.xlsx", IngestSettings()).blocks)

    assert [(block.text, block.page) for block in blocks] == [
        ("Tariff", 2),
        (
            "Zone: A; Fare: 2.4; Cost (hidden): 1.1\n"
            "Zone: B (hidden); Fare: 3.1; Cost (hidden): 1.6",
            2,
        ),
        ("Draft (hidden)", 1),
        ("Zone: A; Fare: 9.9", 1),
    ]


def test_what_is_struck_out_is_not_said_and_raised_digits_join_no_number(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    raised, struck = InlineFont(vertAlign="superscript"), InlineFont(strike=True)
    sheet.append(["Good", "Amount"])
    sheet.append(["Salt", CellRichText("412", TextBlock(raised, "7"), " tonnes")])
    sheet.append(["Peat", CellRichText(TextBlock(struck, "900"), " 700 tonnes")])
    book.save(tmp_path / "a.xlsx")

    _, table, _, struck = parse(tmp_path / "a.xlsx", IngestSettings()).blocks

    assert table.text == "Good: Salt; Amount: 412 ⁷ tonnes\nGood: Peat; Amount: 700 tonnes"
    assert struck.text == 'Good: Peat; Amount: [formerly "900", struck out] 700 tonnes'


def test_headers_and_footers_stand_once_behind_the_first_title(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for sheet in (book.active, book.create_sheet("Other")):
        sheet.append(["Text."])
        sheet.oddHeader.left.text = "Tariff && Lores QM-4471"
        sheet.oddHeader.left.font, sheet.oddHeader.left.size = "Arial,Bold", 10
        sheet.oddFooter.center.text = "Page &P of &N"
        sheet.oddFooter.right.text = "For members only"
        sheet.firstFooter.center.text = "Never shown"
    book.active.title = "Fares"
    book.save(tmp_path / "a.xlsx")

    texts = [block.text for block in parse(tmp_path / "a.xlsx", IngestSettings()).blocks]

    assert texts == [
        "Fares",
        "Header: Tariff & Lores QM-4471",
        "Footer: For members only",
        "Text.",
        "Other",
        "Text.",
    ]


def test_a_formula_without_a_saved_value_says_so(tmp_path: Path) -> None:
    def make(sheet: Any) -> None:
        for row in (
            ["Item", "Price", "Total"],
            ["Bolt", 2, "=B2*3"],
            ["Nut", 1, '=IF(B3<2,"a",1)'],
        ):
            sheet.append(row)

    (table,) = read(tmp_path, make)
    assert table.text.splitlines() == [
        "Item: Bolt; Price: 2; Total: not calculated (=B2*3)",
        'Item: Nut; Price: 1; Total: not calculated (=IF(B3<2,"a",1))',
    ]


@pytest.mark.parametrize(
    ("code", "text"), [("yyyy", "2024"), ("mmm yyyy", "2024-03"), ("dddd", "2024-03-09")]
)
def test_a_date_shows_what_its_format_shows(code: str, text: str) -> None:
    assert format_cell(datetime(2024, 3, 9), code) == text


def test_comments_stand_behind_the_tables_of_their_sheet(tmp_path: Path) -> None:
    def make(sheet: Any) -> None:
        sheet.append(["Zone", "Fare"])
        sheet.append(["A", 2.4])
        sheet["B2"].comment = Comment("Karin Dahl:\nUntil May", "Karin Dahl")

    table, comment = read(tmp_path, make)

    assert table.text == "Zone: A; Fare: 2.4"
    assert (comment.kind, comment.page) == ("admonition", 1)
    assert comment.text == "Comment by Karin Dahl on cell B2: Until May"


def test_comments_in_threads_have_the_names_of_those_who_wrote_them(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    assert book.active is not None
    book.active.append(["Fare", "2.40"])
    book.active["B1"].comment = Comment("[Threaded comment] Your version of Excel ...", "tc=1")
    book.save(tmp_path / "old.xlsx")
    threads = "http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments"
    with (
        zipfile.ZipFile(tmp_path / "old.xlsx") as old,
        zipfile.ZipFile(tmp_path / "a.xlsx", "w") as new,
    ):
        for name in old.namelist():
            data = old.read(name)
            if name == "xl/worksheets/_rels/sheet1.xml.rels":
                relation = (
                    b'<Relationship Id="t1" Type="http://schemas.microsoft.com/office/2017/10/'
                    b'relationships/threadedComment" Target="/xl/threadedComments/t1.xml"/>'
                )
                data = data.replace(b"</Relationships>", relation + b"</Relationships>")
            new.writestr(name, data)
        new.writestr(
            "xl/threadedComments/t1.xml",
            f'<ThreadedComments xmlns="{threads}"><threadedComment ref="B1" personId="{{P}}">'
            "<text>Until May?</text></threadedComment><threadedComment ref='B1' personId='{Q}'>"
            "<text>Yes.</text></threadedComment></ThreadedComments>",
        )
        new.writestr(
            "xl/persons/person.xml",
            f'<personList xmlns="{threads}"><person displayName="Karin" id="{{P}}"/></personList>',
        )

    blocks = list(parse(tmp_path / "a.xlsx", IngestSettings()).blocks)

    assert [block.text for block in blocks if block.label == "comment"] == [
        "Comment by Karin on cell B1: Until May?",
        "Comment on cell B1: Yes.",
    ]
