"""The chunk index on PostgreSQL with pgvector."""

from ragstone.registry import Extension, Plugin

_INDEX = Extension(f"{__name__}.connect:connect", "PostgreSQL with pgvector", extra="postgres")

PLUGIN = Plugin(
    "The chunk index on PostgreSQL with pgvector.",
    {"indexes": {"postgresql": _INDEX, "postgres": _INDEX}},
)
