"""Queries in DuckDB, in a process that can reach nothing else."""

import asyncio
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from ragstone.core.errors import QueryRefused
from ragstone.plugins.tables.queries import MAX_ROWS, QueriedTable
from ragstone.plugins.tables.sandbox import TableSandbox

TABLE = QueriedTable(
    "t",
    ("row", "name", "price", "on", "ratio"),
    ("number", "text", "number", "date", "number"),
    (0, 0, 2, 0, -1),
    [
        (1, "a 'quoted' one", "10.10", "2025-01-31", "0.1234567890123"),
        (2, 'b "too"', "0.20", None, "2"),
        (3, None, None, "2024-02-29", None),
    ],
)


async def test_given_typed_columns_then_sums_are_exact_and_dates_are_dates() -> None:
    queries = (
        'SELECT SUM(price), COUNT(*), MAX("on") FROM t',
        'SELECT name FROM t WHERE YEAR("on") = 2025',
        "SELECT ROUND(ratio, 4) FROM t WHERE row = 1",
    )
    found = await TableSandbox().run([TABLE], queries)
    assert found[0].rows == (("10.30", "3", "2025-01-31"),)
    assert found[1].rows == (("a 'quoted' one",),)
    assert found[2].rows == (("0.1235",),)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('{secret}')",
        "SELECT * FROM read_text('{secret}')",
        "SELECT * FROM '{secret}'",
        "SELECT * FROM glob('/*')",
        "SELECT * FROM sniff_csv('{secret}')",
        "SELECT * FROM parquet_scan('{secret}')",
        "SELECT * FROM read_csv('http://127.0.0.1:1/x')",
        "COPY t TO '{written}'",
        "COPY t FROM '{secret}'",
        "EXPORT DATABASE '{written}'",
        "ATTACH '{written}' AS other",
        "INSTALL httpfs",
        "LOAD json",
        "SET enable_external_access = true",
        "SET memory_limit = '100GB'",
        "PRAGMA database_list",
        "CALL pragma_version()",
        "CREATE TABLE u AS SELECT 1",
        "DELETE FROM t",
        "DROP TABLE t",
        "SELECT 1; DROP TABLE t",
        "EXPLAIN ANALYZE SELECT 1",
        "SELECT getenv('HOME')",
        "SELECT * FROM task",
        "no query at all",
        "",
    ],
)
async def test_what_is_no_plain_reading_of_the_table_is_refused(sql: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("name,password\nann,open sesame\n")
    made = tmp_path / "made"
    with pytest.raises(QueryRefused):
        await TableSandbox().run([TABLE], [sql.format(secret=secret, written=made)])
    assert [item.name for item in tmp_path.iterdir()] == ["secret.csv"]


@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE r AS (SELECT 1 a UNION ALL SELECT a + 1 FROM r) SELECT COUNT(*) FROM r",
        "SELECT levenshtein(repeat('a', 100000), repeat('b', 100000))",
        "SELECT SUM(x) FROM range(100000000000000) r(x)",
    ],
)
async def test_a_query_that_never_ends_is_ended(sql: str) -> None:
    with pytest.raises(QueryRefused, match="seconds|memory"):
        await TableSandbox(seconds=3).run([TABLE], [sql])


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT length(repeat('x', 2000000000))",
        "SELECT length(string_agg(x::VARCHAR || repeat('y', 1000), '')) FROM range(10000000) r(x)",
    ],
)
async def test_a_query_that_takes_much_memory_is_refused(sql: str) -> None:
    with pytest.raises(QueryRefused):
        await TableSandbox(memory=128_000_000).run([TABLE], [sql])


async def test_a_long_result_comes_back_in_part() -> None:
    [found] = await TableSandbox().run([TABLE], ["SELECT * FROM range(100000)"])
    assert (len(found.rows), found.more) == (MAX_ROWS, True)


async def test_many_queries_run_in_a_few_processes() -> None:
    sandbox, most = TableSandbox(at_once=2), 0
    work = asyncio.gather(*(sandbox.run([TABLE], ["SELECT COUNT(*) FROM t"]) for _ in range(8)))
    while not work.done():
        most = max(most, len(_processes()))
        await asyncio.sleep(0.01)
    assert [found[0].rows for found in await work] == [(("3",),)] * 8
    assert most == 2


async def test_one_that_is_left_leaves_no_process_behind() -> None:
    endless = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b"
    task = asyncio.create_task(TableSandbox(seconds=60).run([TABLE], [endless]))
    await asyncio.sleep(0.5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not _processes()


def _processes() -> list[list[str]]:
    """The commands of the processes that run queries now."""
    commands = []
    for child in psutil.Process().children():
        with suppress(psutil.Error):  # one of another test ends in this very moment
            commands.append(child.cmdline())
    return [command for command in commands if any("sandbox_child" in part for part in command)]
