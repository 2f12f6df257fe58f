"""Passages as other systems write them, and as ours: chat-core's knowledge base (KDB) and
VoiceHelper's retrieval service."""

from collections.abc import Iterable
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from ragstone.core.answer import GeneratedAnswer
from ragstone.core.chunk import Chunk
from ragstone.core.source import Source, citation_sources, describe_source
from ragstone.core.turn import Ask, Hit, Turn


def from_kdb(row: Any, ask: Ask, place: int) -> Hit:
    """Return a result of the knowledge base; raises KeyError, TypeError, ValueError or
    AttributeError for what is none. `place` is its rank, from 0."""
    return foreign_hit(
        ask, place, str(row["p_id"]), row["context"], row["score"], row["metadatas"] or {}
    )


def to_kdb(source: Source) -> dict[str, Any]:
    """Return a passage as the knowledge base returns it."""
    return {
        "p_id": source.chunk_id,
        "context": source.text,
        "score": source.score,
        "metadatas": {
            **source.metadata,
            "file_name": source.filename,
            "paragraph_type": source.kind,
        },
    }


def references(turn: Turn) -> list[dict[str, Any]]:
    """Return the sources that the answer cites, by number, as results of the knowledge base with
    what is known of each besides: they are sent and stored alike."""
    return [
        {**to_kdb(source), **describe_source(source)}
        for source in citation_sources((turn.answer or GeneratedAnswer()).citations, turn.passages)
    ]


def foreign_hit(
    ask: Ask, place: int, chunk_id: str, text: str, score: float, metadata: dict[str, Any]
) -> Hit:
    """Return a passage that no index of ours holds, for this question."""
    name = str(metadata.get("file_name") or metadata.get("filename") or chunk_id)
    page = metadata.get("page")
    chunk = Chunk(
        chunk_id=chunk_id,
        document_id=str(metadata.get("document_id") or uuid5(NAMESPACE_URL, name)),
        version=1,
        chunk_index=place,
        text=str(text),
        title=str(metadata.get("title") or name),
        path=str(metadata.get("path") or f"/{name}"),
        tenant=ask.principal.tenant,
        collection=ask.collection,
        start=0,
        end=len(str(text)),
        page=page if isinstance(page, int) else None,
        kind=str(metadata.get("paragraph_type") or "normal"),
        metadata=dict(metadata),
    )
    return Hit(chunk, min(1.0, max(0.0, float(score))))


def keep_best(hits: Iterable[Hit]) -> list[Hit]:
    """Return each passage once, with its best score, best first."""
    best: dict[str, Hit] = {}
    for hit in hits:
        known = best.get(hit.chunk.chunk_id)
        if known is None or hit.score > known.score:
            best[hit.chunk.chunk_id] = hit
    return sorted(best.values(), key=lambda hit: -hit.score)
