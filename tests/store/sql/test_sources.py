"""Sources in the state store, on both databases."""

from dataclasses import replace

from ragstone.core.sync import StoredSource
from ragstone.plugins.sources.store import SqlSources
from ragstone.store.sql.database import Database

HANDBOOK = StoredSource("s1", "acme", "handbook", "folder", "c1", {"path": "/srv"}, (), None, 1.0)


async def test_a_source_is_new_unless_the_tenant_has_one_of_the_name(state: Database) -> None:
    store = SqlSources(state)
    assert await store.add(HANDBOOK)
    assert not await store.add(replace(HANDBOOK, id="s2"))
    assert await store.add(replace(HANDBOOK, id="s3", tenant="other"))
    assert [item.id for item in await store.list_all()] == ["s1", "s3"]
