"""A chat model from a GGUF file, run by llama.cpp in this process."""

from ragstone.registry import Extension, Plugin

PLUGIN = Plugin(
    "A chat model from a GGUF file, run by llama.cpp in this process.",
    {
        "chat_models": {
            "gguf": Extension(f"{__name__}.model:GgufModel", "A GGUF file, as LLM__MODEL")
        }
    },
)
