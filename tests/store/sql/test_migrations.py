"""Migrations and `tables.py` describe the same schema; a newer database is left alone."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine

from ragstone.core.errors import ConfigError
from ragstone.store.sql import migrations
from ragstone.store.sql.database import open_database
from ragstone.store.sql.tables import metadata
from tests.store.sql.next_schema import next_schema


def dump(path: Path) -> list[str]:
    connection = sqlite3.connect(path)
    lines = list(connection.iterdump())
    connection.close()
    return lines


async def test_the_migrations_make_the_tables(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    async with open_database(path):
        pass
    engine = create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
    engine.dispose()


def test_every_migration_is_listed() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    scripts = ScriptDirectory.from_config(config).walk_revisions()
    assert tuple(script.revision for script in scripts)[::-1] == migrations.REVISIONS


async def test_opening_again_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    async with open_database(path):
        pass
    first = dump(path)
    async with open_database(path):
        pass
    assert dump(path) == first


async def test_a_newer_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    async with open_database(path):
        pass
    connection = sqlite3.connect(path)
    connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.execute("CREATE TABLE tomorrow (id INTEGER)")
    connection.commit()
    connection.close()
    before = dump(path)
    with pytest.raises(ConfigError, match=r"newer Ragstone \(schema 9999.*Update Ragstone"):
        async with open_database(path):
            pass
    assert dump(path) == before


async def test_a_broken_migration_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "state.sqlite"
    execute = Connection.execute

    def refuse(self: Connection, statement: object, *rest: object, **options: object) -> object:
        if "alembic_version" in str(statement) and "INSERT" in str(statement):
            raise RuntimeError("power cut")
        return execute(self, statement, *rest, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(Connection, "execute", refuse)
    with pytest.raises(RuntimeError, match="power cut"):
        async with open_database(path):
            pass
    monkeypatch.undo()
    assert dump(path) == ["BEGIN TRANSACTION;", "COMMIT;"]
    async with open_database(path) as database:
        await database.ready()


def migrated(path: Path) -> None:
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        migrations.migrate(connection)
    engine.dispose()


def definitions(path: Path) -> set[str]:
    """The statements that would make the schema of a file anew, whatever their order."""
    connection = sqlite3.connect(path)
    found = {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql <> ''")}
    connection.close()
    return {" ".join(sql.split()) for sql in found if "alembic_version" not in sql}


async def test_an_empty_database_gets_what_the_migrations_make(tmp_path: Path) -> None:
    migrated(tmp_path / "migrated.sqlite")
    async with open_database(tmp_path / "made.sqlite"):
        pass
    assert definitions(tmp_path / "made.sqlite") == definitions(tmp_path / "migrated.sqlite")


async def test_a_state_of_an_earlier_version_is_kept_and_brought_up(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    async with open_database(path):
        pass
    before = dump(path)
    with next_schema(tmp_path):
        async with open_database(path):
            pass
        assert "CREATE TABLE tomorrow" in "\n".join(dump(path))
    [kept] = tmp_path.glob("state-*.sqlite")
    assert dump(kept) == before


def test_only_a_database_that_is_behind_is_opened_with_alembic(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from ragstone.store.sql.database import open_database\n"
        "async def main():\n"
        "    async with open_database(Path(sys.argv[1])):\n"
        "        print('alembic' in sys.modules)\n"
        "asyncio.run(main())\n"
    )
    connection = sqlite3.connect(tmp_path / "shared.sqlite")
    connection.execute("CREATE TABLE of_somebody_else (id INTEGER)")
    connection.close()
    run = [sys.executable, "-W", "error", "-c", program]
    outputs = [
        subprocess.run([*run, str(tmp_path / name)], capture_output=True, text=True, check=True)
        for name in ("new.sqlite", "new.sqlite", "shared.sqlite", "shared.sqlite")
    ]
    assert [output.stdout.strip() for output in outputs] == ["False", "False", "True", "False"]
