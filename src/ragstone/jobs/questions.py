"""Asynchronous questions: which are the same job, and the finished answer as JSON."""

import hashlib
import json
from dataclasses import replace
from typing import Any, Protocol

from ragstone.core.answer import GeneratedAnswer
from ragstone.core.conversation import turn_origin
from ragstone.core.source import Source, sources
from ragstone.core.turn import Ask, Turn
from ragstone.ports.jobs import Job
from ragstone.service import wire
from ragstone.service.jobs import ASK

PREFIX = "ragask_"
CREDENTIAL = "credential"
"""Where a job's request names the credential that its question counts for."""
ORIGIN = "origin"
"""Where a job's result keeps what it was answered from (`Provenance.text`); nobody is shown it."""
DOCUMENTS = "documents"
"""Where it keeps the ids of the documents of its passages; nobody is shown it."""
ID_DIGITS = 32


class Answers(Protocol):
    """Answers questions (`engine.Engine`)."""

    async def answer(self, ask: Ask) -> Turn: ...


def question_id(ask: Ask) -> str:
    """`ragask_` and a hash of the question, of who may read what, and of all that the answer
    depends on: collection, filter (which holds the path), level, history and options."""
    said = wire.dump(replace(ask, id="", question=" ".join(ask.question.split())))
    said["collection"] = said.pop("collection_id") or said["collection"]
    del said["idempotent"], said["streams"]
    said["principal"]["groups"] = sorted(set(ask.principal.groups))
    text = json.dumps(said, sort_keys=True, separators=(",", ":"))
    return PREFIX + hashlib.sha256(text.encode()).hexdigest()[:ID_DIGITS]


def format_request(ask: Ask) -> dict[str, Any]:
    """Return the question as a job keeps it."""
    return {ASK: wire.dump(ask)}


async def answer(answers: Answers, job: Job) -> dict[str, Any]:
    """Answer the question of a job. Attempts that died with their process have the ask id of the
    one that repeats them, so what they kept is not kept twice."""
    ask = replace(wire.load(Ask, job.request[ASK]), collection_id=job.collection)
    id = f"{job.id}.{job.created_at:.6f}.{job.attempts - job.deaths}"
    turn = await answers.answer(replace(ask, id=id, idempotent=True))
    return {**format_result(turn), ORIGIN: turn_origin(turn).text, DOCUMENTS: list_documents(turn)}


def list_documents(turn: Turn) -> list[str]:
    """The documents that a turn was answered from; none where they are not of a collection here."""
    if turn.collection is None:
        return []
    hits = (*turn.hits, *(passage.hit for passage in turn.passages))
    return sorted({hit.chunk.document_id for hit in hits})


def format_result(turn: Turn) -> dict[str, Any]:
    """Return a finished answer: its text, cost, sources and notes."""
    answer = turn.answer or GeneratedAnswer()
    return {
        "question": turn.ask.question,
        "answer": answer.text,
        "finish": answer.finish,
        "model": answer.model,
        "usage": wire.dump(turn.usage),
        **wire.format_answer(turn),
        "sources": [result_source(source) for source in sources(turn)],
    }


def result_source(source: Source) -> dict[str, Any]:
    """Return a source as in JSON answers, with the metadata of its document."""
    return {
        **wire.source(source),
        "chunk_index": source.chunk_index,
        "portal_type": source.metadata.get("portal_type"),
        "relevance": source.relevance,
        "metadata": dict(source.metadata),
    }
