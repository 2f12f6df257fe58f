"""The dialect of retrieval services."""

from ragstone.registry import Extension, Plugin

PLUGIN = Plugin(
    "The dialect of retrieval services.",
    {"dialects": {"retrieval": Extension(f"{__name__}.routes:router", "/api/v1/retrieval/*")}},
)
