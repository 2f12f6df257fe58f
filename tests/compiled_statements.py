"""Statements of SQLAlchemy that are compiled once for all databases: each engine would compile all
of them anew, an eighth of the time that a test's Ragstone takes."""

from typing import Any

import pytest
from sqlalchemy.engine import Engine
from sqlalchemy.util import LRUCache

MOST = 5_000


class _Shared(LRUCache[Any, Any]):
    """What SQLite's engines have compiled, by the class of their dialect: all of them are made with
    the same options. Those of servers have each their own."""

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(_named(key), default)

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(_named(key), value)


def _named(key: Any) -> Any:
    dialect, *rest = key
    return (type(dialect), *rest) if dialect.name == "sqlite" else key


def compiling_once(patch: pytest.MonkeyPatch) -> None:
    """Engines that are made from now on share what they compile."""
    shared, made = _Shared(MOST), Engine.__init__

    def init(self: Engine, *arguments: Any, **options: Any) -> None:
        made(self, *arguments, **options)
        self._compiled_cache = shared

    patch.setattr(Engine, "__init__", init)
