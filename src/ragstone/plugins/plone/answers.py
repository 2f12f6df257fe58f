"""Answers and jobs in the shapes of the Plone document."""

from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]

STATEMENTS = ("supported", "answers", "wrong_citations", "check_failure", "note")
"""What is said of an answer; left out where there is nothing to say."""


def answer(result: Mapping[str, Any]) -> Object:
    """Return an answered question; `result` is a job's (`jobs.questions.result_of`)."""
    shown = [] if result.get("refused") else result.get("sources", [])
    return {
        "question": str(result.get("question", "")),
        "answer": str(result.get("answer", "")),
        "sources": [_source(item) for item in shown],
        **{name: result[name] for name in STATEMENTS if result.get(name)},
    }


def job(job: Any, question: str, no_answer: str, failure: str) -> Object:
    """Return a job (`service.jobs.JobView`): pending, completed with its answer, or failed; then
    `failure` is the answer that a reader gets."""
    known = {"question": question} if question else {}
    if job.state == "done" and isinstance(job.result, Mapping):
        return {"status": "completed", **answer({**known, **job.result})}
    if getattr(job, "code", "") == "unknown_collection":
        return {"status": "completed", **answer({**known, "answer": no_answer})}
    if job.state in ("done", "failed", "cancelled"):
        error = job.error or "The question was not answered; ask it again."
        told: Object = {"answer": failure, "sources": [], "error": error}
        return {"status": "failed", "job_id": job.id, **known, **told}
    return {"status": "pending", "job_id": job.id, **known}


def _source(source: Mapping[str, Any]) -> Object:
    metadata = source.get("metadata") or {}
    sure = {"confidence": source["relevance"]} if source.get("relevance") else {}
    return {
        "uid": metadata.get("uid", ""),
        "title": source.get("title", ""),
        "path": source.get("path", ""),
        "portal_type": source.get("portal_type") or metadata.get("portal_type", ""),
        "score": source.get("score", 0.0),
        "chunk_index": source.get("chunk_index", 0),
        "snippet": source.get("snippet", ""),
        **sure,
    }
