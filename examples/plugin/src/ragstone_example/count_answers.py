"""A kind of job: asks the questions of its request, and counts those that are answered."""

from typing import Any

from ragstone.core.events import Done
from ragstone.core.turn import Ask, Principal
from ragstone.jobs.runner import Report, Work
from ragstone.local.added import WorkParts
from ragstone.ports.jobs import Job


def count_answers(parts: WorkParts) -> Work:
    """Counts how many of several questions are answered."""

    async def work(job: Job, report: Report) -> dict[str, Any]:
        answered = 0
        for question in job.request["questions"]:
            ask = Ask(question, principal=Principal(job.tenant, job.user))
            async for event in parts.answers.events(ask):
                if isinstance(event, Done) and event.turn.answer:
                    answered += not event.turn.answer.refused
        return {"answered": answered}

    return work
