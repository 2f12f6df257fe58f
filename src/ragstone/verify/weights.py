"""The weights that the scripts of `training` have made for verdicts."""

import json
from functools import cache
from importlib.resources import files


@cache
def load_weights(file: str, names: tuple[str, ...]) -> tuple[float, ...]:
    """Return the weights of `names` in the shipped JSON file."""
    text = files("ragstone.verify").joinpath(f"data/{file}").read_text(encoding="utf-8")
    held = json.loads(text)
    return tuple(float(held[name]) for name in names)
