"""A schema after the newest one, for tests of how a state of an earlier version is brought up."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ragstone.store.sql import migrations

NEXT = "9000"

MIGRATION = f'''
import sqlalchemy as sa
from alembic import op

revision = "{NEXT}"
down_revision = "{migrations.REVISIONS[-1]}"


def upgrade() -> None:
    op.create_table("tomorrow", sa.Column("id", sa.Integer(), primary_key=True))
    op.execute("UPDATE statistics SET questions = questions + 1")
'''


@contextmanager
def next_schema(folder: Path) -> Iterator[None]:
    """Let the program know one more migration, which is kept in `folder`."""
    versions = folder / "versions"
    versions.mkdir()
    (versions / f"{NEXT}_tomorrow.py").write_text(MIGRATION, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrations, "VERSIONS", (*migrations.VERSIONS, versions))
        patch.setattr(migrations, "REVISIONS", (*migrations.REVISIONS, NEXT))
        yield
