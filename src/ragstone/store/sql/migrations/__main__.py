"""Writes `newest.sql`, the newest schema as the migrations make it:
`python -m ragstone.store.sql.migrations`."""

import tempfile
from pathlib import Path

from sqlalchemy import create_engine

from ragstone.store.sql.migrations import migrate, newest

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder, "state.sqlite")
    engine = create_engine(f"sqlite:///{file}")
    with engine.begin() as connection:
        migrate(connection)
    engine.dispose()
    newest.FILE.write_text(newest.statements(file), encoding="utf-8")
