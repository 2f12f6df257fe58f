"""DBOS finds its clock in every SQLite."""

import sqlite3
import time
from contextlib import closing

import pytest

from ragstone.jobs.sqlite_clock import TimedConnection, arguments


def test_given_the_connection_then_a_default_of_a_table_has_the_time_with_its_fraction() -> None:
    with closing(sqlite3.connect(":memory:", factory=TimedConnection)) as connection:
        connection.execute(
            "CREATE TABLE seen (id TEXT, at INTEGER NOT NULL DEFAULT (unixepoch('subsec') * 1000))"
        )
        before = time.time() * 1000
        connection.execute("INSERT INTO seen (id) VALUES ('a')")
        [(at,)] = connection.execute("SELECT at FROM seen")
    assert before <= at + 1 <= time.time() * 1000 + 1


@pytest.mark.parametrize(("version", "helped"), [((3, 40, 1), True), ((3, 42, 0), False)])
def test_given_a_version_of_sqlite_then_only_an_old_one_is_helped(
    monkeypatch: pytest.MonkeyPatch, version: tuple[int, int, int], helped: bool
) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", version)
    assert bool(arguments()) is helped
