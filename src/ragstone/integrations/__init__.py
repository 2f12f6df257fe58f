"""Ragstone as a part of other frameworks. Each module needs the package of its framework."""

from typing import Any

from ragstone.core.source import Source


def metadata(source: Source) -> dict[str, Any]:
    """Return what a framework is told of a passage besides its text: the document's metadata, and
    where the passage stands."""
    return {
        **source.metadata,
        "title": source.title,
        "path": source.path,
        "page": source.page,
        "section": list(source.section),
        "score": source.score,
        "document_id": source.document_id,
    }
