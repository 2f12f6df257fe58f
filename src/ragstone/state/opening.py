"""Opens what is in Redis where the settings name one, and in this process where they do not."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ragstone.errors import ConfigError
from ragstone.ports import Cache
from ragstone.settings import CacheSettings
from ragstone.state.cache import LocalCache
from ragstone.state.database import Database
from ragstone.state.templates import SqlTemplates

if TYPE_CHECKING:
    from ragstone.state.cache_redis import RedisCache


@asynccontextmanager
async def open_cache(settings: CacheSettings, data: Path) -> AsyncIterator[Cache]:
    """The semantic cache of the settings, which is there also while they do not use it."""
    cache = (
        _shared(settings)
        if settings.url
        else LocalCache(data / "cache.sqlite", settings.max_entries, settings.default_ttl_seconds)
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
    shared = None
    if settings.url:
        from ragstone.state.prompts_redis import RedisTexts

        shared = RedisTexts(settings.url, settings.password.get_secret_value())
    try:
        yield SqlTemplates(database, shared, below)
    finally:
        if shared:
            await shared.aclose()


def _shared(settings: CacheSettings) -> "RedisCache":
    """The cache of several servers."""
    try:
        from ragstone.state.cache_redis import RedisCache
    except ImportError as error:
        raise ConfigError(
            "CACHE__URL needs the Redis client: pip install 'ragstone[redis]'."
        ) from error
    password = settings.password.get_secret_value()
    return RedisCache(settings.url, password, settings.max_entries, settings.default_ttl_seconds)
