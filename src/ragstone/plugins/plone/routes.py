"""Plone's services `@rag-ask`, `@rag-status`, `@rag-index` and `@rag-index-all`, below any path of
a site.

Answers and jobs in the shapes of the Plone document.

Records of a Plone site's registry as settings of its collection.
"""

import asyncio
import uuid
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.routing import APIRoute
from pydantic import Field
from starlette.responses import Response

from ragstone.access.asking import ASKING
from ragstone.access.gate import check_named
from ragstone.core.caller import GUEST, Caller
from ragstone.core.errors import (
    ConfigError,
    InputError,
    RagstoneError,
    Unauthorized,
    Unavailable,
    UnknownCollection,
)
from ragstone.core.filters import path_filter
from ragstone.core.source import passage_sources
from ragstone.core.turn import Ask, Principal
from ragstone.http.bodies import StrictBody, Text
from ragstone.http.dialects import DialectParts
from ragstone.http.identity import (
    Who,
    at_least,
    check_role,
    for_guests,
    for_visitors,
    narrow_principal,
    open_to_all,
)
from ragstone.http.responses import Json, Refusal, json_unless_left
from ragstone.http.streaming import finish_turn, or_refusal
from ragstone.jobs.questions import format_result, result_source
from ragstone.language.language import detect, no_answer
from ragstone.plugins.plone.names import AUTHENTICATED, filter_path
from ragstone.plugins.plone.settings import PloneSettings
from ragstone.plugins.plone.site import PloneSite
from ragstone.plugins.plone.visitors import SiteSettings, VisitorCall, site_settings, visitor_call
from ragstone.plugins.plone.visitors import visitor_caller as visiting
from ragstone.service import Service
from ragstone.service.jobs import JobsService
from ragstone.service.settings import SettingsService
from ragstone.settings import Settings
from ragstone.settings.scope import of_collection

PREFIX = "wcs.backend."
TAKEN = {
    "rag_no_answer_message": f"{PREFIX}rag_no_answer_message",
    "rag_llm_temperature": f"{PREFIX}rag_llm_temperature",
    "rag_llm_max_tokens": f"{PREFIX}rag_llm_max_tokens",
    "rag_boost_bm25": f"{PREFIX}rag_boost_bm25",
    "rag_boost_knn": f"{PREFIX}rag_boost_knn",
    "rag_title_boost_factor": f"{PREFIX}rag_title_boost_factor",
    "rag_score_high_threshold": f"{PREFIX}rag_score_high_threshold",
    "rag_score_medium_threshold": f"{PREFIX}rag_score_medium_threshold",
    "rag_top_k": "RAG_TOP_K",
    "rag_num_candidates": "RAG_NUM_CANDIDATES",
    "rag_max_context_length": "RAG_MAX_CONTEXT_LENGTH",
}
"""The records that a site may set, and the setting's name in Plone's document. The others are the
site's own (its types, its prompt, its message of failures), or the server's (models, chunks)."""


async def put_records(
    service: SettingsService, settings: Settings, given: SiteSettings
) -> dict[str, Any]:
    """Set the records for the site's collection, all or, if one cannot be, none of those with a
    value; raises InputError, InvalidSetting."""
    unknown = sorted(set(given.records) - set(TAKEN))
    if unknown:
        raise InputError(f"records: {unknown[0][:100]!r} is none that a site may set.")
    plone = PloneSettings.of(settings)
    scope, who = of_collection(plone.tenant, plone.collection), "plone"
    values = {TAKEN[item]: value for item, value in given.records.items() if value is not None}
    empty = [TAKEN[item] for item, value in given.records.items() if value is None]
    changed = []
    if values:
        changed += await service.put(scope, values, who)
    if empty:
        changed += await service.unset(scope, empty, who)
    return {"status": "taken", "settings": {item.key: item.value for item in changed}}


Object = dict[str, Any]


_TYPES = {
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
}
"""How Plone calls errors of these statuses."""


class PloneRoute(APIRoute):
    """A route whose errors plone.restapi's clients can read, with ours beside them."""

    @staticmethod
    def format_refusal(refusal: Refusal) -> Response:
        """Return the refusal, with the site's own message where an answer could not be made."""
        error = refusal.error
        if isinstance(error, ConfigError):
            refusal = replace(refusal, status=503)
        if isinstance(error, AnswerFailed):
            cause = error.cause
            detail = Refusal(cause.status, cause.message, cause.code, cause.retry)
            return _format_error(replace(detail, headers=refusal.headers), error.message)
        return _format_error(refusal)


