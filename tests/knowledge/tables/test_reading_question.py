"""What the rules make of questions over tables, and where they are silent."""

from pathlib import Path

import pytest

from ragstone.language.language import detect
from ragstone.plugins.tables.computation import build_sql, outcome
from ragstone.plugins.tables.reading_question import asks_of_tables, read_question
from ragstone.plugins.tables.saying import sentence
from tests.knowledge.tables.files import a_workbook, tables_of, written


def said(question: str, path: Path, number: int = 0) -> str:
    """The sentence that answers from a table of the file; empty where the rules are silent."""
    asked = read_question(question, tables_of(path)[number]) if asks_of_tables(question) else None
    found = outcome(asked) if asked else None
    return sentence(asked, found, detect(question)) if asked and found else ""


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("How many ventilators are in the inventory?", "2 rows of the table"),
        ("How many pumps are there?", "2 rows"),
        ("How many devices are in the ICU or in Emergency?", "4 rows"),
        ("How many devices by Pulsar are there?", "2 rows"),
        ("How many assets does the inventory have?", "The table “equipment-inventory” has 7 rows."),
        ("How many devices were purchased before 2020?", "2 rows"),
        ("How many devices cost over 30,000 euros?", "3 rows"),
        ("How many devices have their next inspection in 2026?", "3 rows"),
    ],
)
def test_how_many_counts_the_rows_that_are_meant(question: str, start: str, tmp_path: Path) -> None:
    assert said(question, written(tmp_path)).startswith(start)


@pytest.mark.parametrize(
    ("question", "figure"),
    [
        ("What do all infusion pumps cost in total?", "is 4440 where Device is Infusion pump."),
        ("What is the total price of the ventilators?", "is 65,300 where"),
        ("What is the average price of a device in the ICU?", "is 32,650 where Ward is ICU."),
        ("Which device is the most expensive?", "is 56,200 (Device: Ultrasound scanner)."),
        ("What is the cheapest device in the ICU?", "is 31,400 where Ward is ICU"),
        ("Which device has the earliest next inspection?", "is 2025-07-21 (Device: Ventilator)."),
        ("How many devices per ward?", "by Ward: Emergency (2), ICU (2), M2 (1), S1 (2)."),
        ("Which manufacturer has the most ventilators?", "the Manufacturer Aeromed (2) where"),
        ("How many different manufacturers are there?", "has 4 different values"),
        ("Which devices cost more than 30000 euros?", "3 rows"),
        ("List all devices sorted by price", "The 7 rows"),
        ("How many wards are there?", "7 rows; Ward has 4 different values in them."),
        ("Wie viele Ventilatoren gibt es?", "2 Zeilen der Tabelle"),
        ("Was kosten die Ventilatoren zusammen?", "ist 65.300, wo Device Ventilator ist."),
        ("How many devices are not in the ICU?", "5 rows of the table"),
        ("有多少 Ventilator？", "有 2 行符合（Device 为 Ventilator）。"),
    ],
)
def test_figures_and_rows_in_the_language_of_the_question(
    question: str, figure: str, tmp_path: Path
) -> None:
    assert figure in said(question, written(tmp_path))


@pytest.mark.parametrize(
    "question",
    [
        "How many ventilators other than EQ-0107 are there?",
        "Which devices except ventilators are in the ICU?",
        "How many nurses work in the ICU?",
        "How many patients can the ventilators treat?",
        "How old is the oldest ventilator?",
        "What is the total weight of the devices?",
        "What are the three most expensive devices?",
        "What percentage of the devices is in the ICU?",
        "What is the difference in price between the two ventilators?",
        "How many ventilators have a price?",
        "How many ventilators are there in 2025?",
        "What is the oldest device in the inventory?",
        "What is the sum of all purchased years?",
        "Where is the ventilator?",
        "Who makes the ventilator?",
        "",
    ],
)
def test_what_is_not_wholly_explained_is_left_to_the_other_stages(
    question: str, tmp_path: Path
) -> None:
    assert not said(question, written(tmp_path))


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("Which county has the largest population?", "The highest total_population"),
        ("How many counties have a population under 700?", "1 row of the table"),
        ("What is the average population of the counties?", "The average total_population"),
        ("How many cities have a population under 700?", ""),
        ("What is the population of the counties in Nebraska?", ""),
    ],
)
def test_a_word_that_all_cells_of_a_column_have_says_what_the_rows_are(
    question: str, start: str, tmp_path: Path
) -> None:
    rows = "name,total_population\nAdams County,31299\nBanner County,690\nBoone County,5473\n"
    (tmp_path / "acs.csv").write_text(rows)

    assert said(question, tmp_path / "acs.csv").startswith(start)
    assert bool(start) == bool(said(question, tmp_path / "acs.csv"))


