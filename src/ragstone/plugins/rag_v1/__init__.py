"""The dialect of the RAG engine v1."""

from ragstone.registry import Extension, Plugin

PLUGIN = Plugin(
    "The dialect of the RAG engine v1.",
    {"dialects": {"rag_v1": Extension(f"{__name__}.routes:router", "/api/v1/rag/*")}},
)
