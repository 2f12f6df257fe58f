"""Jobs that take two looks to end: what the Plone dialect needs of them."""

from dataclasses import dataclass, field, replace
from typing import Any

from ragstone.core.turn import Ask, Principal


@dataclass(frozen=True)
class PloneJob:
    """As much of a job as dialects look at."""

    id: str
    state: str
    result: dict[str, Any] | None = None
    error: str = ""
    code: str = ""
    progress: dict[str, Any] = field(default_factory=dict)


class PloneJobs:
    """Answers a question when it is asked for the second time; 'broken' and 'nowhere' fail."""

    def __init__(self) -> None:
        self.asked: list[Ask] = []
        self._mine: dict[tuple[str, Principal], PloneJob] = {}

    async def ask(self, ask: Ask) -> PloneJob:
        self.asked.append(ask)
        job = PloneJob(f"ragask_{ask.question.split()[0].lower()}", "queued")
        return self._mine.setdefault((job.id, ask.principal), job)

    async def get(self, principal: Principal, id: str, *, admin: bool = False) -> PloneJob | None:
        job = self._mine.get((id, principal))
        if job is None or job.state != "queued":
            return job
        self._mine[id, principal] = replace(job, state="done", result=RESULT)
        if "broken" in id:
            failed = replace(job, state="failed", error="It broke.", code="model_unavailable")
            self._mine[id, principal] = failed
        if "nowhere" in id:
            failed = replace(job, state="failed", error="None.", code="unknown_collection")
            self._mine[id, principal] = failed
        return job


RESULT: dict[str, Any] = {
    "question": "What are the opening hours?",
    "answer": "Based on the information, from nine. [1]",
    "finish": "stop",
    "refused": False,
    "sources": [
        {
            "title": "Contact",
            "path": "/contact",
            "portal_type": "Contact",
            "score": 0.92,
            "chunk_index": 0,
            "snippet": "Opening hours: Monday to Friday...",
            "metadata": {"portal_type": "Contact", "uid": "u1"},
        }
    ],
}
