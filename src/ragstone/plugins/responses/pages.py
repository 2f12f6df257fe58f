"""What the addresses of files, vector stores and responses have in common: their roles, and pages
of lists."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import Depends, Query
from pydantic import BaseModel

from ragstone.core.caller import Role
from ragstone.http.identity import at_least
from ragstone.http.openapi import document_responses

Object = dict[str, Any]

MAX_FILES = 10_000
"""In one page of a list of files."""

_BYTES = document_responses("application/octet-stream")


def options(role: Role, shape: type[BaseModel] | None = None) -> Object:
    """The options of a route whose callers need a role. It answers in this shape, else in bytes."""
    responses = document_responses(shape=shape) if shape else _BYTES
    needs = [Depends(at_least(role))]
    return {"response_model": None, "dependencies": needs, "responses": responses}


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which page of a list a client wants: `limit` objects behind one of them, or before one."""

    limit: Annotated[int, Query(ge=1, le=100)] = 20
    after: Annotated[str | None, Query(max_length=255)] = None
    before: Annotated[str | None, Query(max_length=255)] = None
    order: Annotated[Literal["asc", "desc"], Query()] = "desc"

    def cut(self, found: Sequence[Object]) -> Object:
        """Cut the page out of a list by the time that its objects were made at.

        A program that deletes what it lists goes on behind an object that is gone by then. Such a
        page begins at the front again, so that nothing is left out.
        """
        ranked = sorted(found, key=_age, reverse=self.order == "desc")
        places = {item["id"]: place for place, item in enumerate(ranked)}
        start = places[self.after] + 1 if self.after in places else 0
        end = places[self.before] if self.before in places else len(ranked)
        # Before an object the page ends with its neighbour, and more is in front of it.
        alone = self.before in places and self.after not in places
        first = max(start, end - self.limit) if alone else start
        page = ranked[first : min(end, first + self.limit)]
        return {
            "object": "list",
            "data": page,
            "first_id": page[0]["id"] if page else None,
            "last_id": page[-1]["id"] if page else None,
            "has_more": first > start or first + len(page) < end,
        }


@dataclass(frozen=True, slots=True)
class FilePageRequest(PageRequest):
    """That of a list of files, which has more of them."""

    limit: Annotated[int, Query(ge=1, le=MAX_FILES)] = MAX_FILES


Page = Annotated[PageRequest, Depends()]
FilePage = Annotated[FilePageRequest, Depends()]


def _age(item: Object) -> tuple[int, str]:
    return item.get("created_at", 0), item["id"]
