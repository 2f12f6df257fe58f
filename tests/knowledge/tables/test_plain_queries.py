"""What is asked of a table, computed by a query, with and without DuckDB, and without one."""

from decimal import Decimal
from pathlib import Path

import pytest

from ragstone.core.errors import QueryRefused
from ragstone.plugins.tables.computation import agrees, build_sql, compute, number_rows
from ragstone.plugins.tables.plain_queries import PlainQueries
from ragstone.plugins.tables.queries import TableQueries
from ragstone.plugins.tables.sandbox import TableSandbox
from ragstone.plugins.tables.saying import sentence
from ragstone.plugins.tables.table_question import Condition, TableQuestion
from tests.knowledge.tables.files import tables_of, written

ICU = Condition("Ward", "in", ("ICU",))
EMERGENCY = Condition("Ward", "in", ("Emergency",))
NOT_ICU = Condition("Ward", "not in", ("ICU",))
IN_2026 = Condition("Next inspection", "in", (Decimal(2026),), "year")
IN_AUGUST = Condition("Next inspection", "in", (Decimal(8),), "month")
FROM_2019 = Condition("Purchased", "between", (Decimal(2019), Decimal(2021)))
DEAR = Condition("Price EUR", ">", (Decimal(30000),))
UNSEEN = Condition("Next inspection", "empty")

ASKED = [
    ({"operation": "count", "conditions": (ICU,)}, "2 rows of the table"),
    ({"operation": "count", "conditions": (NOT_ICU,)}, "5 rows of the table"),
    ({"operation": "count", "conditions": (IN_2026,)}, "3 rows"),
    ({"operation": "count", "conditions": (IN_AUGUST,)}, "1 row"),
    ({"operation": "count", "conditions": (FROM_2019,)}, "3 rows"),
    ({"operation": "list", "conditions": (DEAR,)}, "3 rows"),
    ({"operation": "sum", "measure": "Price EUR", "conditions": (ICU,)}, "is 65,300"),
    ({"operation": "average", "measure": "Price EUR", "conditions": (ICU,)}, "is 32,650"),
    ({"operation": "most", "measure": "Price EUR"}, "is 56,200 (Asset: EQ-0341)"),
    ({"operation": "least", "measure": "Next inspection"}, "is 2025-07-21"),
    ({"operation": "most", "measure": "Price EUR", "limit": 3}, "EQ-0341, EQ-0108, EQ-0107."),
    ({"operation": "commonest", "group": "Manufacturer", "conditions": (ICU,)}, "Aeromed (2)"),
    ({"operation": "commonest", "group": "Ward", "measure": "Price EUR"}, "Emergency (68,000)"),
    ({"operation": "rarest", "group": "Ward"}, "M2 (1)"),
    ({"operation": "commonest", "group": "Next inspection"}, "2025 (4)"),
    ({"operation": "values", "measure": "Ward"}, "4 different values"),
    ({"operation": "share", "of_share": ICU}, "For 28.57 % of 7 rows"),
    ({"operation": "difference", "measure": "Price EUR", "conditions": (ICU, EMERGENCY)}, "1350:"),
    ({"operation": "difference", "conditions": (ICU, NOT_ICU)}, "differ by 3:"),
]  # fmt: skip


@pytest.mark.parametrize("queries", [PlainQueries(), TableSandbox()], ids=["sqlite", "duckdb"])
@pytest.mark.parametrize(("asked", "said"), ASKED)
async def test_a_query_and_a_computation_agree_and_are_said(
    queries: TableQueries, asked: dict[str, object], said: str, tmp_path: Path
) -> None:
    [table] = tables_of(written(tmp_path))
    question = TableQuestion(table, **asked)  # type: ignore[arg-type]
    found = compute(question)
    assert found is not None
    [result] = await queries.run([number_rows(table)], [build_sql(question)])
    assert agrees(question, found, result.rows)
    assert said in sentence(question, found, "en")


@pytest.mark.parametrize(
    "asked",
    [
        {"operation": "sum", "measure": "Price EUR", "conditions": (UNSEEN,)},
        {"operation": "most", "measure": "Price EUR", "limit": 8},
    ],
)
def test_given_no_rows_or_too_few_then_there_is_nothing_to_say(
    asked: dict[str, object], tmp_path: Path
) -> None:
    [table] = tables_of(written(tmp_path))
    assert compute(TableQuestion(table, **asked)) is None  # type: ignore[arg-type]


def test_names_and_values_of_a_document_are_quoted_in_the_query(tmp_path: Path) -> None:
    text = 'Id,"Item"" --",Price\n1,"Chair\' OR 1=1 --",10\n2,Table,30\n3,Table,20\n'
    [table] = tables_of(written(tmp_path, text))
    asked = TableQuestion(
        table, "count", conditions=(Condition('Item" --', "in", ("Chair' OR 1=1 --",)),)
    )
    where = "WHERE \"Item\"\" --\" = 'Chair'' OR 1=1 --'"
    assert build_sql(asked) == f'SELECT COUNT(*) FROM "{table.name}" {where}'


async def test_what_fails_is_refused(tmp_path: Path) -> None:
    [table] = tables_of(written(tmp_path))
    with pytest.raises(QueryRefused, match="no such table"):
        await PlainQueries().run([number_rows(table)], ["SELECT 1 FROM other"])