def _format_error(refusal: Refusal, said: str = "") -> Json:
    """An error that plone.restapi's clients can read, with ours beside it. What is wrong with a
    request is a bad request there. `said` is the message for readers, if it is another one."""
    status = 400 if refusal.status == 422 else refusal.status
    kind = "InternalServerError" if status >= 500 else _TYPES.get(status, "BadRequest")
    body = {"type": kind, "message": said or refusal.message, "error": refusal.body}
    return Json(body, status, refusal.headers)


class AnswerFailed(Unavailable):
    """An answer could not be made: the message is for who asked, the `cause` for who runs this."""

    def __init__(self, message: str, cause: RagstoneError) -> None:
        super().__init__(message, getattr(cause, "retry_after", None))
        self.cause = cause


class AskRequest(StrictBody):
    """The body of POST @rag-ask."""

    question: Text = Field(min_length=1, max_length=5000)
    path: Text | None = Field(None, max_length=2000, description="Only content below this path.")
    sync: bool = Field(False, description="Answer at once, for users who are logged in.")


class IndexRequest(StrictBody):
    """The body of POST @rag-index."""

    uid: Text = Field(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9_-]+$")
    queue: bool = Field(True, alias="async", description="Whether to return before it is indexed.")


class Questions:
    """Asks the service in Plone's terms."""

    def __init__(self, service: Service, settings: Settings) -> None:
        self._service = service
        self._settings = settings
        self._plone = PloneSettings.of(settings)

    def ask(self, body: AskRequest, asked_at: str, caller: Caller) -> Ask:
        """Return the question; raises InputError, Unauthorized, UnknownCollection."""
        plone = self._plone
        path = filter_path(body.path or "", asked_at, plone.url)
        return self.ask_below(path, body.question, body.sync, caller)

    def ask_below(
        self, path: str, question: str, sync: bool, caller: Caller, guidance: str = ""
    ) -> Ask:
        """Return the same for a path below the site; `guidance` is the site's own prompt."""
        check_enabled(self._settings)
        if not question.strip():
            raise InputError("question: it is empty; write what you want to know.")
        principal = as_plone(caller)
        if sync and not principal.user:
            raise Unauthorized("Only users who are logged in may ask with sync; leave it out.")
        plone = self._plone
        narrow_principal(caller, plone.collection)
        return Ask(
            question=question,
            principal=principal,
            collection=plone.collection,
            where=None if path == "/" else path_filter(path),
            id=f"plone-{uuid.uuid4().hex}",
            profile="plone",
            guidance=guidance,
            streams=False,
        )

    async def answer(self, ask: Ask) -> Object:
        """Return what a synchronous question gets."""
        events = self._service.ask(ask)
        try:
            turn = await finish_turn(or_refusal(ask, events, self._refusal(ask.question)))
        except RagstoneError as error:
            if error.status < 500 or isinstance(error, ConfigError):
                raise
            raise AnswerFailed(self._plone.error_message, error) from error
        # A source is shown by its beginning here, not by the span that is cited.
        shown = [result_source(source) for source in passage_sources(turn.passages)]
        return format_answer({**format_result(turn), "sources": shown})

    async def queue(self, ask: Ask) -> Object:
        """What an asynchronous question gets: the answer if it is known, else the job's id."""
        job = await self._jobs.ask(ask)
        return self._format_job(job, ask.question)

    async def poll(self, caller: Caller, id: str) -> Object:
        """Tell how far a question is; raises UnknownJob."""
        check_enabled(self._settings)
        narrow_principal(caller, self._plone.collection)
        job = await self._jobs.get(as_plone(caller), id)
        if job is None:
            raise UnknownQuestion(id)
        return self._format_job(job, "")

    def _format_job(self, job: Any, question: str) -> Object:
        asked = question or str(job.progress.get("question", ""))
        return format_job(job, asked, self._refusal(asked), self._plone.error_message)

    @property
    def _jobs(self) -> JobsService:
        return self._service.jobs

    def _refusal(self, question: str) -> str:
        return no_answer(self._settings.rag.no_answer, detect(question) if question else "en")


