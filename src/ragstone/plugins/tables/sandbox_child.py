"""Runs queries over tables in a process of its own, which can reach nothing else.

It is started as a script: one JSON object on standard input, one on standard output. DuckDB may
read no file and load no extension, and its settings are locked before a query is looked at; the
system allows the process no file to write, and so much memory and processor time as it is told.
"""

import json
import sys
from typing import Any

BATCH = 10_000


def limit(memory: int, seconds: int) -> None:
    """Let the system end this process where DuckDB's own limits do not hold: those of single
    functions (`repeat`, `levenshtein`) do not."""
    if sys.platform == "win32":  # It has only the parent's clock.
        return
    import resource

    resource.setrlimit(resource.RLIMIT_CPU, (seconds + 1, seconds + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def connection(memory: int) -> Any:
    """Return an empty database in memory, without files, extensions and Python's variables."""
    import duckdb

    return duckdb.connect(
        ":memory:",
        config={
            "enable_external_access": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "allow_community_extensions": "false",
            "python_enable_replacements": "false",
            "max_temp_directory_size": "0B",
            "memory_limit": f"{memory // 1_000_000}MB",
            "threads": "1",
        },
    )


def name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def column_type(kind: str, scale: int) -> str:
    if kind == "number":
        return f"DECIMAL(38, {scale})" if scale >= 0 else "DOUBLE"
    return "DATE" if kind == "date" else "VARCHAR"


def fill(db: Any, table: dict[str, Any]) -> None:
    """Make a table, and put its rows into it."""
    types = [column_type(*item) for item in zip(table["types"], table["scales"], strict=True)]
    columns = [f"{name(c)} {t}" for c, t in zip(table["columns"], types, strict=True)]
    db.execute(f"CREATE TABLE {name(table['name'])} ({', '.join(columns)})")
    values = ", ".join(f"CAST(unnest(${n}) AS {t})" for n, t in enumerate(types, 1))
    rows = table["rows"]
    for start in range(0, len(rows), BATCH):
        batch = [
            [None if cell is None else str(cell) for cell in column]
            for column in zip(*rows[start : start + BATCH], strict=True)
        ]
        db.execute(f"INSERT INTO {name(table['name'])} SELECT {values}", batch)


def run(db: Any, sql: str, most: int) -> dict[str, Any]:
    """Return the first rows of one query that reads."""
    import duckdb

    statements = db.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        return {"error": "only a single SELECT may be run"}
    done = db.execute(statements[0])
    columns = [item[0] for item in done.description]
    rows = done.fetchmany(most + 1)
    texts = [[None if cell is None else str(cell)[:1000] for cell in row] for row in rows[:most]]
    return {"columns": columns, "rows": texts, "more": len(rows) > most}


def main() -> None:
    task = json.load(sys.stdin)
    db = connection(task["memory"])
    for table in task["tables"]:
        fill(db, table)
    db.execute("SET lock_configuration = true")
    limit(task["memory"] + task["own"], task["seconds"])
    results = []
    for sql in task["queries"]:
        try:
            results.append(run(db, sql, task["rows"]))
        except Exception as error:
            results.append({"error": str(error).splitlines()[0][:300]})
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
