"""What questions ask of tables, by learned weights, the bundled embedder and the reader."""

from decimal import Decimal
from pathlib import Path

import pytest

from ragstone.plugins.tables.computation import compute
from ragstone.plugins.tables.reading_choice import (
    MIN_ASKED,
    TableChoice,
    choose_reading,
    weigh_rows,
)
from ragstone.plugins.tables.saying import describe_reading, sentence
from ragstone.plugins.tables.table_question import Condition, TableQuestion
from ragstone.retrieve.typed_table import TypedTable
from ragstone.verify.reading_judge import ReadingJudge
from tests.hashing import bundled_e5
from tests.knowledge.tables.files import a_workbook, tables_of, written
from tests.local_checker import local_checker, local_reader

ORDERS = (
    "Order,Customer,Status,Paid\n1001,Hansen,shipped,yes\n1002,Ibarra,open,no\n"
    "1003,Kowalski,returned,yes\n1004,Larsen,open,no\n"
)


async def choose(question: str, tables: list[TypedTable]) -> TableChoice:
    judge = ReadingJudge(local_reader(), local_checker(), bundled_e5())
    return await choose_reading(question, tables, bundled_e5(), judge)


async def say(question: str, tables: list[TypedTable]) -> str:
    """The sentence that answers from the tables; empty where it is not clear what is asked."""
    choice = (await choose(question, tables)).choice
    found = compute(choice.reading.asked) if choice else None
    return sentence(choice.reading.asked, found, "en") if choice and found else ""


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("How many ventilators are in the inventory?", "2 rows of the table"),
        ("How many devices by Pulsar are there?", "2 rows"),
        ("How many devices are in the ICU or in Emergency?", "4 rows"),
        ("How many devices are not in the ICU?", "5 rows"),
        ("How many devices were purchased before 2020?", "2 rows"),
        ("How many devices have their next inspection in 2026?", "3 rows"),
        ("What is the total price of the ventilators?", "is 65,300"),
        ("What is the average price of a device in the ICU?", "is 32,650"),
        ("Which device is the most expensive?", "is 56,200 (Asset: EQ-0341)"),
        ("What are the three most expensive devices?", "EQ-0341, EQ-0108, EQ-0107."),
        ("Which devices cost more than 30000 euros?", "3 rows"),
        ("What percentage of the devices is in the ICU?", "28.57 %"),
        ("Wie viele Ventilatoren gibt es?", "2 rows"),
        ("有多少 Ventilator？", "2 rows"),
    ],
)
async def test_questions_that_are_computed(question: str, said: str, tmp_path: Path) -> None:
    assert said in await say(question, tables_of(written(tmp_path)))


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Which orders are not paid?", "Paid is no (Customer: Ibarra, Larsen)"),
        ("Which orders aren't paid?", "Paid is no (Customer: Ibarra, Larsen)"),
        ("Which orders are paid?", "Paid is yes (Customer: Hansen, Kowalski)"),
        ("Which orders are not open?", "Status is not open (Customer: Hansen, Kowalski)"),
    ],
)
async def test_what_a_question_denies_is_left_out(question: str, said: str, tmp_path: Path) -> None:
    assert said in await say(question, tables_of(written(tmp_path, ORDERS, "orders.csv")))


@pytest.mark.parametrize(
    ("question", "wrong"),
    [
        ("Which orders are not open?", "is open"),
        ("Which orders are not not open?", "open"),
        ("Which orders are paid but not shipped?", "Paid is no"),
        ("Welche Bestellungen sind nicht bezahlt?", "Paid is yes"),
        ("Quelles commandes ne sont pas payées ?", "Paid is yes"),
        ("Which orders except those of Hansen are there?", "is Hansen"),
    ],
)
async def test_a_denial_never_becomes_its_contrary(
    question: str, wrong: str, tmp_path: Path
) -> None:
    assert wrong not in await say(question, tables_of(written(tmp_path, ORDERS, "orders.csv")))


@pytest.mark.parametrize(
    ("heads", "question"),
    [
        ("Paint,Suited for,Not suited for", "Which paints are for glass?"),
        ("Paint,Suited for,Not suited for", "How many paints are suited for glass?"),
        ("Farbe,Geeignet für,Nicht geeignet für", "Welche Farben sind für glass geeignet?"),
        (
            "Peinture,Convient pour,Ne convient pas pour",
            "Quelles peintures conviennent pour glass ?",
        ),
        ("涂料,适用,不适用", "哪些涂料适用于 glass？"),
    ],
)
async def test_a_head_that_denies_is_no_condition_of_a_question_that_does_not(
    heads: str, question: str, tmp_path: Path
) -> None:
    rows = "Alba,wood,glass\nBorea,glass,wood\nCirrus,stone,glass\nDuna,wood,glass\n"
    said = await say(question, tables_of(written(tmp_path, f"{heads}\n{rows}", "paints.csv")))
    assert "Alba" not in said
    assert "3" not in said


@pytest.mark.parametrize(
    "question",
    [
        "How many patients can the ventilators treat?",
        "What is the total weight of the devices?",
        "How many ventilators are there in 2025?",
        "What is the sum of all purchased years?",
        "Where is the ventilator?",
        "",
    ],
)
async def test_what_the_table_does_not_tell_is_not_computed(question: str, tmp_path: Path) -> None:
    assert not await say(question, tables_of(written(tmp_path)))


async def test_given_several_tables_then_the_one_that_is_meant_answers(tmp_path: Path) -> None:
    tables = tables_of(written(tmp_path)) + tables_of(written(tmp_path, ORDERS, "orders.csv"))
    assert "“orders”" in await say("Which orders are not paid?", tables)
    assert "65,300" in await say("What is the total price of the ventilators?", tables)


async def test_given_rows_of_totals_then_they_are_not_added_up(tmp_path: Path) -> None:
    said = await say("What is the total plan for 2025?", tables_of(a_workbook(tmp_path))[:1])
    assert not said or ("18,900" in said and "rows of totals are left out" in said)


@pytest.mark.parametrize(
    ("conditions", "named"),
    [
        ((), "(Hazard, Year: Flood 1931)"),
        ((Condition("Hazard", "in", ("Drought",)),), "(Year: 1920)"),
        ((Condition("Year", ">", (Decimal(1940),)),), "(Hazard, Year: Drought 1942)"),
    ],
)
def test_the_highest_is_named_by_what_tells_it_from_other_rows(
    conditions: tuple[Condition, ...], named: str, tmp_path: Path
) -> None:
    rows = "Hazard,Year,Deaths\nFlood,1931,3700\nFlood,1959,2000\nDrought,1920,3000\n"
    [table] = tables_of(written(tmp_path, f"{rows}Drought,1942,2100\nStorm,1970,500\n"))
    said = describe_reading(TableQuestion(table, "most", "Deaths", conditions=conditions), "en")
    assert named in said


async def test_a_question_for_a_cell_is_left_to_search() -> None:
    assert await weigh_rows("What is the phone number of Anna Weber?", bundled_e5()) < MIN_ASKED
    assert await weigh_rows("How many invoices are unpaid?", bundled_e5()) >= MIN_ASKED


async def test_given_a_computation_that_is_not_clear_then_that_is_known(tmp_path: Path) -> None:
    read = await choose("How many devices per ward?", tables_of(written(tmp_path)))
    assert (read.choice, read.computes) == (None, True)
