"""The dialect of chats with documents of their own."""

from ragstone.registry import Extension, Plugin

PLUGIN = Plugin(
    "The dialect of chats with documents of their own.",
    {"dialects": {"chats": Extension(f"{__name__}.routes:router", "/chat/{chat_id}/*")}},
)
