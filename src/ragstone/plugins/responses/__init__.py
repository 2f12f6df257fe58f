"""OpenAI's Responses API, with files and vector stores."""

from ragstone.registry import Extension, Plugin

PLUGIN = Plugin(
    "OpenAI's Responses API, with files and vector stores.",
    {
        "adapters": {"vector_stores": Extension(f"{__name__}.store:SqlVectorStores.make")},
        "dialects": {
            "responses": Extension(
                f"{__name__}.routes:router", "/v1/responses, /v1/files, /v1/vector_stores"
            )
        },
        "services": {"vector_stores": Extension(f"{__name__}.contract:VECTOR_STORES")},
    },
)
