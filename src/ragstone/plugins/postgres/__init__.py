"""The state, and the chunk index with pgvector, on PostgreSQL."""

from ragstone.registry import Extension, Plugin

_INDEX = Extension(f"{__name__}.index:connect", "PostgreSQL with pgvector", extra="postgres")

_STATE = Extension(f"{__name__}.state:Postgres", "PostgreSQL", extra="postgres")

PLUGIN = Plugin(
    "The state, and the chunk index with pgvector, on PostgreSQL.",
    {
        "indexes": {"postgresql": _INDEX, "postgres": _INDEX},
        "state_stores": {"postgresql": _STATE, "postgres": _STATE},
    },
)
