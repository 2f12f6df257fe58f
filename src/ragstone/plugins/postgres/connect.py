"""Makes the index of the settings."""

from pathlib import Path

from ragstone.index.options import read_options
from ragstone.plugins.postgres.connection import PostgresConnections
from ragstone.plugins.postgres.index import PostgresIndex
from ragstone.plugins.postgres.options import PostgresOptions
from ragstone.settings import IndexSettings


def connect(settings: IndexSettings, data: Path) -> PostgresIndex:
    """Make the index at `postgresql://host/name`. Raises ConfigError for wrong options."""
    options = read_options(PostgresOptions, settings.options)
    database = PostgresConnections(
        settings.url,
        settings.timeout,
        settings.api_key.get_secret_value(),
        options.connections,
        options.hnsw_ef_search,
    )
    return PostgresIndex(database, options.hnsw, options.shared_chunks)
