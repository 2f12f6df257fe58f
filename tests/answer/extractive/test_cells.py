"""Whether a question names the row and the column of a cell."""

import pytest

from ragstone.answer.extractive.unit_ranking import (
    COLUMN,
    OF_PART,
    OTHER_COLUMN,
    ROW,
    WHOLE_CELL,
    cell_score,
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
