"""Models that a setting names: a folder, an installed package, or a repository of a hub.

`places` finds the folder, `hub` fetches it, `layout` reads what it says of itself, `text_model`
runs it; `embedder`, `late_embedder`, `cross_encoder` and `reader` are what it is used for. Only
JSON and ONNX files are read: nothing in a folder is run as code.
"""

from ragstone.registry import Extension, Plugin

PLUGIN = Plugin(
    "Models for search by their folder, package or name at a hub.",
    {
        "named_models": {
            "onnx": Extension(f"{__name__}.opening:OnnxModels", "ONNX models, run in this process")
        }
    },
)
