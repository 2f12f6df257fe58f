"""Answers and jobs in the shapes of the Plone document."""

from collections.abc import Mapping
from typing import Any

from ragstone.core.turn import Passage
from ragstone.service.wire import SNIPPET_CHARS

Object = dict[str, Any]


def source(passage: Passage) -> Object:
    """A source of an answer."""
    chunk = passage.hit.chunk
    return {
        "title": chunk.title,
        "path": chunk.path,
        "portal_type": str(chunk.metadata.get("portal_type", "")),
        "score": passage.hit.score,
        "chunk_index": chunk.chunk_index,
        "snippet": passage.text[:SNIPPET_CHARS],
    }


def job(job: Any, question: str, no_answer: str) -> Object:
    """A job (`service.jobs.JobView`): pending, completed with its answer, or failed."""
    result = job.result
    if job.state == "done" and isinstance(result, Mapping):
        shown = [] if result.get("refused") else result.get("sources", [])
        return _completed(
            str(result.get("question", question)),
            str(result.get("answer", "")),
            [_listed(one) for one in shown],
        )
    if getattr(job, "code", "") == "unknown_collection":
        return _completed(_question(job, question), no_answer, [])
    if job.state in ("done", "failed", "cancelled"):
        error = job.error or "The question was not answered; ask it again."
        return {"status": "failed", "job_id": job.id, **_asked(job, question), "error": error}
    return {"status": "pending", "job_id": job.id, **_asked(job, question)}


def _completed(question: str, answer: str, sources: list[Object]) -> Object:
    return {"status": "completed", "question": question, "answer": answer, "sources": sources}


def _listed(source: Mapping[str, Any]) -> Object:
    metadata = source.get("metadata") or {}
    return {
        "title": source.get("title", ""),
        "path": source.get("path", ""),
        "portal_type": source.get("portal_type") or metadata.get("portal_type", ""),
        "score": source.get("score", 0.0),
        "chunk_index": source.get("chunk_index", 0),
        "snippet": source.get("snippet", ""),
    }


def _question(job: Any, question: str) -> str:
    return question or str(job.progress.get("question", ""))


def _asked(job: Any, question: str) -> Object:
    known = _question(job, question)
    return {"question": known} if known else {}
