"""Makes the index of the settings."""

from pathlib import Path

from ragstone.index.options import read_options
from ragstone.plugins.qdrant.index import QdrantIndex
from ragstone.plugins.qdrant.options import QdrantOptions
from ragstone.settings import IndexSettings


def connect(settings: IndexSettings, data: Path) -> QdrantIndex:
    """Make the index at `http://host:6333`. Raises ConfigError for wrong options."""
    options = read_options(QdrantOptions, settings.options)
    key = settings.api_key.get_secret_value()
    return QdrantIndex(settings.url, key, settings.timeout, options=options)
