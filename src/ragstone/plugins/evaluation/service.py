"""Evaluation in this process: sets and runs on the port, questions as jobs."""

import asyncio
import hashlib
import json
from collections.abc import Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import Any
from uuid import uuid4

from ragstone.access.asking import ASKING, check_everywhere, check_known, current_reader, limit_key
from ragstone.conversation.reach import select_readable
from ragstone.core.caller import Caller
from ragstone.core.clock import state_time
from ragstone.core.conversation import turn_origin
from ragstone.core.errors import (
    InputError,
    JobEnded,
    RagstoneError,
    TooManyRequests,
    Unavailable,
    UnknownCollection,
    UnknownJob,
    UnknownQuestionSet,
    UnknownRun,
)
from ragstone.core.events import Done, Failed
from ragstone.core.limits import check_ask
from ragstone.core.readers import Provenance
from ragstone.core.turn import Ask, Principal, Turn
from ragstone.jobs.runner import Report, Work
from ragstone.local.added import Answering, ServiceParts, WorkParts
from ragstone.local.jobs import PRIORITIES, LocalJobs
from ragstone.plugins.evaluation.contract import (
    MAX_SETTINGS,
    AskSetting,
    EvaluationRun,
    Outcome,
    OutcomeChange,
    QuestionSet,
    SetQuestion,
    Which,
)
from ragstone.plugins.evaluation.sets import judging, measuring, reading, reporting
from ragstone.plugins.evaluation.store import SqlEvaluations, StoredRun
from ragstone.ports import Adapters, Catalog
from ragstone.ports.jobs import Job

QUESTION_SET = "question_set"
"""The kind of a run's job."""
RUN, CREDENTIAL, REACH = "run", "credential", "reach"
"""Where a job's request names its run, the credential that it counts for, and the names of the
collections that this one reaches."""

MAX_IN_REPORT = 500
"""Wrong answers that a report shows with how they came about."""


