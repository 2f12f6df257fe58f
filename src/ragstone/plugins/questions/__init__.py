"""Questions that a chat model thinks of for each chunk, by which the chunk is found too."""

from ragstone.registry import Extension, Plugin

PLUGIN = Plugin(
    "Questions that a chat model thinks of for each chunk, by which the chunk is found too.",
    {"enrichers": {"questions": Extension(f"{__name__}.maker:open_maker")}},
)
