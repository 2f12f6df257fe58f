"""Opens what is on the server of CACHE__URL, and in this process where there is none."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from ragstone.cache.local import LocalCache
from ragstone.cache.shared import make_shared_server
from ragstone.ports import Cache
from ragstone.settings import CacheSettings
from ragstone.store.sql.database import Database
from ragstone.store.sql.settings import SqlTemplates


@asynccontextmanager
async def open_cache(settings: CacheSettings, data: Path) -> AsyncIterator[Cache]:
    """The semantic cache of the settings, which is there also while they do not use it."""
    cache = (
        make_shared_server(settings).cache(settings.max_entries)
        if settings.url
        else LocalCache(data / "cache.sqlite", settings.max_entries)
    )
    if settings.enabled:
        await cache.open()
    try:
        yield cache
    finally:
        await cache.aclose()


@asynccontextmanager
async def open_templates(
    database: Database, settings: CacheSettings, below: Mapping[str, str]
) -> AsyncIterator[SqlTemplates]:
    """The prompts, over those of the configuration file (`below`)."""
    shared = make_shared_server(settings).texts() if settings.url else None
    try:
        yield SqlTemplates(database, shared, below)
    finally:
        if shared:
            await shared.aclose()