class LocalEvaluation:
    """`service.evaluation.EvaluationService` on the ports. `priority` is that of the jobs."""

    def __init__(self, adapters: Adapters, jobs: LocalJobs, priority: int) -> None:
        self._adapters = adapters
        self._store = SqlEvaluations.of(adapters)
        self._jobs = jobs
        self._priority = priority

    async def sets(self, principal: Principal) -> list[QuestionSet]:
        check_known()
        found = await self._store.sets(principal)
        names = await self._names(principal, [item.collection for item in found])
        return [
            replace(item, collection=names[item.collection])
            for item in found
            if self._is_reached(names.get(item.collection))
        ]

    async def question_set(self, principal: Principal, id: str) -> QuestionSet:
        check_known()
        found = await self._store.question_set(principal, id)
        name = await self._reached_name(principal, found.collection) if found else None
        if found is None or name is None:
            raise UnknownQuestionSet(id)
        return replace(found, collection=name)

    async def put_set(
        self, principal: Principal, collection: str, name: str, questions: Sequence[SetQuestion]
    ) -> QuestionSet:
        check_known()
        kept = reading.check_questions(questions)
        title = " ".join(name.split())
        if not title or not title.isprintable():
            raise InputError("The name of a set has at least one character, and only visible ones.")
        known = await self._adapters.catalog.collection(principal.tenant, collection)
        if known is None:
            raise UnknownCollection(collection)
        id = _set_id(principal, known.id, title)
        made = QuestionSet(id, title, known.id, len(kept), state_time(), tuple(kept))
        await self._store.put_set(principal, made)
        return replace(made, collection=known.name)

    async def remove_set(self, principal: Principal, id: str) -> None:
        await self.question_set(principal, id)
        await self._store.remove_set(principal, id)

    async def read_file(self, principal: Principal, text: str) -> list[SetQuestion]:
        # A file of megabytes: the other requests go on meanwhile.
        return await asyncio.to_thread(reading.questions, text)

    async def from_feedback(
        self, principal: Principal, about: str, limit: int = 500
    ) -> list[SetQuestion]:
        check_everywhere()
        given = await self._adapters.feedback.latest(principal.tenant, limit)
        found: dict[str, SetQuestion] = {}
        for item in given:
            if item.collection != about or not item.question.strip():
                continue
            text = " ".join(item.question.split())
            known = found.get(text, SetQuestion(text))
            # The newest of each kind counts; several people may have judged one question.
            if item.thumb == "up" and not known.liked:
                known = replace(known, liked=item.answer)
            if item.thumb == "down" and not known.disliked:
                known = replace(known, disliked=item.answer)
            comments = (known.comment, item.comment)
            found[text] = replace(known, comment="\n".join(filter(None, comments)))
        return list(found.values())

    async def start(
        self, principal: Principal, id: str, settings: Sequence[AskSetting]
    ) -> EvaluationRun:
        given = await self.question_set(principal, id)
        chosen = _name_settings(settings)
        for setting in chosen:
            check_ask(_ask(setting, "?", Principal(), "", ""))
        known = await self._adapters.catalog.collection(principal.tenant, given.collection)
        if known is None:
            raise UnknownCollection(given.collection)
        run = EvaluationRun(
            id=uuid4().hex,
            set_id=given.id,
            set_name=given.name,
            collection=known.id,
            settings=chosen,
            started_at=state_time(),
            total=len(given.questions) * len(chosen),
        )
        await self._store.begin(principal, StoredRun(run, given))
        request = {
            RUN: run.id,
            "collection": known.name,
            CREDENTIAL: limit_key(ASKING.get()),
            REACH: None if principal.collections is None else [known.name],
        }
        try:
            await self._jobs.submit(
                QUESTION_SET, request, principal=principal, priority=self._priority, id=run.id
            )
        except RagstoneError:
            await self._store.remove_run(principal, run.id)
            raise
        return replace(run, collection=known.name)

    async def runs(
        self, principal: Principal, set_id: str = "", limit: int = 50
    ) -> list[EvaluationRun]:
        check_known()
        found = await self._store.runs(principal, set_id, limit)
        names = await self._names(principal, [run.collection for run in found])
        return [
            await self._as_it_is(principal, run, names[run.collection])
            for run in found
            if self._is_reached(names.get(run.collection))
        ]

    async def run(self, principal: Principal, id: str) -> EvaluationRun:
        stored, name = await self._known_run(principal, id)
        return await self._as_it_is(principal, stored.run, name)

    async def outcomes(
        self,
        principal: Principal,
        id: str,
        *,
        which: Which = "all",
        setting: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Outcome]:
        await self._known_run(principal, id)
        found = await self._store.outcomes(id, setting, which == "wrong", limit, offset)
        return await self._readable(principal, found)

    async def changes(self, principal: Principal, id: str, earlier: str) -> list[OutcomeChange]:
        after, _ = await self._known_run(principal, id)
        before, _ = await self._known_run(principal, earlier)
        return measuring.changes(
            await self._readable(principal, await self._store.outcomes(earlier)),
            await self._readable(principal, await self._store.outcomes(id)),
            before.run.settings,
            after.run.settings,
        )

    async def report(self, principal: Principal, id: str, earlier: str = "") -> str:
        run = await self.run(principal, id)
        before = await self.run(principal, earlier) if earlier else None
        changed = await self.changes(principal, id, earlier) if earlier else []
        wrong = await self._store.outcomes(id, wrong=True, limit=MAX_IN_REPORT)
        history = await self.runs(principal, run.set_id)
        return reporting.page(run, await self._readable(principal, wrong), before, changed, history)

    async def remove_run(self, principal: Principal, id: str) -> None:
        await self._known_run(principal, id)
        with suppress(JobEnded, UnknownJob):  # It has ended already, perhaps long ago.
            await self._jobs.cancel(principal, id)
        await self._store.remove_run(principal, id)

    async def _known_run(self, principal: Principal, id: str) -> tuple[StoredRun, str]:
        """Return a run, and the name of its collection."""
        check_known()
        stored = await self._store.run(principal, id)
        name = await self._reached_name(principal, stored.run.collection) if stored else None
        if stored is None or name is None:
            raise UnknownRun(id)
        return stored, name

    async def _as_it_is(self, principal: Principal, run: EvaluationRun, name: str) -> EvaluationRun:
        """A run with the state of its job; one whose job is forgotten did not come to its end."""
        run = replace(run, collection=name)
        if run.ended_at is not None:
            return run
        job = await self._jobs.get(principal, run.id)
        if job is None:
            return replace(run, state="cancelled")
        # The outcomes are all there a moment before the job says so.
        state = "running" if job.state == "done" else job.state
        return replace(run, state=state, error=job.error)

    async def _readable(
        self, principal: Principal, found: Sequence[tuple[Outcome, str]]
    ) -> list[Outcome]:
        """Return the outcomes that were made of nothing that who asks may not read now."""
        origins = list({origin for _, origin in found})
        mine = await select_readable(
            origins, current_reader(), self._adapters.catalog, principal.tenant
        )
        return [item for item, origin in found if mine is None or origin in mine]

    async def _names(self, principal: Principal, ids: Sequence[str]) -> dict[str, str]:
        return dict(await self._adapters.catalog.names(principal.tenant, set(ids))) if ids else {}

    async def _reached_name(self, principal: Principal, id: str) -> str | None:
        name = (await self._names(principal, [id])).get(id)
        return name if self._is_reached(name) else None

    def _is_reached(self, name: str | None) -> bool:
        reached = current_reader().collections
        return name is not None and (reached is None or name in reached)


