"""The operator's API of forbidden topics: the list, what it blocked, and what it would block.

It shows what other people asked, so it is for a tenant's admin, and for the token that only the
data directory's owner can read; the command line uses that.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from pydantic import Field
from starlette.responses import Response

from ragstone.core.errors import InvalidTopic
from ragstone.core.records import Topic
from ragstone.guard.topic_file import MOST_TOPICS, read_csv, topic, write_csv
from ragstone.http.bodies import Body
from ragstone.http.identity import Tenant, Who, request_tenant
from ragstone.http.middleware import require_token
from ragstone.http.openapi import document_responses
from ragstone.http.responses import Json, json_unless_left
from ragstone.service import Service, wire


class _Body(Body):
    tenant: str | None = Field(
        None, max_length=255, description="Whose topics; the own ones if absent."
    )


class GivenTopic(Body):
    """One topic as it is sent."""

    term: str = Field(description="The word or phrase.")
    synonyms: list[str] = Field([], description="Other words for it.")
    examples: list[str] = Field([], description="Questions that are forbidden.")
    language: str = Field("", description="An ISO 639-1 code, for people.")
    note: str = Field("", description="A remark, for people.")

    def topic(self, tenant: str) -> Topic:
        """In good order; raises InvalidTopic."""
        return topic(tenant, self.term, self.synonyms, self.examples, self.language, self.note)


class PutTopics(_Body):
    """The body of POST /api/v1/topics."""

    topics: list[GivenTopic] = Field(
        max_length=MOST_TOPICS, description="New topics, and new versions of known ones."
    )


class RemoveTopics(_Body):
    """The body of POST /api/v1/topics/remove."""

    terms: list[str] = Field(max_length=MOST_TOPICS, description="Terms or ids.")


class CheckQuestion(_Body):
    """The body of POST /api/v1/topics/check."""

    question: str = Field(max_length=20_000, description="What would be asked.")


def router(service: Service, token: str) -> APIRouter:
    """The routes below /api/v1/topics."""
    allowed = [Depends(require_token(token))]
    routes = APIRouter(prefix="/api/v1/topics", tags=["Forbidden topics"], dependencies=allowed)

    @routes.get("", response_model=None)
    async def list_topics(tenant: Tenant) -> Response:
        """The topics of a tenant, by term."""
        return Json({"topics": [wire.dump(item) for item in await service.topics(tenant)]})

    @routes.get("/export", response_model=None, responses=document_responses("text/csv"))
    async def export(tenant: Tenant) -> Response:
        """The same as a CSV file, which /import takes."""
        text = write_csv(await service.topics(tenant))
        return Response(text.encode("utf-8", "replace"), media_type="text/csv")

    @routes.post("", response_model=None)
    async def put(body: PutTopics, caller: Who) -> Response:
        """Add topics, or replace those of the same term; all or none."""
        tenant = request_tenant(caller, body.tenant)
        given = [item.topic(tenant) for item in body.topics]
        return Json(await _put_topics(service, tenant, given))

    @routes.post("/import", response_model=None)
    async def import_csv(request: Request, tenant: Tenant) -> Response:
        """Add the topics of a CSV file, which is the body, in UTF-8; all or none."""
        try:
            text = (await request.body()).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InvalidTopic("The file is not in UTF-8. Save it as CSV in UTF-8.") from error
        return Json(await _put_topics(service, tenant, read_csv(text, tenant)))

    @routes.post("/remove", response_model=None)
    async def remove(body: RemoveTopics, caller: Who) -> Response:
        """Remove topics by term or id; all or none."""
        tenant = request_tenant(caller, body.tenant)
        return Json({"removed": await service.remove_topics(tenant, body.terms)})

    @routes.get("/blocked", response_model=None)
    async def list_blocked(
        tenant: Tenant, limit: Annotated[int, Query(ge=1, le=10_000)] = 100
    ) -> Response:
        """The questions that were blocked, the newest first."""
        found = await service.list_blocked(tenant, limit)
        return Json({"blocked": [wire.dump(item) for item in found]})

    @routes.post("/check", response_model=None)
    async def check(body: CheckQuestion, request: Request, caller: Who) -> Response:
        """What the guard would say of a question; nothing is answered or kept."""
        tenant = request_tenant(caller, body.tenant)
        return await json_unless_left(request, _check_question(service, tenant, body.question))

    return routes


async def _put_topics(service: Service, tenant: str, topics: list[Topic]) -> dict[str, Any]:
    added = await service.put_topics(tenant, topics)
    return {"added": added, "replaced": len({item.id for item in topics}) - added}


async def _check_question(service: Service, tenant: str, question: str) -> Any:
    return wire.dump(await service.check_topics(tenant, question))
