"""Models that a setting names: a folder, an installed package, or a repository of a hub.

`places` finds the folder, `hub` fetches it, `layout` reads what it says of itself, `text_model`
runs it; `embedder`, `pair_model`, `relevance` and `nli` are what it is used for. Only JSON and ONNX
files are read: nothing in a folder is run as code.
"""
