"""Fields of routes whose validators are built once: each application would build all of them anew,
half of the time that making one takes."""

from typing import Any

import pytest
from fastapi._compat import v2
from pydantic import TypeAdapter

MOST = 5_000


def remembering_fields(patch: pytest.MonkeyPatch) -> None:
    """Applications that are made from now on share the validators of equal fields."""
    built: dict[Any, TypeAdapter[Any]] = {}

    def adapter(kind: Any, *, config: Any = None) -> TypeAdapter[Any]:
        key = (kind.__origin__, repr(kind.__metadata__), repr(config))
        if key not in built:
            if len(built) >= MOST:
                built.clear()
            built[key] = TypeAdapter(kind, config=config)
        return built[key]

    patch.setattr(v2, "TypeAdapter", adapter)
