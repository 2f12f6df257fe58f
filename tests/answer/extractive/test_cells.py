"""Whether a question names the row and the column of a cell."""

import pytest

from ragstone.answer.extractive.cells import COLUMN, OTHER_COLUMN, ROW, cell_score

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
