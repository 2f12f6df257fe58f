"""Lists of forbidden topics over HTTP, as JSON and as CSV.

A list shows what other people asked, so it is for a tenant's admin, and for the token that only the
data directory's owner can read; the command line uses that.
"""

from typing import Any

from fastapi import APIRouter, Depends, Request
from pydantic import Field
from starlette.responses import Response

from ragstone.core.errors import InvalidTopic
from ragstone.core.limits import MAX_TOPICS
from ragstone.core.records import Topic
from ragstone.guard.topic_file import read_csv, topic, write_csv
from ragstone.http.bodies import Body
from ragstone.http.identity import Tenant, Who, request_tenant
from ragstone.http.middleware import require_key
from ragstone.http.openapi import document_responses
from ragstone.http.responses import Json
from ragstone.service import Service


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


class PutTopics(Body):
    """The body of POST /api/v1/topics."""

    tenant: str | None = Field(
        None, max_length=255, description="Whose topics; the own ones if absent."
    )
    topics: list[GivenTopic] = Field(
        max_length=MAX_TOPICS, description="New topics, and new versions of known ones."
    )


def router(service: Service) -> APIRouter:
    """The routes below /api/v1/topics."""
    allowed = [Depends(require_key)]
    routes = APIRouter(prefix="/api/v1/topics", tags=["Forbidden topics"], dependencies=allowed)

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

    return routes


async def _put_topics(service: Service, tenant: str, topics: list[Topic]) -> dict[str, Any]:
    added = await service.put_topics(tenant, topics)
    return {"added": added, "replaced": len({item.id for item in topics}) - added}