def test_given_rows_of_totals_then_they_are_not_added_up(tmp_path: Path) -> None:
    path = a_workbook(tmp_path)
    assert "is 18,900; rows of totals are left out." in said(
        "What is the total plan for 2025?", path
    )
    assert "8870 (Department: Surgery)" in said(
        "Which department has the highest forecast for 2025?", path
    )


def test_given_rows_that_are_things_then_how_many_is_their_cell_and_no_row_is_counted(
    tmp_path: Path,
) -> None:
    path = a_workbook(tmp_path)
    figure = "31 Dec 2024 is 431 in the table “budget-2025, Staff numbers” where Group is Nurses."
    assert said("How many nurses were there on 31 December 2024?", path, 1) == figure
    assert not said("How many nurses are there?", path, 1)


def test_given_a_row_for_each_year_then_the_rows_of_a_group_are_not_counted(tmp_path: Path) -> None:
    text = (
        "Group,Year,Staff\nNurses,2023,418\nNurses,2024,431\nDoctors,2023,142\nDoctors,2024,149\n"
    )
    path = written(tmp_path, text, "staff.csv")
    assert not said("How many nurses are there?", path)
    assert not said("How many doctors are in the staff?", path)


def test_given_a_column_of_numbers_of_things_then_these_are_added_up(tmp_path: Path) -> None:
    text = (
        "Id,Item,Room,Quantity\na1,Chair,Hall,12\na2,Chair,Office,4\na3,Table,Hall,3\n"
        "a4,Lamp,Hall,8\n"
    )
    assert "is 16 where Item is Chair" in said(
        "How many chairs are there?", written(tmp_path, text)
    )


ORDERS = (
    "Order,Customer,Status,Paid\n"
    "1001,Hansen,shipped,yes\n1002,Ibarra,open,no\n1003,Kowalski,returned,yes\n1004,Larsen,open,no\n"
)


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("Which orders are not paid?", "2 rows of the table “orders” match where Paid is no."),
        ("Which orders aren't paid?", "2 rows of the table “orders” match where Paid is no."),
        ("Which orders are paid?", "2 rows of the table “orders” match where Paid is yes."),
        ("How many orders are paid?", "2 rows of the table “orders” match where Paid is yes."),
        (
            "Which orders are not open?",
            "2 rows of the table “orders” match where Status is returned",
        ),
        (
            "Which orders are paid but not shipped?",
            "1 row of the table “orders” matches where Status is open or returned and Paid is yes.",
        ),
        (
            "Welche Orders sind nicht open?",
            "2 Zeilen der Tabelle „orders“ passen, wo Status returned",
        ),
    ],
)
def test_rows_that_contradict_a_condition_are_left_out(
    question: str, start: str, tmp_path: Path
) -> None:
    assert said(question, written(tmp_path, ORDERS, "orders.csv")).startswith(start)


@pytest.mark.parametrize(
    "question",
    [
        "Which orders are not open or shipped?",
        "Which orders are not 1003?",
        "Which orders are not the most expensive?",
        "Which orders are not?",
        "Which orders are not not open?",
    ],
)
def test_a_negation_of_something_else_is_left_to_the_other_stages(
    question: str, tmp_path: Path
) -> None:
    assert not said(question, written(tmp_path, ORDERS, "orders.csv"))


def test_a_row_that_leaves_open_what_is_denied_leaves_the_question_open(tmp_path: Path) -> None:
    path = written(tmp_path, ORDERS.replace("Hansen,shipped", "Hansen,"), "orders.csv")

    assert not said("Which orders are not open?", path)


def test_given_a_value_of_two_columns_then_the_named_column_decides(tmp_path: Path) -> None:
    text = "Id,From,To,Fare\n1,Bern,Basel,30\n2,Basel,Bern,32\n3,Bern,Chur,60\n4,Bern,Thun,20\n"
    path = written(tmp_path, text, "trips.csv")
    assert not said("How many trips have Bern?", path)


