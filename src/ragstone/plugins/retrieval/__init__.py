"""Retrieval services: asked instead of the index, and the dialect of their clients."""

from ragstone.registry import Extension, Plugin

_SERVICES = f"{__name__}.external_retriever"

PLUGIN = Plugin(
    "Retrieval services: asked instead of the index, and the dialect of their clients.",
    {
        "dialects": {"retrieval": Extension(f"{__name__}.routes:router", "/api/v1/retrieval/*")},
        "retrievers": {
            "kdb": Extension(
                f"{_SERVICES}:knowledge_base", "A knowledge database that is searched"
            ),
            "retrieval": Extension(f"{_SERVICES}:retrieval_service", "A retrieval service"),
        },
    },
)
