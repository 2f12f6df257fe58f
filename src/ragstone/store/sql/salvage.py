"""Looks through SQLite files that nothing has open, and saves the rows of a damaged state."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from sqlalchemy import create_engine

from ragstone.core.disk import disk_error, free_floor, need_room
from ragstone.store.sql.migrations import REVISIONS, upgrade
from ragstone.store.sql.tables import metadata

MAGIC = b"SQLite format 3\0"
MAX_FLAWS = 3
COPIES = 2
"""The damaged file, and what can be read of it."""
ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""What reading a damaged file raises: its own names and messages may be no text any more."""
TOGETHER = ("-wal", "-shm", "-journal")
"""Endings of the files that belong to a SQLite file."""


def with_its_own(path: Path) -> list[Path]:
    """Return a SQLite file and those that belong to it, as far as they exist."""
    every = (path, *(path.with_name(path.name + ending) for ending in TOGETHER))
    return [file for file in every if file.exists()]


def flaws(path: Path) -> list[str]:
    """Return what is wrong with a SQLite file, a phrase each; nothing with one that is not there.
    Raises what the disk refuses, which is nothing that is wrong with the file."""
    if not path.exists():
        return []
    if path.stat().st_size == 0:
        return ["it is empty"]
    try:
        with closing(_open_file(path)) as connection:
            found = connection.execute("PRAGMA integrity_check").fetchall()
            said = [str(row[0]).encode(errors="replace").decode() for row in found]
    except ERRORS as error:
        if meant := disk_error(error, path):
            raise meant from error
        return [str(error)]
    return [line for line in said if line != "ok"][:MAX_FLAWS]


def read_schema(path: Path) -> str | None:
    """Return the schema of a state's file, None if it has none or cannot say."""
    try:
        with closing(_open_file(path)) as connection:
            row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except ERRORS:
        return None
    return str(row[0]) if row else None


def find_lost_columns(path: Path) -> list[str]:
    """The columns of the newest schema that a state's file of that schema lacks: a name in its
    definition may be damaged, and SQLite then reads the name itself where the values should be."""
    lost = []
    with closing(_open_file(path)) as connection:
        for table in metadata.sorted_tables:
            rows = connection.execute(f'PRAGMA table_info("{table.name}")').fetchall()
            known = {row[1] for row in rows}
            lost += [
                f"{table.name}.{column.name}"
                for column in table.columns
                if column.name not in known
            ]
    return lost


def read_collections(path: Path) -> list[tuple[str, str, int, int, str, int]]:
    """Tenant, id, build, dimensions, language and length of searched token vectors of the
    collections; none if it cannot say."""
    query = "SELECT tenant, id, build, dimensions, language, late FROM collections"
    try:
        with closing(_open_file(path)) as connection:
            return [tuple(row) for row in connection.execute(query)]
    except ERRORS:
        return []


def save_rows(broken: Path, target: Path) -> int:
    """Write every row of the state in `broken` that can be read to `target`; how many those are.

    `broken` is not changed. With no row there is no `target`.
    """
    size = sum(file.stat().st_size for file in with_its_own(broken))
    need_room(broken.parent, COPIES * size + free_floor(broken.parent))
    copy = target.with_name(f"{target.name}-saving")
    draft = target.with_name(f"{target.name}-saved")
    try:
        _copy(broken, copy)
        stored = read_schema(copy)
        engine = create_engine(f"sqlite:///{draft}")
        upgrade(engine, stored if stored in REVISIONS else "head")
        engine.dispose()
        with closing(_open_file(copy)) as source, closing(sqlite3.connect(draft)) as new:
            # A table whose definition is damaged does not keep the others from being read.
            rows = _copy_rows(source, new)
        if rows:
            draft.replace(target)
        return rows
    finally:
        for file in (*with_its_own(copy), *with_its_own(draft)):
            file.unlink(missing_ok=True)


def _copy(broken: Path, copy: Path) -> None:
    for file in with_its_own(broken):
        shutil.copyfile(file, copy.with_name(file.name.replace(broken.name, copy.name, 1)))
    with copy.open("r+b") as written:
        written.write(MAGIC)
        written.flush()
        os.fsync(written.fileno())


def _copy_rows(source: sqlite3.Connection, new: sqlite3.Connection) -> int:
    """Copy what can be read, table by table, without rows that would refer to lost ones."""
    count = 0
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'alembic_version'"
    for (table,) in new.execute(query).fetchall():
        columns = [row[1] for row in new.execute(f'PRAGMA table_info("{table}")')]
        names = ", ".join(f'"{name}"' for name in columns)
        marks = ", ".join("?" * len(columns))
        new.execute(f'DELETE FROM "{table}"')  # noqa: S608 - names of our own schema
        put = f'INSERT OR IGNORE INTO "{table}" ({names}) VALUES ({marks})'  # noqa: S608
        for row in _readable(source, table, _names_there(source, table, columns)):
            with suppress(sqlite3.IntegrityError, UnicodeEncodeError):
                count += new.execute(put, row).rowcount
    while orphans := new.execute("PRAGMA foreign_key_check").fetchall():
        for table, rowid, *_ in orphans:
            new.execute(f'DELETE FROM "{table}" WHERE rowid = ?', (rowid,))  # noqa: S608
        count -= len(orphans)
    new.commit()
    return count


def _names_there(source: sqlite3.Connection, table: str, columns: list[str]) -> str:
    """What the columns are called in the damaged file: where a name is damaged, the place tells."""
    try:
        there = [row[1] for row in source.execute(f'PRAGMA table_info("{table}")')]
    except ERRORS:
        there = []
    # In brackets a name that is none is an error; in quotation marks it would be a text.
    return ", ".join(f"[{item}]" for item in (there if len(there) == len(columns) else columns))


def _readable(source: sqlite3.Connection, table: str, names: str) -> Iterator[tuple[object, ...]]:
    """Yield the rows before the first damaged page, and those after the last one."""
    for order in ("ASC", "DESC"):
        try:
            yield from source.execute(
                f'SELECT {names} FROM "{table}" NOT INDEXED ORDER BY rowid {order}'  # noqa: S608
            )
        except ERRORS:
            continue
        return


def _open_file(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    # An index of a column whose name is damaged keeps no table from being read then.
    connection.execute("PRAGMA writable_schema = ON")
    # What is not text any more can be told by its surrogates, and cannot be written.
    connection.text_factory = lambda read: read.decode("utf-8", "surrogateescape")
    return connection
