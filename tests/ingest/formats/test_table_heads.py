"""The heads of tables, in each format that holds tables: several rows of names, units, tables whose
columns are the records, heads that are repeated."""

from collections.abc import Callable, Sequence
from pathlib import Path

import docx
import openpyxl
import pytest

from ragstone.ingest.parse import parse
from ragstone.settings import IngestSettings
from tests.ingest.formats import test_odf

Rows = Sequence[Sequence[str]]


def write_xlsx(path: Path, rows: Rows) -> None:
    book = openpyxl.Workbook()
    assert book.active is not None
    for row in rows:
        book.active.append([float(cell) if cell.isdecimal() else cell or None for cell in row])
    book.save(path)


def write_docx(path: Path, rows: Rows) -> None:
    document = docx.Document()
    table = document.add_table(len(rows), len(rows[0]))
    for row, cells in zip(rows, table.rows, strict=True):
        for text, cell in zip(row, cells.cells, strict=True):
            cell.text = text
    document.save(str(path))


def write_html(path: Path, rows: Rows) -> None:
    lines = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    path.write_text(f"<h1>Page</h1><table>{lines}</table>", encoding="utf-8")


def write_csv(path: Path, rows: Rows) -> None:
    path.write_text("\n".join(",".join(row) for row in rows), encoding="utf-8")


def write_markdown(path: Path, rows: Rows) -> None:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    path.write_text("\n".join(lines), encoding="utf-8")


def write_ods(path: Path, rows: Rows) -> None:
    lines = "".join(
        f"<table:table-row>{''.join(map(test_odf.cell, row))}</table:table-row>" for row in rows
    )
    table = f'<table:table table:name="S">{lines}</table:table>'
    test_odf.read(path.parent, "ods", f"<office:spreadsheet>{table}</office:spreadsheet>")


FORMATS: dict[str, Callable[[Path, Rows], None]] = {
    "xlsx": write_xlsx,
    "docx": write_docx,
    "html": write_html,
    "csv": write_csv,
    "md": write_markdown,
    "ods": write_ods,
}


def read(folder: Path, ending: str, rows: Rows) -> list[str]:
    FORMATS[ending](folder / f"a.{ending}", rows)
    blocks = parse(folder / f"a.{ending}", IngestSettings()).blocks
    (table,) = (block for block in blocks if block.kind == "table")
    return table.text.splitlines()


@pytest.mark.parametrize("ending", FORMATS)
def test_units_below_the_names_are_part_of_these(tmp_path: Path, ending: str) -> None:
    rows = [
        ["Sample", "Mass", "Length", "Keeper"], ["", "kg", "mm", ""], ["A1", "12", "340", "Dahl"],
        ["A2", "13", "351", "Berg"],
    ]  # fmt: skip

    assert read(tmp_path, ending, rows) == [
        "Sample: A1; Mass (kg): 12; Length (mm): 340; Keeper: Dahl",
        "Sample: A2; Mass (kg): 13; Length (mm): 351; Keeper: Berg",
    ]


