"""A chunk index that lies in a folder of its own: INDEX__URL=folder:/var/lib/index."""

from pathlib import Path

from ragstone.core.errors import ConfigError
from ragstone.index.connect import OpenIndex
from ragstone.index.edge.index import EdgeIndex
from ragstone.settings import IndexSettings


def folder_index(settings: IndexSettings, data: Path) -> OpenIndex:
    """Qdrant Edge in the folder of the address, instead of the data directory."""
    folder = Path(settings.url.partition(":")[2])
    if not folder.is_absolute():
        raise ConfigError("INDEX__URL needs a whole path, as in folder:/var/lib/index.")
    return EdgeIndex(folder)
