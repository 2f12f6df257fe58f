"""Tables read back from the chunks of their document."""

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from tests.knowledge.tables.files import a_workbook, chunks_of, tables_of, written


def test_given_a_csv_then_its_columns_have_types_and_its_rows_their_place(tmp_path: Path) -> None:
    path = written(tmp_path)
    [table] = tables_of(path)
    assert [(column.name, column.type) for column in table.columns] == [
        ("Asset", "text"), ("Device", "text"), ("Manufacturer", "text"), ("Ward", "text"),
        ("Purchased", "number"), ("Price EUR", "number"), ("Next inspection", "date"),
    ]  # fmt: skip
    assert [column.name for column in table.columns if column.years] == ["Purchased"]
    assert [column.name for column in table.columns if column.type == "text" and column.unique] == [
        "Asset"
    ]
    row = table.rows[2]
    assert row.values[4:] == (Decimal(2020), Decimal(31400), date(2025, 7, 21))
    [first] = chunks_of(path)
    assert first.text[row.start - first.start : row.end - first.start] == row.text


def test_given_small_chunks_then_the_rows_of_all_are_one_table_each_row_once(
    tmp_path: Path,
) -> None:
    rows = "".join(f"EQ-{n:04},Pump,Corvex,S{n % 7},2020,{n},2025-01-01\n" for n in range(400))
    path = written(tmp_path, "Asset,Device,Maker,Ward,Year,Price,Inspection\n" + rows)
    assert len(chunks_of(path, 300)) > 20
    [table] = tables_of(path, 300)
    assert len(table.rows) == 400
    assert sum(row.values[5] for row in table.rows if isinstance(row.values[5], Decimal)) == 79800


def test_given_sheets_then_each_is_a_table_and_a_row_of_totals_is_apart(tmp_path: Path) -> None:
    budget, staff = tables_of(a_workbook(tmp_path))
    assert [column.name for column in budget.columns] == [
        "Department", "2024 Plan", "2024 Actual", "2025 Plan", "2025 Forecast",
    ]  # fmt: skip
    assert ([row.cells[0] for row in budget.totals], len(budget.rows)) == (["Total"], 3)
    assert staff.title == "budget-2025, Staff numbers"


def test_given_a_last_row_that_holds_the_sums_without_saying_so_then_it_is_apart(
    tmp_path: Path,
) -> None:
    text = "Item,Price,Tax\nChair,10,2\nTable,30,6\nLamp,5,1\nAll of it,45,9\n"
    [table] = tables_of(written(tmp_path, text))
    assert (len(table.rows), len(table.totals)) == (3, 1)


def test_given_rows_whose_names_begin_like_totals_then_their_figures_tell(tmp_path: Path) -> None:
    text = "Cereal,Calories,Fat\nBran,210,3\nTotal Corn Flakes,110,1\nOats,150,2\nTotal,470,6\n"
    [table] = tables_of(written(tmp_path, text))
    assert [row.cells[0] for row in table.rows] == ["Bran", "Total Corn Flakes", "Oats"]
    assert len(table.totals) == 1


@pytest.mark.parametrize("name", ["Fruit: dates and oats", "Bran; extra", "Kids: 3 in 1; sweet"])
def test_given_signs_between_cells_in_the_name_of_a_row_then_it_is_a_row(
    name: str, tmp_path: Path
) -> None:
    others = "".join(f"Oats {number},Q,{number}\n" for number in range(9))
    [table] = tables_of(written(tmp_path, f'"",Maker,Fat\n{others}"{name}",P,3\n'))
    assert [row.cells for row in table.rows[8:]] == [("Oats 8", "Q", "8"), (name, "P", "3")]


def test_given_no_names_of_columns_then_there_is_no_table(tmp_path: Path) -> None:
    assert tables_of(written(tmp_path, "4,9,2\n3,5,7\n8,1,6\n")) == []


def test_given_names_that_stand_twice_then_there_is_no_table(tmp_path: Path) -> None:
    assert tables_of(written(tmp_path, "Item,Price,Price\nChair,1,2\nTable,3,4\nLamp,5,6\n")) == []


def test_given_a_column_of_mixed_types_then_it_is_text_and_known_as_mixed(tmp_path: Path) -> None:
    text = "Item,Price,Note\nChair,10,a\nTable,on request,b\nLamp,5,c\nSofa,70,d\n"
    [table] = tables_of(written(tmp_path, text))
    price = table.columns[table.place("Price")]
    assert (price.type, price.mixed) == ("text", True)


