"""Conversations and statistics in MongoDB."""

from ragstone.registry import Extension, Plugin

_STORE = Extension(f"{__name__}.store:open_mongo", "MongoDB", extra="mongodb")

PLUGIN = Plugin(
    "Conversations and statistics in MongoDB.",
    {"conversation_stores": {"mongodb": _STORE, "mongodb+srv": _STORE}},
)
