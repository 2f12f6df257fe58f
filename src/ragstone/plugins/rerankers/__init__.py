"""Rerankers beside the bundled one: a server of its own, and the chat model."""

from ragstone.registry import Extension, Plugin

PLUGIN = Plugin(
    "Rerankers beside the bundled one: a server of its own, and the chat model.",
    {
        "rerankers": {
            "endpoint": Extension(
                f"{__name__}.endpoint:open_endpoint", "The server of RERANK__BASE_URL"
            ),
            "llm": Extension(
                f"{__name__}.listwise:open_listwise", "The chat model puts the passages in order"
            ),
        }
    },
)