def check_enabled(settings: Settings) -> None:
    """Raise ConfigError where the site is neither asked nor indexed."""
    if not PloneSettings.of(settings).enabled:
        raise ConfigError("The site's RAG is switched off. Set RAG_ENABLED=true and restart.")


class UnknownQuestion(InputError):
    code = "unknown_job"
    status = 404

    def __init__(self, id: str) -> None:
        super().__init__(f"There is no question {id[:100]!r}, or its answer is forgotten.")


def router(parts: DialectParts) -> APIRouter:
    """The services, and the webhook of content events."""
    service, settings = parts.service, parts.settings
    routes = APIRouter(tags=["Plone"], route_class=PloneRoute)
    questions = Questions(service, settings)
    site = PloneSite(service, settings)
    _add_asking(routes, questions, settings)
    _add_status(routes, service, settings)
    _add_indexing(routes, site, settings)
    _add_signed(routes, site, questions, service, settings)
    return routes


def _add_asking(routes: APIRouter, questions: Questions, settings: Settings) -> None:
    plone = PloneSettings.of(settings)
    visitors = for_visitors(plone.tenant if plone.anonymous else None)

    @routes.post("/@rag-ask", response_model=None)
    @routes.post("/{path:path}/@rag-ask", response_model=None)
    @for_guests
    @visitors
    async def ask(body: AskRequest, request: Request, caller: Who) -> Response:
        """Ask a question: at once with `sync`, else by a job that GET asks for."""
        asked = questions.ask(body, request.url.path, caller)
        work = questions.answer(asked) if body.sync else questions.queue(asked)
        return await json_unless_left(request, _with_address(request, _as_printed(work)))

    @routes.get("/@rag-ask", response_model=None)
    @routes.get("/{path:path}/@rag-ask", response_model=None)
    @for_guests
    @visitors
    async def poll(
        request: Request, caller: Who, job_id: Annotated[Text, Query(min_length=1, max_length=200)]
    ) -> Response:
        """The answer of a job, or that it is pending."""
        return Json(await _with_address(request, _as_printed(questions.poll(caller, job_id))))


def _add_status(routes: APIRouter, service: Service, settings: Settings) -> None:
    plone = PloneSettings.of(settings)

    @routes.get("/@rag-status", response_model=None)
    @routes.get("/{path:path}/@rag-status", response_model=None)
    @for_visitors(plone.tenant if plone.anonymous else None)
    async def status(request: Request, caller: Who) -> Response:
        """How much of the site is indexed."""
        return Json(await _with_address(request, _status(service, settings, caller)))


async def _status(service: Service, settings: Settings, caller: Caller) -> Object:
    plone = PloneSettings.of(settings)
    name = plone.collection
    found = None
    if caller.reaches(name):
        with suppress(UnknownCollection):
            found = await service.collection(as_plone(caller), name)
    return {
        "enabled": plone.enabled,
        "index_name": f"{name}-rag-chunks",
        "exists": found is not None,
        "chunk_count": found.chunks if found else 0,
        "parent_count": found.documents if found else 0,
        "dimensions": found.collection.dimensions if found else 0,
    }


def _add_indexing(routes: APIRouter, site: PloneSite, settings: Settings) -> None:
    def require_enabled() -> None:
        check_enabled(settings)

    editor = [Depends(at_least("editor")), Depends(require_enabled)]

    @routes.post("/@rag-index", response_model=None, dependencies=editor)
    @routes.post("/{path:path}/@rag-index", response_model=None, dependencies=editor)
    async def index(body: IndexRequest, request: Request, caller: Who) -> Response:
        """Fetch one object from the site and index it."""
        site.check_reach(caller)
        return await json_unless_left(
            request, _with_address(request, site.index(body.uid, body.queue))
        )

    @routes.post("/@rag-index-all", response_model=None, dependencies=editor)
    @routes.post("/{path:path}/@rag-index-all", response_model=None, dependencies=editor)
    async def index_all(request: Request, caller: Who) -> Response:
        """Index the whole site in the background."""
        site.check_reach(caller)
        return await json_unless_left(request, _with_address(request, site.index_all()))

    @routes.post("/plone/webhook", response_model=None)
    @open_to_all
    async def webhook(request: Request) -> Response:
        """Take a signed content event: what was added or modified is fetched, what was removed is
        forgotten."""
        check_enabled(settings)
        body = await request.body()
        event = site.verify(dict(request.headers), body)
        return Json(await asyncio.shield(site.event(event)))