def open_service(parts: ServiceParts) -> LocalEvaluation:
    """Make the operations of this process."""
    return LocalEvaluation(parts.adapters, parts.jobs, PRIORITIES["evaluation"])


def question_set_work(parts: WorkParts) -> Work:
    """Make the work of the jobs that ask a set of questions."""
    return ask_all(parts.answers, SqlEvaluations.of(parts.adapters), parts.adapters.catalog)


def ask_all(answers: Answering, store: SqlEvaluations, catalog: Catalog) -> Work:
    """Return what a job of the kind does: ask what was not asked yet, then measure all of it."""

    async def work(job: Job, report: Report) -> dict[str, Any]:
        reach = job.request[REACH]
        collections = None if reach is None else tuple(reach)
        whose = Principal(job.tenant, job.user, tuple(job.groups), collections)
        # Each question counts for who began the run, and waits with the others of that credential.
        ASKING.set(Caller(whose, "reader", collections, str(job.request[CREDENTIAL])))
        stored = await store.run(whose, str(job.request[RUN]))
        if stored is None:
            raise UnknownRun(str(job.request[RUN]))
        collection = await catalog.find_by_id(job.tenant, job.collection)
        if collection is None:
            raise UnknownCollection(str(job.request["collection"]))
        known = {(item.number, item.setting) for item, _ in await store.outcomes(stored.run.id)}
        total = stored.run.total
        for number, question in enumerate(stored.questions.questions):
            for place, setting in enumerate(stored.run.settings):
                if (number, place) in known:
                    continue
                report({"share": len(known) / total, "asked": len(known), "total": total})
                # The credential's reach names the collection as it was called at the start.
                name = reach[0] if reach else collection.name
                ask = _ask(setting, question.question, whose, name, collection.id)
                outcome, origin = await _ask_question(answers, ask, number, place, question)
                await store.keep(stored.run.id, outcome, origin)
                known.add((number, place))
        outcomes = [item for item, _ in await store.outcomes(stored.run.id)]
        figures = measuring.figures(stored.run.settings, outcomes)
        await store.end(whose, stored.run.id, state_time(), figures)
        return {"asked": len(outcomes)}

    return work


async def _ask_question(
    answers: Answering, ask: Ask, number: int, setting: int, question: SetQuestion
) -> tuple[Outcome, str]:
    """Return what came of a question, and what it was answered from. Raises what may pass: the job
    is tried again then."""
    turn = Turn(ask)
    try:
        async with aclosing(answers.events(ask)) as events:
            async for event in events:
                if isinstance(event, Failed):
                    turn = event.turn
                    raise event.error
                if isinstance(event, Done):
                    turn = event.turn
    except (TooManyRequests, Unavailable):
        raise
    except RagstoneError as error:
        origin = Provenance((ask.collection_id,)).text
        return judging.build_failed_outcome(number, setting, question, error.message), origin
    return judging.outcome(number, setting, question, turn), turn_origin(turn).text


def _ask(
    setting: AskSetting, question: str, whose: Principal, collection: str, collection_id: str
) -> Ask:
    return Ask(
        question,
        principal=whose,
        collection=collection or "default",
        collection_id=collection_id,
        level=setting.level,
        prefer=setting.prefer,
        mode=setting.mode,
        strategy=setting.strategy,
        top_k=setting.top_k,
        wanted=setting.wanted,
        reasons=setting.reasons,
        verifies=setting.verifies,
        votes=setting.votes,
        cache=False,
        keeps=False,
    )


def _name_settings(settings: Sequence[AskSetting]) -> tuple[AskSetting, ...]:
    """Return the settings with the names by which they are told apart; raises InputError."""
    if len(settings) > MAX_SETTINGS:
        raise InputError(f"A run compares at most {MAX_SETTINGS} settings; leave some out.")
    chosen = tuple(
        replace(setting, name=" ".join(setting.name.split())[:80] or describe_setting(setting))
        for setting in settings or (AskSetting(),)
    )
    names = [item.name for item in chosen]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"Two settings are called {twice!r}. Give each a name of its own.")
    return chosen


def describe_setting(setting: AskSetting) -> str:
    """Return a setting in words: what it asks for otherwise than is planned."""
    given = {
        "prefer": setting.prefer,
        "mode": setting.mode,
        "strategy": setting.strategy,
        "top_k": setting.top_k,
        "reasons": setting.reasons,
        "verifies": setting.verifies,
        "votes": setting.votes,
        **{name: getattr(setting.wanted, name) for name in setting.wanted.__slots__},
    }
    said = [f"{name} {value}" for name, value in given.items() if value is not None]
    return ", ".join([setting.level, *said])


def _set_id(principal: Principal, collection: str, name: str) -> str:
    """Return the same for the same name about the same collection: another one takes its place."""
    text = json.dumps([principal.tenant, principal.user, collection, name])
    return hashlib.sha256(text.encode()).hexdigest()[:32]
