"""Whether a question names the row and the column of a cell, or a number in a range of a row."""

import pytest

from ragstone.answer.extractive.cells import (
    COLUMN,
    DATED,
    DENIED,
    OF_PART,
    OTHER_COLUMN,
    OTHER_DATE,
    RANGE,
    ROW,
    WHOLE_CELL,
    cell_score,
    date_score,
    denied_score,
    range_score,
)

SALES = "Net sales > Machines (1); Year to June 30, 2018: 25,655; Year to June 30, 2019: 35,026"


@pytest.mark.parametrize(
    ("question", "score"),
    [
        ("What did Acme earn with machines in 2019?", ROW + COLUMN),
        ("What did Acme earn with machines?", ROW),
        ("What did Acme earn with machines in 2011?", ROW + OTHER_COLUMN),
        ("What did Acme earn with machines on June 30, 2018?", ROW + COLUMN),
        ("What did Acme earn with pumps in 2019?", 0.0),
    ],
)
def test_a_cell_that_is_named_counts(question: str, score: float) -> None:
    assert cell_score(question, SALES) == score


@pytest.mark.parametrize("row", ["", "a", "; ", "Machines", "2019; 2018", "x: ; y: ", "N | 2019"])
def test_other_lines_count_nothing(row: str) -> None:
    assert cell_score("What did Acme earn with machines in 2019?", row) == 0.0


def test_given_a_column_of_a_part_that_nobody_named_then_another_column_counts_more() -> None:
    question = "What was the goodwill of Acme at the end of 2017?"
    whole = cell_score(question, "Goodwill; December 31, 2016: 3,784; December 31, 2017: 13,350")
    part = cell_score(question, "Goodwill; December 31, 2016: 60; 2017 Other acquisitions: 491")
    named = cell_score(
        "What was the goodwill of other acquisitions in 2017?",
        "Goodwill; December 31, 2016: 60; 2017 Other acquisitions: 491",
    )
    assert (whole, part, named) == (ROW + COLUMN, ROW + COLUMN * OF_PART, ROW + COLUMN)


MODES = "MSK144; FEC Type: LDPC; Keying rate (Baud): 2000; Bandwidth (Hz): 2400"


@pytest.mark.parametrize(
    ("question", "score"),
    [
        ("What is the keying rate of MSK144?", ROW + COLUMN + WHOLE_CELL),
        ("What is the keying rate of MSK144 in the tropics?", ROW + COLUMN),
        ("What is the colour of MSK144?", ROW),
        ("What is the keying rate of FT4?", 0.0),
    ],
)
def test_given_row_and_column_by_name_then_that_cell_counts_most(
    question: str, score: float
) -> None:
    assert cell_score(question, MODES) == score


@pytest.mark.parametrize(
    ("question", "row", "score"),
    [
        ("How warm was it on 4 July 2014?", "date: 2014-07-04; temp: 23.9", DATED),
        ("How warm was it on 4 July 2014?", "date: 2014-07-05; temp: 23.9", OTHER_DATE),
        ("Wie warm war es im Juli 2014?", "date: 2014-07-05; temp: 23.9", DATED),
        ("How many died in January 1855?", "Month: 1855-01; Disease: 1440", DATED),
        ("How many died in January 1855?", "Month: 1856-01; Disease: 1440", OTHER_DATE),
        ("How many died in 1855?", "Month: 1856-01; Disease: 1440", 0.0),
        ("How warm was it on 4 July 2014?", "Town: Ost; temp: 23.9", 0.0),
    ],
)
def test_given_a_date_in_words_then_the_row_with_it_in_digits_is_meant(
    question: str, row: str, score: float
) -> None:
    assert date_score(question, row) == score


LEAVE = "Completed years of service: 10 to 19; Days of leave: 32; Notice: 6 weeks"
POSTAGE = "Weight: 2 to 5 kg; Inland: 6.49; Abroad: 14.49"


@pytest.mark.parametrize(
    ("question", "row", "score"),
    [
        ("How many days of leave does one with 12 years of service get?", LEAVE, RANGE),
        ("How many days of leave does one with 3 years of service get?", LEAVE, -RANGE),
        ("How many days of leave did 12 people take?", LEAVE, 0.0),
        ("How many days of leave are there after 2024?", LEAVE, 0.0),
        ("How many days of leave does Lantern 3 say after 12 years?", LEAVE, RANGE),
        ("What does it cost to send 3 kg abroad?", POSTAGE, RANGE),
        ("What does it cost to send 7 kg abroad?", POSTAGE, -RANGE),
        ("What does it cost to send 3 letters abroad?", POSTAGE, 0.0),
        ("How many days of leave does one with 12 years of service get?", "Ann; 3 to 9", 0.0),
    ],
)
def test_a_number_in_a_range_counts_for_its_row_and_against_the_others(
    question: str, row: str, score: float
) -> None:
    assert range_score(question, row) == score


@pytest.mark.parametrize(
    ("question", "score"),
    [
        ("Which extinguisher is for electrical equipment?", DENIED),
        ("Which extinguisher is not for electrical equipment?", 0.0),
        ("Which extinguisher is for paper?", 0.0),
        ("Which extinguisher with water is for electrical equipment?", DENIED),
        ("Which extinguisher has a red label?", 0.0),
    ],
)
def test_what_a_column_denies_counts_against_its_row(question: str, score: float) -> None:
    row = "Label: red; Contents: water; Use for: paper, wood; Not for: electrical equipment"
    assert denied_score(question, row) == score


def test_a_row_below_one_that_the_question_names_is_better_than_its_like() -> None:
    question = "What is the mean age in the IROX arm?"
    age = "Age in Years > Mean (SD); A:IFL (N=4): 59.7 (11.4); G:IROX (N=3): 59.8 (11.5)"
    weight = age.replace("Age in Years", "Weight")
    assert cell_score(question, age) > cell_score(question, weight) > 0
