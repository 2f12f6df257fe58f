"""Writes to one Qdrant collection, each over only when the server has applied it."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from qdrant_client import AsyncQdrantClient, models

from ragstone.core.errors import IndexUnavailable
from ragstone.plugins.qdrant.schema import FIELDS, PART

T = TypeVar("T")
TENANT = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
"""What is of one part lies together."""

Request = Callable[[AsyncQdrantClient], Awaitable[T]]


def index_field(name: str, field: str) -> Request[None]:
    """Make a payload field quick to filter by."""
    schema = TENANT if field == PART else FIELDS[field]

    async def write(client: AsyncQdrantClient) -> None:
        _check_applied(await client.create_payload_index(name, field, schema, wait=True))

    return write


def upsert(name: str, points: Sequence[models.PointStruct]) -> Request[None]:
    """Write points over those of the same ids."""

    async def write(client: AsyncQdrantClient) -> None:
        _check_applied(await client.upsert(name, points, wait=True))

    return write


def update(name: str, changes: Sequence[models.UpdateOperation]) -> Request[None]:
    """Return several changes at once."""

    async def write(client: AsyncQdrantClient) -> None:
        _check_applied((await client.batch_update_points(name, changes, wait=True))[-1])

    return write


def delete(name: str, condition: models.Filter) -> Request[None]:
    """Delete the points that meet a condition."""

    async def write(client: AsyncQdrantClient) -> None:
        _check_applied(
            await client.delete(name, models.FilterSelector(filter=condition), wait=True)
        )

    return write


def _check_applied(result: models.UpdateResult) -> None:
    if result.status != models.UpdateStatus.COMPLETED:
        raise IndexUnavailable("Qdrant took the write but did not finish it. Try again.")
