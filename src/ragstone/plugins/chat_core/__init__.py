"""The dialect chat-core."""

from ragstone.registry import Extension, Plugin

PLUGIN = Plugin(
    "The dialect chat-core.",
    {"dialects": {"chat_core": Extension(f"{__name__}.routes:router", "/v2/{rag,gpt,pa}/query")}},
)
