"""Plone's services `@rag-ask`, `@rag-status`, `@rag-index` and `@rag-index-all`, below any path of
a site."""

import asyncio
import uuid
from collections.abc import Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.routing import APIRoute
from pydantic import Field
from starlette.responses import Response

from ragstone.core.caller import Caller
from ragstone.core.errors import ConfigError, InputError, Unauthorized
from ragstone.core.filters import under
from ragstone.core.source import passage_sources
from ragstone.core.turn import Ask, Principal
from ragstone.http.bodies import StrictBody, Text
from ragstone.http.dialects import DialectParts
from ragstone.http.dialects.plone import answers
from ragstone.http.dialects.plone.site import PloneSite
from ragstone.http.identity import Who, at_least, narrowed
from ragstone.http.responses import Json, Refusal, json_unless_left
from ragstone.http.streaming import finished, or_refusal
from ragstone.ingest.connectors.plone.names import AUTHENTICATED, filtered_path
from ragstone.jobs.questions import result_of, result_source
from ragstone.language.language import detect
from ragstone.language.no_answer import no_answer
from ragstone.service import Service
from ragstone.service.jobs import JobsService
from ragstone.settings import Settings

Object = dict[str, Any]

_TYPES = {400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound"}


class PloneRoute(APIRoute):
    """A route whose errors plone.restapi's clients can read, with ours beside them."""

    @staticmethod
    def refused(refusal: Refusal) -> Response:
        """The refusal; what is wrong with a request is a bad request here."""
        status = 400 if refusal.status == 422 else refusal.status
        if isinstance(refusal.error, ConfigError):
            status = 503
        kind = _TYPES.get(status, "InternalServerError" if status >= 500 else "BadRequest")
        body = {"type": kind, "message": refusal.message, "error": refusal.body}
        return Json(body, status, refusal.headers)


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

    def ask(self, body: AskRequest, asked_at: str, caller: Caller) -> Ask:
        """The question; raises InputError, Unauthorized, UnknownCollection."""
        if not body.question.strip():
            raise InputError("question: it is empty; write what you want to know.")
        if body.sync and not caller.principal.user:
            raise Unauthorized("Only users who are logged in may ask with sync; leave it out.")
        plone = self._settings.plone
        narrowed(caller, plone.collection)
        path = filtered_path(body.path, asked_at, plone.url) if body.path else "/"
        return Ask(
            question=body.question,
            principal=as_plone(caller.principal),
            collection=plone.collection,
            where=None if path == "/" else under(path),
            id=f"plone-{uuid.uuid4().hex}",
            profile="plone",
        )

    async def answer(self, ask: Ask) -> Object:
        """What a synchronous question gets."""
        events = self._service.ask(ask)
        turn = await finished(or_refusal(ask, events, self._refusal(ask.question)))
        # A source is shown by its beginning here, not by the span that is cited.
        shown = [result_source(one) for one in passage_sources(turn.passages)]
        return answers.answer({**result_of(turn), "sources": shown})

    async def queue(self, ask: Ask) -> Object:
        """What an asynchronous question gets: the answer if it is known, else the job's id."""
        job = await self._jobs.ask(ask)
        return answers.job(job, ask.question, self._refusal(ask.question))

    async def poll(self, caller: Caller, id: str) -> Object:
        """How far a question is; raises UnknownJob."""
        narrowed(caller, self._settings.plone.collection)
        job = await self._jobs.get(as_plone(caller.principal), id)
        if job is None:
            raise UnknownQuestion(id)
        return answers.job(job, "", self._refusal(""))

    @property
    def _jobs(self) -> JobsService:
        return self._service.jobs

    def _refusal(self, question: str) -> str:
        return no_answer(self._settings.rag.no_answer, detect(question) if question else "en")


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
    _add_asking(routes, questions)
    _add_status(routes, service, settings)
    _add_indexing(routes, site)
    return routes


def _add_asking(routes: APIRouter, questions: Questions) -> None:
    @routes.post("/@rag-ask", response_model=None)
    @routes.post("/{path:path}/@rag-ask", response_model=None)
    async def ask(body: AskRequest, request: Request, caller: Who) -> Response:
        """Ask a question: at once with `sync`, else by a job that GET asks for."""
        asked = questions.ask(body, request.url.path, caller)
        work = questions.answer(asked) if body.sync else questions.queue(asked)
        return await json_unless_left(request, _with_address(request, work))

    @routes.get("/@rag-ask", response_model=None)
    @routes.get("/{path:path}/@rag-ask", response_model=None)
    async def poll(
        request: Request, caller: Who, job_id: Annotated[Text, Query(min_length=1, max_length=200)]
    ) -> Response:
        """The answer of a job, or that it is pending."""
        return Json(await _with_address(request, questions.poll(caller, job_id)))


def _add_status(routes: APIRouter, service: Service, settings: Settings) -> None:
    @routes.get("/@rag-status", response_model=None)
    @routes.get("/{path:path}/@rag-status", response_model=None)
    async def status(request: Request, caller: Who) -> Response:
        """How much of the site is indexed."""
        name = settings.plone.collection
        found = None
        if caller.reaches(name):
            known = await service.collections(as_plone(caller.principal))
            found = next((one for one in known if one.collection.name == name), None)
        body = {
            "@id": _address(request),
            "enabled": True,
            "index_name": f"{name}-rag-chunks",
            "exists": found is not None,
            "chunk_count": found.chunks if found else 0,
            "parent_count": found.documents if found else 0,
            "dimensions": found.collection.dimensions if found else 0,
        }
        return Json(body)


def _add_indexing(routes: APIRouter, site: PloneSite) -> None:
    editor = [Depends(at_least("editor"))]

    @routes.post("/@rag-index", response_model=None, dependencies=editor)
    @routes.post("/{path:path}/@rag-index", response_model=None, dependencies=editor)
    async def index(body: IndexRequest, request: Request, caller: Who) -> Response:
        """Fetch one object from the site and index it."""
        site.reached_by(caller)
        return await json_unless_left(
            request, _with_address(request, site.index(body.uid, body.queue))
        )

    @routes.post("/@rag-index-all", response_model=None, dependencies=editor)
    @routes.post("/{path:path}/@rag-index-all", response_model=None, dependencies=editor)
    async def index_all(request: Request, caller: Who) -> Response:
        """Index the whole site in the background."""
        site.reached_by(caller)
        return await json_unless_left(request, _with_address(request, site.index_all()))

    @routes.post("/plone/webhook", response_model=None)
    async def webhook(request: Request) -> Response:
        """Take a signed content event: what was added or modified is fetched, what was removed is
        forgotten."""
        body = await request.body()
        event = site.verified(dict(request.headers), body)
        return Json(await asyncio.shield(site.event(event)))


def as_plone(principal: Principal) -> Principal:
    """The principal as Plone sees it: whoever is logged in has the role Authenticated."""
    if not principal.user:
        return principal
    groups = tuple(dict.fromkeys((*principal.groups, AUTHENTICATED)))
    return Principal(principal.tenant, principal.user, groups)


async def _with_address(request: Request, body: Coroutine[Any, Any, Object]) -> Object:
    return {"@id": _address(request), **await body}


def _address(request: Request) -> str:
    return str(request.url.replace(query=None, fragment=None))
