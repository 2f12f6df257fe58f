"""Migrations and `tables.py` describe the same schema; a newer database is left alone."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine

from ragstone.core.answer import Citation
from ragstone.core.conversation import ConversationKey, Room
from ragstone.core.errors import ConfigError
from ragstone.core.records import Collection
from ragstone.core.turn import Principal
from ragstone.store.sql import migrations
from ragstone.store.sql.catalog import SqlCatalog
from ragstone.store.sql.conversations import SqlConversations
from ragstone.store.sql.database import open_database
from ragstone.store.sql.history import SqlHistory
from ragstone.store.sql.migrations import newest
from ragstone.store.sql.settings import SqlSettings
from ragstone.store.sql.tables import metadata

CITATION = {
    "number": 1, "document_id": "d", "chunk_id": "c", "title": "T", "path": "/p", "page": None,
    "section": (), "start": 5, "end": 9, "snippet": "text", "score": 0.5,
}  # fmt: skip
USAGE = '{"prompt_tokens": 3, "completion_tokens": 4, "calls": 1, "cost": null}'
TRACE = '[{"stage": "s", "seconds": 0.1, "status": "done"}]'


NAMED = ("law", "keyed", "set/up", "queued", "revoked", "done")


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


async def test_earlier_conversations_and_statistics_move_over(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    engine = create_engine(f"sqlite:///{path}")
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0005")
        insert = connection.exec_driver_sql
        insert("INSERT INTO conversations VALUES ('t', 'u', 'r', 1.5, 3.5)")
        insert("INSERT INTO conversations VALUES ('t', 'u', 'empty', 1.5, 2.5)")
        for finish in ("stop", "error"):
            insert(
                "INSERT INTO blocks (tenant, user, room, ask_id, collection, level, question,"
                " answer, finish, model, confidence, citations, verdicts, usage, trace, created_at)"
                " VALUES ('t', 'u', 'r', 'a1', 'c', 'basic', 'Why  so?', 'So.', ?, 'm', 0.5, ?,"
                " '[]', ?, ?, 2.5)",
                (finish, json.dumps([CITATION]), USAGE, TRACE),
            )
        insert(
            "INSERT INTO statistics VALUES ('2026-01-02', 't', 'u', 'r', 'm', 1, 0, 3, 4, 0.5, 0)"
        )
    engine.dispose()
    async with open_database(path) as database:
        conversations, here = SqlConversations(database), ConversationKey("t", "u", "r")
        newest, oldest = await conversations.entries(here, 10)
        room = await conversations.room(here)
        assert await conversations.tokens(here, "rag") == 14
        assert (await conversations.rooms(Principal("t", "u"), None, 10)).total == 2
        [day] = (await SqlHistory(database).report("t", 3650)).days
    assert (newest.block.is_error, oldest.block.status) == (True, "done")
    assert oldest.notes.answer.citations == (Citation(**CITATION),)
    assert (oldest.notes.collection, oldest.notes.answer.model) == ("c", "m")
    assert oldest.block.conversations[1].content == "So."
    assert room == Room("r", "", "Why so?", 2, 1, 1.5, 3.5)
    assert (day.questions, day.prompt_tokens, day.cost) == (1, 3, 0.5)


async def test_what_names_a_collection_that_is_not_there_waits_for_it(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    migrated(path, "0012")
    connection = sqlite3.connect(path)
    connection.execute("INSERT INTO collections VALUES ('t', 'law', 'm', 'f', 3, 'en', 2)")
    key = "INSERT INTO api_keys VALUES (?, 'k', 't', 'u', '[]', ?, 'reader', '', '', 0, 0, 0, 0, ?)"
    connection.execute(key, ("a", '["law", "keyed"]', None))
    connection.execute(key, ("b", None, None))
    connection.execute(key, ("c", '["revoked"]', 1.5))
    for scope in ("global", "tenant:t", "collection:t/law", "collection:t/set/up"):
        connection.execute("INSERT INTO settings VALUES (?, 'k', '1', 0)", (scope,))
    for job, collection, state in (("x", "queued", "queued"), ("y", "done", "done")):
        connection.execute(
            "INSERT INTO jobs (id, kind, request, progress, state, error, created_at, updated_at,"
            " tenant, collection) VALUES (?, 'ingest', '{}', '{}', ?, '', 0, 0, 't', ?)",
            (job, state, collection),
        )
    connection.commit()
    connection.close()
    async with open_database(path) as database:
        catalog = await SqlCatalog.open(database)
        [law] = await catalog.collections()
        assert law == Collection("t", "law", "m", "f", 3, "en", 2, id="law")
        named = {name: await catalog.identity("t", name, make=False) for name in NAMED}
    assert named == {name: name if name in NAMED[:4] else "" for name in NAMED}


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


def migrated(path: Path, schema: str = "head") -> None:
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        migrations.migrate(connection, schema)
    engine.dispose()


async def test_the_kept_schema_is_what_the_migrations_make(tmp_path: Path) -> None:
    migrated(tmp_path / "migrated.sqlite")
    async with open_database(tmp_path / "made.sqlite"):
        pass
    assert newest.statements(tmp_path / "migrated.sqlite") == newest.FILE.read_text(), (
        "Write it anew: python -m ragstone.store.sql.migrations"
    )
    assert dump(tmp_path / "made.sqlite") == dump(tmp_path / "migrated.sqlite")


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
    migrated(tmp_path / "old.sqlite", "0005")
    run = [sys.executable, "-W", "error", "-c", program]
    outputs = [
        subprocess.run([*run, str(tmp_path / name)], capture_output=True, text=True, check=True)
        for name in ("new.sqlite", "new.sqlite", "old.sqlite", "old.sqlite")
    ]
    assert [one.stdout.strip() for one in outputs] == ["False", "False", "True", "False"]
    assert dump(tmp_path / "old.sqlite") == dump(tmp_path / "new.sqlite")


async def test_options_of_stages_that_were_renamed_move_over(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    migrated(path, "0013")
    connection = sqlite3.connect(path)
    for key in ("stages.grade.high", "stages.graded.high", "rag.top_k"):
        connection.execute("INSERT INTO settings VALUES ('global', ?, '0.5', 1)", (key,))
    connection.commit()
    connection.close()
    async with open_database(path) as database:
        stored = await SqlSettings(database).stored()
    assert {one.key for one in stored} == {
        "stages.deduplicate.high",
        "stages.graded.high",
        "rag.top_k",
    }
