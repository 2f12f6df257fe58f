"""Makes the index of the settings."""

from pathlib import Path

from ragstone.index.options import read_options
from ragstone.plugins.elasticsearch.index import ElasticsearchIndex
from ragstone.plugins.elasticsearch.options import ElasticsearchOptions
from ragstone.settings import IndexSettings


def connect(settings: IndexSettings, data: Path) -> ElasticsearchIndex:
    """Make the index at `elasticsearch+http://host:9200`. Raises ConfigError for wrong options."""
    options = read_options(ElasticsearchOptions, settings.options)
    url, key = settings.url.partition("+")[2], settings.api_key.get_secret_value()
    return ElasticsearchIndex(url, key, settings.timeout, options=options)
