"""The chunk index on a Qdrant server or cluster."""

from ragstone.registry import Extension, Plugin

_INDEX = Extension(f"{__name__}.index:connect_index", "A Qdrant server or cluster", extra="qdrant")

PLUGIN = Plugin(
    "The chunk index on a Qdrant server or cluster.", {"indexes": {"http": _INDEX, "https": _INDEX}}
)