def test_given_signs_for_nothing_then_they_are_no_figures(tmp_path: Path) -> None:
    text = "Item,Price,Note\nChair,10,a\nTable,n/a,b\nLamp,-,c\nSofa,70,d\n"
    [table] = tables_of(written(tmp_path, text))
    assert [row.values[1] for row in table.rows] == [Decimal(10), None, None, Decimal(70)]


def test_given_figures_of_two_units_then_they_are_not_compared(tmp_path: Path) -> None:
    text = "Item;Weight;Note\nChair;7 kg;a\nLamp;500 g;b\nSofa;40 kg;c\n"
    [table] = tables_of(written(tmp_path, text))
    assert table.columns[1].type == "text"


def test_given_decimal_commas_then_the_numbers_are_what_they_say(tmp_path: Path) -> None:
    text = "Artikel;Preis;Ort\nStuhl;1.210,50;A\nTisch;30,00;B\nLampe;(5,25);C\n"
    [table] = tables_of(written(tmp_path, text))
    assert [row.values[1] for row in table.rows] == [
        Decimal("1210.50"), Decimal("30.00"), Decimal("-5.25"),
    ]  # fmt: skip


def test_given_thousands_or_decimals_in_german_then_the_column_is_no_number(
    tmp_path: Path,
) -> None:
    text = (
        "Die Ware,Preis des Stückes,Wo sie im Lager steht\n"
        'Der Stuhl,"1.210",im Keller bei der Tür\nDer Tisch,"3.400",unter dem Fenster\n'
        'Die Lampe,"2.800",auf dem Boden neben der Treppe\n'
    )
    path = written(tmp_path, text)
    assert chunks_of(path)[0].language == "de"
    [table] = tables_of(path)
    assert table.columns[1].type == "text"


def test_given_codes_with_zeros_in_front_then_they_are_no_numbers(tmp_path: Path) -> None:
    [table] = tables_of(written(tmp_path, "Name,Code,City\nA,00123,X\nB,00456,Y\nC,00789,Z\n"))
    assert table.columns[1].type == "text"


def test_given_cells_that_look_like_other_columns_then_they_stay_one_cell(tmp_path: Path) -> None:
    rows = "".join(f"Pump {n},{n},new\n" for n in range(10))
    text = f'Item,Price,Note\n{rows}Evil,7,"x; Price: 9999; Total: 1"\n'
    [table] = tables_of(written(tmp_path, text))
    assert [column.name for column in table.columns] == ["Item", "Price", "Note"]
    assert table.rows[-1].cells == ("Evil", "7", "x; Price: 9999; Total: 1")


@pytest.mark.parametrize(
    ("cells", "first"),
    [
        (["Jan 5 2011", "Mar 1 2010"], date(2011, 1, 5)),
        (["January 5, 2011", "March 1, 2010"], date(2011, 1, 5)),
        (["5. Januar 2011", "1. März 2010"], date(2011, 1, 5)),
        (["2011/01/05", "2010/03/01"], date(2011, 1, 5)),
        (["5/1/2011", "31/3/2010"], date(2011, 1, 5)),
        (["1/5/2011", "3/31/2010"], date(2011, 1, 5)),
    ],
)
def test_dates_as_files_write_them(cells: list[str], first: date, tmp_path: Path) -> None:
    text = "Name\tDay\n" + "".join(f"n{n}\t{cell}\n" for n, cell in enumerate(cells))
    [table] = tables_of(written(tmp_path, text, "days.tsv"))
    assert table.columns[1].type == "date"
    assert table.rows[0].values[1] == first


@pytest.mark.parametrize("cells", [["1/5/2011", "3/2/2010"], ["13/5/2011", "5/13/2010"]])
def test_dates_whose_day_cannot_be_told_are_texts(cells: list[str], tmp_path: Path) -> None:
    text = "Name,Day\n" + "".join(f"n{n},{cell}\n" for n, cell in enumerate(cells))
    [table] = tables_of(written(tmp_path, text, "days.csv"))
    assert table.columns[1].type == "text"


def test_years_of_long_ago_are_years_where_the_column_says_so(tmp_path: Path) -> None:
    text = "Name,Year,Deaths\na,1867,1950\nb,1904,1790\n"
    [table] = tables_of(written(tmp_path, text, "deaths.csv"))
    assert [column.years for column in table.columns] == [False, True, False]
