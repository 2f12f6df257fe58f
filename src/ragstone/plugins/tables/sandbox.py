"""Queries over tables in a process of its own, which is ended when it takes too long."""

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ragstone.core.errors import QueryRefused
from ragstone.local.added import AdapterParts
from ragstone.plugins.tables.queries import MAX_ROWS, QueriedTable, QueryResult, TableQueries
from ragstone.ports import Adapters

INSTALL = "pip install 'ragstone[tables]'"

_CHILD = Path(__file__).with_name("sandbox_child.py")
_OWN_MEMORY = 1_500_000_000
"""Bytes of address space that the process has besides what queries may take: Python, DuckDB's
code and what it reserves without using it."""

AT_ONCE = max(2, os.cpu_count() or 1)
"""Processes: each may take all of its memory, and many questions may compute at the same time."""


class TableSandbox:
    """`ports.TableQueries` by DuckDB. `seconds` are for all queries of a run and the tables that
    are loaded for them, `memory` are bytes; `at_once` processes run at a time, and others wait."""

    def __init__(
        self, seconds: float = 10.0, memory: int = 512_000_000, at_once: int = AT_ONCE
    ) -> None:
        self._seconds = seconds
        self._memory = memory
        self._places = asyncio.Semaphore(at_once)

    async def run(
        self, tables: Sequence[QueriedTable], queries: Sequence[str]
    ) -> list[QueryResult]:
        task = {
            "tables": [asdict(table) for table in tables],
            "queries": list(queries),
            "memory": self._memory,
            "own": _OWN_MEMORY,
            "seconds": max(1, round(self._seconds)),
            "rows": MAX_ROWS,
        }
        async with self._places:
            return _results(await self._run_task(task))

    async def _run_task(self, task: Mapping[str, Any]) -> bytes:
        """Return what a process says to a task; raises QueryRefused."""
        data = await asyncio.to_thread(lambda: json.dumps(task).encode())
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            str(_CHILD),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ},
            cwd=Path(os.sep),
        )
        try:
            async with asyncio.timeout(self._seconds):
                said, _ = await process.communicate(data)
        except TimeoutError as error:
            raise QueryRefused(f"it took more than {self._seconds:g} seconds") from error
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await asyncio.shield(process.wait())
        return said


def _results(said: bytes) -> list[QueryResult]:
    try:
        results = json.loads(said)
    except ValueError as error:
        raise QueryRefused("it took more memory or time than it may") from error
    for result in results:
        if "error" in result:
            raise QueryRefused(str(result["error"]))
    return [
        QueryResult(
            tuple(result["columns"]), tuple(map(tuple, result["rows"])), bool(result["more"])
        )
        for result in results
    ]


def open_sandbox(parts: AdapterParts) -> TableSandbox | None:
    """Make the adapter of this process, None where DuckDB is not installed."""
    return TableSandbox() if find_spec("duckdb") is not None else None


def own_sandbox(adapters: Adapters) -> TableQueries | None:
    """Return the sandbox that `open_sandbox` has made, None where there is none."""
    return adapters.added.get("tables")