def _add_signed(
    routes: APIRouter, site: PloneSite, questions: Questions, service: Service, settings: Settings
) -> None:
    """What the add-on in the site calls, with the signature of content events."""
    calls = VisitorCalls(service, settings, questions, site)

    @routes.post("/plone/visitor", response_model=None)
    @open_to_all
    async def visitor(request: Request) -> Response:
        """Take a signed call that the site makes for one of its visitors: a question, the answer
        of a job, how much is indexed, or one object to index."""
        body = await request.body()
        site.check_signature(dict(request.headers), body)
        return await json_unless_left(request, calls.answer(visitor_call(body)))

    @routes.post("/plone/settings", response_model=None)
    @open_to_all
    async def records(request: Request) -> Response:
        """Take signed records of the site's registry, by their name there (`rag_...`); they hold
        for its collection."""
        check_enabled(settings)
        body = await request.body()
        site.check_signature(dict(request.headers), body)
        return Json(await put_records(service.settings, settings, site_settings(body)))


class VisitorCalls:
    """Answers calls that the site has signed."""

    def __init__(
        self, service: Service, settings: Settings, questions: Questions, site: PloneSite
    ) -> None:
        self._service = service
        self._settings = settings
        self._questions = questions
        self._site = site

    async def answer(self, call: VisitorCall) -> Object:
        """Return what the visitor gets; raises what the services of the site raise."""
        caller = visiting(call.visitor, PloneSettings.of(self._settings))
        await check_named(self._service.people, caller)
        ASKING.set(caller)
        match call.call:
            case "ask":
                return await self._ask(call, caller)
            case "poll":
                return await self._questions.poll(caller, call.job_id)
            case "status":
                return await _status(self._service, self._settings, caller)
            case "index":
                check_enabled(self._settings)
                check_role(caller, "editor")
                if not call.uid:
                    raise InputError("uid: it must be the UID of an object.")
                return await self._site.index(call.uid, not call.sync, call.portal_type)

    async def _ask(self, call: VisitorCall, caller: Caller) -> Object:
        path = "/" + "/".join(part for part in call.path.split("/") if part)
        asked = self._questions.ask_below(path, call.question, call.sync, caller, call.guidance)
        if call.sync:
            return await self._questions.answer(asked)
        return await self._questions.queue(asked)


def as_plone(caller: Caller) -> Principal:
    """Return who asks, as Plone sees it: whoever is logged in has the role Authenticated, and who
    has shown no credential is its visitor Anonymous."""
    principal = caller.principal
    if caller == GUEST:
        return replace(principal, user="", groups=())
    if not principal.user:
        return principal
    groups = tuple(dict.fromkeys((*principal.groups, AUTHENTICATED)))
    return replace(principal, groups=groups)


async def _as_printed(answer: Coroutine[Any, Any, Object]) -> Object:
    """Return an answer without the UIDs of its sources, which only the site is told."""
    found = await answer
    for source in found.get("sources", ()):
        del source["uid"]
    return found


async def _with_address(request: Request, body: Coroutine[Any, Any, Object]) -> Object:
    return {"@id": f"{str(request.base_url).rstrip('/')}{request.url.path}", **await body}


STATEMENTS = ("supported", "answers", "wrong_citations", "check_failure", "note")
"""What is said of an answer; left out where there is nothing to say."""


def format_answer(result: Mapping[str, Any]) -> Object:
    """Return an answered question; `result` is a job's (`jobs.questions.result_of`)."""
    shown = [] if result.get("refused") else result.get("sources", [])
    return {
        "question": str(result.get("question", "")),
        "answer": str(result.get("answer", "")),
        "sources": [_source(item) for item in shown],
        **{name: result[name] for name in STATEMENTS if result.get(name)},
    }


def format_job(job: Any, question: str, no_answer: str, failure: str) -> Object:
    """Return a job (`service.jobs.JobView`): pending, completed with its answer, or failed; then
    `failure` is the answer that a reader gets."""
    known = {"question": question} if question else {}
    if job.state == "done" and isinstance(job.result, Mapping):
        return {"status": "completed", **format_answer({**known, **job.result})}
    if getattr(job, "code", "") == "unknown_collection":
        return {"status": "completed", **format_answer({**known, "answer": no_answer})}
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
