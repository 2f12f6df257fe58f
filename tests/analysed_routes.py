"""What FastAPI and our contract make of a route, made once for all applications of a run: each
test's server would have 190 routes analysed anew, half of what it takes to start."""

from inspect import Signature
from typing import Any, get_args

import pytest
from fastapi._compat import v2
from pydantic import TypeAdapter

from ragstone.http.admin import operations
from ragstone.service.contract import Operation
from ragstone.service.routes import HttpRoute

MOST = 5_000

# With what is known by its place in memory, or that of another could be taken for it.
_adapters: dict[Any, tuple[Any, TypeAdapter[Any]]] = {}
_signatures: dict[int, tuple[HttpRoute, Signature]] = {}


def analysing_once(patch: pytest.MonkeyPatch) -> None:
    """Applications that are made from now on share the types of their parameters."""
    read_signature = operations._signature

    def find_signature(operation: Operation, route: HttpRoute) -> Signature:
        if id(route) not in _signatures:
            _signatures[id(route)] = route, read_signature(operation, route)
        return _signatures[id(route)][1]

    patch.setattr(operations, "_signature", find_signature)
    patch.setattr(v2, "TypeAdapter", _make_adapter)


def _make_adapter(kind: Any, *, config: Any = None) -> TypeAdapter[Any]:
    """Return the adapter of an annotated type; its annotations are compared as they read."""
    base, *notes = get_args(kind)
    if config is not None:
        return TypeAdapter(kind, config=config)
    key = base, *map(repr, notes)
    if key not in _adapters:
        if len(_adapters) >= MOST:
            _adapters.clear()  # Of bodies that an application makes for itself.
        _adapters[key] = kind, TypeAdapter(kind)
    return _adapters[key][1]
