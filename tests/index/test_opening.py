"""Several processes that open one new database at once."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.conformance.postgres_server import PostgresServer
from tests.databases import Databases

ROOT = Path(__file__).parents[2]
PROCESSES, TIMES = 4, 3


@contextmanager
def opening_processes() -> Iterator[list["subprocess.Popen[str]"]]:
    command = [sys.executable, "-m", "tests.index.opening_process"]
    pipe = subprocess.PIPE
    running = [
        subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True, cwd=ROOT
        )
        for _ in range(PROCESSES)
    ]
    try:
        yield running
    finally:
        for process in running:
            process.kill()
            process.communicate()


def said(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def tell(process: "subprocess.Popen[str]", line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


@pytest.mark.slow
def test_given_a_new_database_then_all_that_open_it_at_once_can_and_none_complains(
    postgres: PostgresServer, postgres_databases: Databases
) -> None:
    with opening_processes() as running:
        assert [said(process) for process in running] == ["ready"] * PROCESSES
        for _ in range(TIMES):
            url = postgres.url.replace("/postgres?", f"/{postgres_databases.new()}?")
            for process in running:
                tell(process, url)
            assert [said(process) for process in running] == ["opened"] * PROCESSES
            with psycopg.connect(url) as connection:
                found = connection.execute("SELECT extname FROM pg_extension ORDER BY 1").fetchall()
            assert ("vector",) in found
