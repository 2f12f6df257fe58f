"""Sources that are kept in sync with a collection: their kinds, and a run of one."""

from ragstone.ports.sources import SourceKind
from ragstone.registry import Extension, Registry

SOURCES: Registry[SourceKind] = Registry(  # type: ignore[type-arg]
    "ragstone.sources",
    "kind of source",
    {"folder": Extension(f"{__name__}.folder:FOLDER")},
    is_a=SourceKind,
)
"""Kinds of sources by their name."""
