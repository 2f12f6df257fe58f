"""A measure of embedders: `ragstone eval triplets FILE`."""

from collections.abc import Mapping
from pathlib import Path

from ragstone.build import open_embedders
from ragstone.core.errors import InputError
from ragstone.plugins.evaluation.dataset import read_rows, spread
from ragstone.settings import Settings


async def triplets(file: Path, settings: Settings, limit: int | None) -> Mapping[str, float | None]:
    """How often a text is nearer to what says the same than to what does not.

    The file has lines of JSON with `text`, `near` and `far`. The embedder is that of the settings.
    """
    rows = spread(list(read_rows(file)), limit)
    if not all(isinstance(row.get(name), str) for row in rows for name in ("text", "near", "far")):
        raise InputError(f"Every line of {file} needs text, near and far.")
    if not rows:
        return {"rows": 0, "right": None}
    async with open_embedders(settings) as embedders:
        embedder = embedders.choose("en")
        texts, near, far = [
            await embedder.embed_passages([row[name] for row in rows])
            for name in ("text", "near", "far")
        ]
    right = (texts * near).sum(axis=1) > (texts * far).sum(axis=1)
    return {"rows": len(rows), "right": float(right.mean())}
