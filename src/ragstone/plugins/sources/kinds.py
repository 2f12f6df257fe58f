"""The kinds of sources that a collection can be kept in sync with."""

from ragstone.ports.sources import SourceKind
from ragstone.registry import Registry

SOURCES: Registry[SourceKind] = Registry(  # type: ignore[type-arg]
    "ragstone.sources", "kind of source", {}, is_a=SourceKind
)
"""Kinds of sources by their name."""
