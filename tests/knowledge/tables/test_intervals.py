"""Cells that are ranges of numbers, and questions whose number lies in one of them."""

from decimal import Decimal
from math import inf
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.plugins.tables.intervals import has_ranges, read_intervals
from tests.knowledge.tables.files import tables_of, written
from tests.knowledge.tables.test_reading_choice import ORDERS, say

LEAVE = "Years of service,Days of leave\n0 to 2,27\n3 to 9,30\n10 to 19,32\n20 and more,35\n"
PARCELS = "Poids (kg),Tarif (€)\n0-2,4.9\n2-5,6.5\n5-10,8.9\nplus de 10,14\n"
TICKETS = "年龄,票价\n6岁以下,0\n6～14岁,20\n15～59岁,40\n60岁以上,25\n"


@pytest.mark.parametrize(
    ("cells", "bounds"),
    [
        (("0 to 2", "3 to 9", "20 and more"), [(0, 2), (3, 9), (20, inf)]),
        (("unter 6 Jahre", "6 bis 14 Jahre", "15 bis 64 Jahre"), [(-inf, 6), (6, 14), (15, 64)]),
        (("15～59岁", "6～14岁", "60岁以上"), [(6, 14), (15, 59), (60, inf)]),
        (("1,000-4,999", "5,000-9,999", "500"), [(-inf, 500), (1000, 4999), (5000, 9999)]),
        (("1-2", "4", "6-8"), [(1, 2), (4, 4), (6, 8)]),
    ],
)
def test_ranges_are_read_in_order(
    cells: tuple[str, ...], bounds: list[tuple[float, float]]
) -> None:
    assert [(item.low, item.high) for item in read_intervals(cells)] == bounds


@pytest.mark.parametrize(
    "cells",
    [
        ("0 to 2", "many"),
        ("0 to 2", "1 to 4"),
        ("9 to 3", "10 to 12"),
        ("0 to 2", "3"),
        ("Room 1", "Room 2", "Room 3"),
        ("12:00-14:30", "15:00-17:00"),
        (),
    ],
)
def test_other_cells_are_no_ranges(cells: tuple[str, ...]) -> None:
    assert read_intervals(cells) == []


@given(st.lists(st.integers(0, 10_000), min_size=4, max_size=12, unique=True), st.integers(0, 9999))
def test_a_number_lies_in_one_range_at_most_but_for_common_bounds(
    bounds: list[int], number: int
) -> None:
    bounds.sort()
    pairs = list(zip(bounds[::2], bounds[1::2], strict=False))
    found = read_intervals([f"{low} - {high}" for low, high in pairs])
    assert [(item.low, item.high) for item in found] == pairs
    assert sum(item.holds(Decimal(number)) for item in found) <= 1


@pytest.mark.parametrize(
    ("table", "question", "said"),
    [
        (LEAVE, "How many days of leave does somebody with 12 years of service get?", "32"),
        (LEAVE, "How many days of leave do you get after 25 years of service?", "35"),
        (PARCELS, "Quel est le tarif pour un colis de 7 kg ?", "8.9"),
        (PARCELS, "Combien coûte un colis de 25 kg ?", "14"),
        (TICKETS, "10岁的票价是多少？", "20"),
        (TICKETS, "65岁的票价是多少？", "25"),
    ],
)
async def test_the_row_whose_range_holds_the_number_answers(
    table: str, question: str, said: str, tmp_path: Path
) -> None:
    assert said in await say(question, tables_of(written(tmp_path, table, "ranges.csv")))


@pytest.mark.parametrize(
    "question", ["How many days of leave are there in 2025?", "Who gets 32 days of leave?"]
)
async def test_a_year_and_a_number_of_another_column_are_in_no_range(
    question: str, tmp_path: Path
) -> None:
    assert "and more" not in await say(question, tables_of(written(tmp_path, LEAVE, "leave.csv")))


def test_a_table_has_ranges_or_none(tmp_path: Path) -> None:
    assert all(map(has_ranges, tables_of(written(tmp_path, LEAVE, "leave.csv"))))
    assert not any(map(has_ranges, tables_of(written(tmp_path, ORDERS, "orders.csv"))))
