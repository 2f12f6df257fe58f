"""Opens what is in Redis where the settings name one, and in this process where they do not."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ragstone.cache.local import LocalCache
from ragstone.core.errors import ConfigError
from ragstone.ports import Cache
from ragstone.settings import CacheSettings
from ragstone.store.sql.database import Database
from ragstone.store.sql.templates import SqlTemplates

if TYPE_CHECKING:
    from ragstone.cache.redis import RedisCache


@asynccontextmanager
async def open_cache(settings: CacheSettings, data: Path) -> AsyncIterator[Cache]:
    """The semantic cache of the settings, which is there also while they do not use it."""
    cache = (
        _redis_cache(settings)
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
    shared = None
    if settings.url:
        with _translate_import_error():
            from ragstone.store.redis.prompts import RedisTexts
        shared = RedisTexts(settings.url, settings.password.get_secret_value())
    try:
        yield SqlTemplates(database, shared, below)
    finally:
        if shared:
            await shared.aclose()


@contextmanager
def _translate_import_error() -> Iterator[None]:
    """Raise ConfigError where what is imported inside is not installed."""
    try:
        yield
    except ImportError as error:
        raise ConfigError(
            "CACHE__URL needs the Redis client: pip install 'ragstone[redis]'."
        ) from error


def _redis_cache(settings: CacheSettings) -> "RedisCache":
    """The cache of several servers."""
    with _translate_import_error():
        from ragstone.cache.redis import RedisCache
    password = settings.password.get_secret_value()
    return RedisCache(settings.url, password, settings.max_entries)
