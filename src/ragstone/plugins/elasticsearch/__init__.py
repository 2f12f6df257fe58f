"""The chunk index on Elasticsearch."""

from ragstone.registry import Extension, Plugin

_INDEX = Extension(f"{__name__}.index:connect", "Elasticsearch")

PLUGIN = Plugin(
    "The chunk index on Elasticsearch.",
    {"indexes": {"elasticsearch+http": _INDEX, "elasticsearch+https": _INDEX}},
)