@pytest.mark.parametrize(
    ("units", "is_one"),
    [
        (["", "[kg]", "", ""], True),
        (["-", "€", "%", ""], True),
        (["Units", "Nm³/h", "m/s", "-"], True),
        (["单位", "千克", "毫米", ""], True),
        (["", "kg", "", ""], False),
        (["A0", "kg", "mm", "Dahl"], False),
        (["", "kg", "7", ""], False),
        (["", "n/a", "N/A", ""], False),
        (["", "kg", "mm", "Dahl"], False),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_a_row_of_units_holds_nothing_else(tmp_path: Path, units: list[str], is_one: bool) -> None:
    rows = [
        ["Sample", "Mass", "Length", "Keeper"], units, ["A1", "12", "340", "Dahl"],
        ["A2", "13", "351", "Berg"],
    ]  # fmt: skip

    lines = read(tmp_path, "csv", rows)

    assert len(lines) == (2 if is_one else 3)


@pytest.mark.parametrize("ending", ["xlsx", "docx", "html", "csv", "ods"])
def test_names_of_three_rows_are_joined(tmp_path: Path, ending: str) -> None:
    rows = [
        ["Region", "Sales", "Sales", "Sales", "Sales"],
        ["Region", "Domestic", "Domestic", "Export", "Export"],
        ["Region", "Units", "Value", "Units", "Value"],
        ["North", "12", "34", "13", "31"],
        ["South", "9", "20", "95", "21"],
    ]

    assert read(tmp_path, ending, rows)[0] == (
        "Region: North; Sales Domestic Units: 12; Sales Domestic Value: 34; "
        "Sales Export Units: 13; Sales Export Value: 31"
    )


@pytest.mark.parametrize("ending", FORMATS)
def test_a_table_whose_columns_are_the_records_is_turned(tmp_path: Path, ending: str) -> None:
    rows = [
        ["Vessel", "Aurora", "Boreas"], ["Length (m)", "24", "31"], ["Port", "Moss", "Larvik"],
    ]  # fmt: skip

    assert read(tmp_path, ending, rows) == [
        "Vessel: Aurora; Length (m): 24; Port: Moss",
        "Vessel: Boreas; Length (m): 31; Port: Larvik",
    ]


@pytest.mark.parametrize(
    "rows",
    [
        [["Item", "2023", "2024"], ["Coal", "5", "6"], ["Auditor", "Dahl", "Berg"]],
        [["Item", "North", "South"], ["Coal", "5", "6"], ["Iron", "7", "n/a"]],
        [["Item", "North", "South"], ["Coal", "5", "6"], ["Iron", "n/a", "n/a"]],
        [["Name", "Rank", "Cabin"], ["Olsen", "mate", "4"], ["Dahl", "cook", "7"]],
    ],
    ids=["years", "mixed row", "no values", "records"],
)
def test_other_tables_keep_their_rows(tmp_path: Path, rows: Rows) -> None:
    lines = read(tmp_path, "xlsx", rows)

    assert [line.split("; ")[0].partition(": ")[2] for line in lines] == [
        row[0] for row in rows[1:]
    ]


@pytest.mark.parametrize("ending", FORMATS)
def test_a_head_that_is_repeated_is_no_record(tmp_path: Path, ending: str) -> None:
    rows = [["Dock", "Depth"], ["One", "5"], ["Dock", "Depth"], ["Two", "6"]]

    assert read(tmp_path, ending, rows) == ["Dock: One; Depth: 5", "Dock: Two; Depth: 6"]


def test_figures_that_equal_their_names_are_a_record(tmp_path: Path) -> None:
    rows = [["1", "2", "3"], ["1", "2", "3"], ["4", "5", "6"]]

    assert read(tmp_path, "csv", rows) == ["1: 1; 2: 2; 3: 3", "1: 4; 2: 5; 3: 6"]


@pytest.mark.parametrize("ending", ["xlsx", "docx", "html", "csv", "ods"])
def test_a_form_whose_labels_have_colons_has_no_names_of_columns(
    tmp_path: Path, ending: str
) -> None:
    lines = read(tmp_path, ending, [["Owner:", "Ann Lee"], ["City:", "Bonn"], ["Floor:", "third"]])

    assert lines == ["Owner: Ann Lee", "City: Bonn", "Floor: third"]


@pytest.mark.parametrize("form", ["docx", "xlsx", "html"])
@pytest.mark.parametrize(
    "rows",
    [
        [["mount -a", "Mounts every drive."], ["sync", "Writes what waits."]],
        [["Chef", "Unterschreibt den Antrag."], ["Büro", "Legt die Akte ab."]],
        [["部长", "批准申请。"], ["秘书", "保存文件。"]],
    ],
)
def test_given_a_first_row_that_ends_a_sentence_as_the_next_does_then_it_is_data(
    tmp_path: Path, form: str, rows: Rows
) -> None:
    assert read(tmp_path, form, rows) == [" | ".join(row) for row in rows]


@pytest.mark.parametrize("form", ["docx", "xlsx"])
def test_given_names_that_are_abbreviated_then_they_are_a_head(tmp_path: Path, form: str) -> None:
    rows = [["Part", "Avg. qty."], ["Screws", "Two per box."], ["Nails", "Packed loose."]]
    assert read(tmp_path, form, rows)[0] == "Part: Screws; Avg. qty.: Two per box."
