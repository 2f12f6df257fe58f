"""The queries of the rules without DuckDB: what they return is what it returns."""

from pathlib import Path

import pytest

from ragstone.core.errors import QueryRefused
from ragstone.plugins.tables.computation import agrees, build_sql, number_rows, outcome
from ragstone.plugins.tables.plain_queries import PlainQueries
from ragstone.plugins.tables.reading_question import read_question
from tests.knowledge.tables.files import tables_of, written


@pytest.mark.parametrize(
    "question",
    [
        "How many ventilators are in the inventory?",
        "What is the total price of the ventilators?",
        "What is the average price of a device in the ICU?",
        "Which device is the most expensive?",
        "Which device has the earliest next inspection?",
        "How many devices have their next inspection in 2026?",
        "How many devices were purchased before 2020?",
        "How many devices per ward?",
        "Which manufacturer has the most ventilators?",
        "How many different manufacturers are there?",
        "List all devices sorted by price",
    ],
)
async def test_both_computations_agree(question: str, tmp_path: Path) -> None:
    [table] = tables_of(written(tmp_path))
    asked = read_question(question, table)
    assert asked is not None
    found = outcome(asked)
    assert found is not None
    [result] = await PlainQueries().run([number_rows(table)], [build_sql(asked)])
    assert agrees(asked, found, result.rows)


async def test_what_fails_is_refused(tmp_path: Path) -> None:
    [table] = tables_of(written(tmp_path))
    with pytest.raises(QueryRefused, match="no such table"):
        await PlainQueries().run([number_rows(table)], ["SELECT 1 FROM other"])
