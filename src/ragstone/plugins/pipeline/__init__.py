"""The dialect of the query pipeline."""

from ragstone.registry import Extension, Plugin

PLUGIN = Plugin(
    "The dialect of the query pipeline.",
    {"dialects": {"pipeline": Extension(f"{__name__}.routes:router", "/api/chat/completions")}},
)