def test_given_two_columns_for_one_word_then_it_is_silent(tmp_path: Path) -> None:
    text = "Room,Price insured,Price private\nSingle,94,168\nTwin,48,92\nSuite,245,390\n"
    assert not said("Which room has the highest price?", written(tmp_path, text, "rooms.csv"))


def test_names_and_values_of_a_document_are_quoted_in_the_query(tmp_path: Path) -> None:
    text = (
        'Id,"Item"" --",Price\n'
        '1,"Chair\' OR 1=1 --",10\n2,Table,30\n3,Table,20\n4,"Chair\' OR 1=1 --",5\n'
    )
    [table] = tables_of(written(tmp_path, text))
    asked = read_question("How many Chair' OR 1=1 -- are there?", table)
    assert asked is not None
    where = "WHERE \"Item\"\" --\" = 'Chair'' OR 1=1 --'"
    assert build_sql(asked) == f'SELECT COUNT(*) FROM "{table.name}" {where}'


ELEMENTS = (
    "name,bonding,atomicRadius,density,yearFound,meltingPoint,Price,Min price\n"
    "Argon,atomic,71,1.78E-3,1894,84,5,2\nIron,metallic,140,7.87,1200,1808,1,3\n"
    "Gold,metallic,144,19.3,1100,1337,9,1\nNeon,atomic,69,9.00E-4,1898,25,4,4\n"
)


@pytest.mark.parametrize(
    ("question", "figure"),
    [
        ("What is the largest atomic radius?", "is 144."),
        ("Which name has the lowest density?", "is 0.0009 (name: Neon)."),
        ("Which of the elements has the highest meltingPoint?", "is 1808."),
        ("Welcher Name hat die höchste density?", "ist 19,3 (name: Gold)."),
        ("In which year was the density the lowest?", "is 0.0009 (yearFound: 1898)."),
        ("When was the highest melting point found?", "is 1808 (yearFound: 1200)."),
        ("What is the highest number of the melting point of any element?", "is 1808."),
        ("Which name is the cheapest?", "is 1 (name: Iron)."),
        ("Which name is the oldest?", "is 1100 (name: Gold)."),
    ],
)
def test_extremes_of_names_as_files_have_them(question: str, figure: str, tmp_path: Path) -> None:
    assert figure in said(question, written(tmp_path, ELEMENTS, "elements2.csv"))


RUNNERS = (
    "runner,day,time,age,start\nAnn,Sun,9.8,31,Jan 5 2011\nBob,Sat,9.6,24,Mar 1 2010\n"
    "Cem,Sun,10.2,40,Feb 9 2012\n"
)


@pytest.mark.parametrize(
    ("question", "figure"),
    [
        (
            "Which runner is the fastest?",
            "lowest time in the table “runners” is 9.6 (runner: Bob).",
        ),
        (
            "Which runner is the slowest?",
            "highest time in the table “runners” is 10.2 (runner: Cem).",
        ),
        ("Wer ist am jüngsten?", "Wert von age in der Tabelle „runners“ ist 24."),
        ("What is the lowest time on a Sunday?", "is 9.8 where day is Sun."),
        ("Which runner has the latest start?", "is 2012-02-09 (runner: Cem)."),
        ("How many runners have 40 age?", "1 row of the table"),
    ],
)
def test_extremes_of_what_stands_the_other_way_round(
    question: str, figure: str, tmp_path: Path
) -> None:
    assert figure in said(question, written(tmp_path, RUNNERS, "runners.csv"))


CARS = "name,cylinders,hp,mpg per gallon\nA,4,90,30\nB,4,115,25\nC,8,200,12\n"


@pytest.mark.parametrize(
    ("question", "figure"),
    [
        (
            "Which name with 4 cylinders has the highest hp?",
            "is 115 where cylinders is 4 (name: B).",
        ),
        ("What is the highest rate of mpg per gallon?", "is 30."),
        ("What is the highest rate of hp?", ""),
        ("Which name is the oldest?", ""),
        ("Which name is the fastest?", ""),
        ("Which city has the highest hp?", ""),
        ("What is the second highest hp?", ""),
    ],
)
def test_extremes_with_a_number_before_a_column_and_where_they_are_silent(
    question: str, figure: str, tmp_path: Path
) -> None:
    found = said(question, written(tmp_path, CARS, "cars.csv"))
    assert figure in found if figure else not found
