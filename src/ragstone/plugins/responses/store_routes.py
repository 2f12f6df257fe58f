"""`/v1/vector_stores`, with the files and batches of files in them."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from pydantic import Field, field_validator
from starlette.responses import Response

from ragstone.core.errors import InputError
from ragstone.core.turn import Ask, SearchOptions
from ragstone.http.bodies import Name, StrictBody, Text
from ragstone.http.identity import Who, for_guests
from ragstone.http.responses import Json, json_unless_left, well_formed
from ragstone.plugins.responses import shapes
from ragstone.plugins.responses.contract import VectorStore
from ragstone.plugins.responses.members import BATCH, Members
from ragstone.plugins.responses.pages import Page, options
from ragstone.plugins.responses.requests import condition
from ragstone.plugins.responses.stores import Stores

Object = dict[str, Any]
Id = Annotated[str, Path(max_length=255)]
State = Annotated[
    Literal["in_progress", "completed", "failed", "cancelled"] | None, Query(alias="filter")
]

MAX_PAIRS = 16
MAX_FILES = 2_000
POLL_MILLISECONDS = 500
"""How soon a client may ask again for what is being indexed; what the official one does by
itself is slower."""

Key = Annotated[str, Field(min_length=1, max_length=64)]
Value = Annotated[str, Field(max_length=512)]
Metadata = Annotated[dict[Key, Value], Field(max_length=MAX_PAIRS)]
Attributes = Annotated[dict[Key, Value | bool | int | float], Field(max_length=MAX_PAIRS)]


class ExpiresAfter(StrictBody):
    """When a store is deleted: so many days after it was last used here."""

    anchor: Literal["last_active_at"]
    days: int = Field(ge=1, le=365)


class Chunking(StrictBody):
    """How documents are cut is not chosen."""

    type: Literal["auto"]


class StoreChanges(StrictBody):
    """The body of POST /v1/vector_stores/{id}; what is not there stays as it is."""

    name: Annotated[str, Field(max_length=255)] | None = None
    description: Annotated[str, Field(max_length=512)] | None = None
    metadata: Metadata | None = None
    expires_after: ExpiresAfter | None = None

    def changes(self) -> Object:
        """Return the fields of a store that change."""
        given = self.model_fields_set
        said = {
            "title": well_formed(self.name or ""),
            "description": well_formed(self.description or ""),
            "metadata": {well_formed(k): well_formed(v) for k, v in (self.metadata or {}).items()},
            "days": self.expires_after.days if self.expires_after else None,
        }
        names = {"title": "name", "days": "expires_after"}
        return {name: value for name, value in said.items() if names.get(name, name) in given}


class NewStore(StoreChanges):
    """The body of POST /v1/vector_stores. Without a name, or with one that is taken, the store's id
    is another one."""

    file_ids: list[Name] | None = Field(None, max_length=MAX_FILES)
    chunking_strategy: Chunking | None = None


class NewMember(StrictBody):
    """The body of POST /v1/vector_stores/{id}/files."""

    file_id: Name
    attributes: Attributes | None = None
    chunking_strategy: Chunking | None = None


class NewBatch(StrictBody):
    """The body of POST /v1/vector_stores/{id}/file_batches: ids of files, which all have the same
    attributes, or files with their own."""

    file_ids: list[Name] | None = Field(None, max_length=MAX_FILES)
    files: list[NewMember] | None = Field(None, max_length=MAX_FILES)
    attributes: Attributes | None = None
    chunking_strategy: Chunking | None = None

    def read_attributes(self) -> Mapping[str, Object]:
        """Return the attributes of each file by its id; raises InputError."""
        if bool(self.file_ids) == bool(self.files):
            raise InputError("A batch needs file_ids or files, and not both.")
        if self.files:
            return {file.file_id: dict(file.attributes or {}) for file in self.files}
        return {id: dict(self.attributes or {}) for id in self.file_ids or ()}


class NewAttributes(StrictBody):
    """The body of POST /v1/vector_stores/{id}/files/{id}."""

    attributes: Attributes | None


class RankingOptions(StrictBody):
    """Which results are good enough, and whether the best are compared again."""

    ranker: Text | None = None
    score_threshold: float = Field(0.0, ge=0, le=1)


class StoreSearch(StrictBody):
    """The body of POST /v1/vector_stores/{id}/search."""

    query: Text | Annotated[list[Text], Field(min_length=1, max_length=16)]
    max_num_results: int = Field(10, ge=1, le=50)
    filters: Object | None = None
    ranking_options: RankingOptions | None = None
    rewrite_query: bool | None = None

    @field_validator("query")
    @classmethod
    def _has_words(cls, given: str | list[str]) -> str | list[str]:
        texts = [given] if isinstance(given, str) else given
        if not any(text.strip() for text in texts):
            raise ValueError("the query is empty")
        return given

    def ask(self, store: str) -> Ask:
        """Return the search; raises InputError."""
        query = self.query if isinstance(self.query, str) else "\n".join(self.query)
        ranker = self.ranking_options.ranker if self.ranking_options else None
        return Ask(
            well_formed(query),
            collection=store,
            top_k=self.max_num_results,
            where=condition(self.filters) if self.filters else None,
            wanted=SearchOptions(
                rerank=False if ranker == "none" else None,
                rewrite="none" if self.rewrite_query is False else None,
            ),
        )


def add_store_routes(routes: APIRouter, stores: Stores, members: Members) -> None:
    """Add the addresses of vector stores, the longest first: the name of a collection may hold
    slashes, so that a shorter one takes what goes on behind it."""
    _add_batch_routes(routes, stores, members)
    _add_member_routes(routes, stores, members)
    _add_routes(routes, stores)


def _add_routes(routes: APIRouter, stores: Stores) -> None:
    @routes.get("/vector_stores", **options("reader", shapes.VectorStoreList))
    async def list_vector_stores(caller: Who, page: Page) -> Response:
        """The collections that the credential reaches, as vector stores."""
        return Json(page.cut(await stores.list_all(caller)))

    @routes.post("/vector_stores", **options("editor", shapes.VectorStoreObject))
    async def create_vector_store(body: NewStore, caller: Who) -> Response:
        """Make a vector store, and begin to index files in it."""
        now = time.time()
        store = VectorStore(caller.principal.tenant, "", "", now, now)
        new = replace(store, **body.changes())
        return Json(await stores.create(caller, new, body.file_ids or ()))

    @routes.post("/vector_stores/{store:path}/search", **options("reader", shapes.SearchPage))
    @for_guests
    async def search_vector_store(
        store: Id, body: StoreSearch, request: Request, caller: Who
    ) -> Response:
        """The passages that fit a query best."""
        least = body.ranking_options.score_threshold if body.ranking_options else 0.0
        return await json_unless_left(request, stores.search(caller, body.ask(store), least))

    @routes.get("/vector_stores/{store:path}", **options("reader", shapes.VectorStoreObject))
    async def retrieve_vector_store(store: Id, caller: Who) -> Response:
        """One of them."""
        return Json(await stores.find(caller, store))

    @routes.post("/vector_stores/{store:path}", **options("editor", shapes.VectorStoreObject))
    async def update_vector_store(store: Id, body: StoreChanges, caller: Who) -> Response:
        """Say something else of a vector store; its id stays."""
        return Json(await stores.update(caller, store, body.changes()))

    @routes.delete("/vector_stores/{store:path}", **options("admin", shapes.Deleted))
    async def delete_vector_store(store: Id, caller: Who) -> Response:
        """Delete a collection with all its documents; the files stay."""
        return Json(await stores.drop(caller, store))


def _add_member_routes(routes: APIRouter, stores: Stores, members: Members) -> None:
    place = "/vector_stores/{store:path}/files"

    @routes.post(place, **options("editor", shapes.VectorStoreFile))
    async def add_file_to_vector_store(store: Id, body: NewMember, caller: Who) -> Response:
        """Begin to index a file in a vector store."""
        await stores.open(caller, store)
        await members.add(caller, store, {body.file_id: dict(body.attributes or {})})
        return _poll_response(await members.find(caller, store, body.file_id))

    @routes.get(place, **options("reader", shapes.VectorStoreFileList))
    async def list_vector_store_files(
        store: Id, caller: Who, page: Page, state: State = None
    ) -> Response:
        """The documents of a vector store that the caller may read, and what becomes one."""
        await stores.find_store(caller, store)
        found = _in_state(await members.list_all(caller, store), state)
        return Json(page.cut(found))

    @routes.get(f"{place}/{{file_id}}/content", **options("reader", shapes.FileContentPage))
    async def vector_store_file_content(store: Id, file_id: Id, caller: Who) -> Response:
        """The text of one of them."""
        return Json(await members.content(caller, store, file_id))

    @routes.get(f"{place}/{{file_id}}", **options("reader", shapes.VectorStoreFile))
    async def retrieve_vector_store_file(store: Id, file_id: Id, caller: Who) -> Response:
        """One of them, by the id of its file or of the document."""
        return _poll_response(await members.find(caller, store, file_id))

    @routes.post(f"{place}/{{file_id}}", **options("editor", shapes.VectorStoreFile))
    async def update_vector_store_file(
        store: Id, file_id: Id, body: NewAttributes, request: Request, caller: Who
    ) -> Response:
        """Give one of them other attributes; the answer comes when it can be found by them."""
        done = members.update(caller, store, file_id, dict(body.attributes or {}))
        return await json_unless_left(request, done)

    @routes.delete(f"{place}/{{file_id}}", **options("editor", shapes.Deleted))
    async def delete_vector_store_file(store: Id, file_id: Id, caller: Who) -> Response:
        """Delete a document; its file stays."""
        return Json(await members.remove(caller, store, file_id))


def _add_batch_routes(routes: APIRouter, stores: Stores, members: Members) -> None:
    place = "/vector_stores/{store:path}/file_batches"

    @routes.post(place, **options("editor", shapes.VectorStoreFileBatch))
    async def create_file_batch(store: Id, body: NewBatch, caller: Who) -> Response:
        """Begin to index files in a vector store, in one job."""
        await stores.open(caller, store)
        job = await members.add(caller, store, body.read_attributes())
        return _poll_response(await members.batch(caller, store, f"{BATCH}{job}"))

    @routes.get(f"{place}/{{batch}}/files", **options("reader", shapes.VectorStoreFileList))
    async def list_files_of_batch(
        store: Id, batch: Id, caller: Who, page: Page, state: State = None
    ) -> Response:
        """The files of a batch."""
        found = _in_state(await members.list_all(caller, store, batch), state)
        return Json(page.cut(found))

    @routes.post(f"{place}/{{batch}}/cancel", **options("editor", shapes.VectorStoreFileBatch))
    async def cancel_file_batch(store: Id, batch: Id, caller: Who) -> Response:
        """End a batch; what is indexed stays."""
        return Json(await members.cancel(caller, store, batch))

    @routes.get(f"{place}/{{batch}}", **options("reader", shapes.VectorStoreFileBatch))
    async def retrieve_file_batch(store: Id, batch: Id, caller: Who) -> Response:
        """A batch of the caller's."""
        return _poll_response(await members.batch(caller, store, batch))


def _in_state(found: Sequence[Object], state: str | None) -> list[Object]:
    return [item for item in found if state in (None, item["status"])]


def _poll_response(made: Object) -> Response:
    """Return what a client may ask for again until it is done, and how soon."""
    return Json(made, headers={"openai-poll-after-ms": str(POLL_MILLISECONDS)})
