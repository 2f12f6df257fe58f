"""`/v1/files` and `/v1/vector_stores`."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, File, Form, Path, Query, Request, UploadFile
from pydantic import BaseModel, Field, field_validator
from starlette.responses import Response

from ragstone.core.caller import Role
from ragstone.core.errors import InputError
from ragstone.core.limits import check_collection_name
from ragstone.core.turn import Ask
from ragstone.http.bodies import Name, StrictBody, Text
from ragstone.http.dialects import DialectParts
from ragstone.http.dialects.openai import shapes
from ragstone.http.dialects.openai.responses_requests import condition
from ragstone.http.dialects.openai.stores import Stores, new_store_json, page
from ragstone.http.identity import Who, at_least, narrowed
from ragstone.http.openapi import documented
from ragstone.http.responses import Json, json_unless_left, well_formed
from ragstone.http.uploads import Uploads

Object = dict[str, Any]
Id = Annotated[str, Path(max_length=255)]
MOST_LISTED = 100
BYTES = documented("application/octet-stream")


def of(role: Role, shape: type[BaseModel] | None = None) -> Object:
    """The options of a route whose callers need a role. It answers in this shape, else in bytes."""
    responses = documented(shape=shape) if shape else BYTES
    needs = [Depends(at_least(role))]
    return {"response_model": None, "dependencies": needs, "responses": responses}


class NewStore(StrictBody):
    """The body of POST /v1/vector_stores. The name is the collection's, and the store's id."""

    name: Name = Field(min_length=1, max_length=255)
    file_ids: list[Name] | None = Field(None, max_length=100)
    metadata: Object | None = None


class NewMember(StrictBody):
    """The body of POST /v1/vector_stores/{id}/files. How documents are cut is not chosen here."""

    file_id: Name
    attributes: Object | None = None
    chunking_strategy: Object | None = None


class RankingOptions(StrictBody):
    """Which results are good enough."""

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
        """The search; raises InputError."""
        query = self.query if isinstance(self.query, str) else "\n".join(self.query)
        where = condition(self.filters) if self.filters else None
        question = well_formed(query)
        return Ask(question, collection=store, top_k=self.max_num_results, where=where)


Limit = Annotated[int, Query(ge=1, le=MOST_LISTED)]
After = Annotated[str | None, Query(max_length=255)]
Order = Annotated[str, Query(pattern="^(asc|desc)$")]


def add_routes(routes: APIRouter, parts: DialectParts) -> None:
    """Add the addresses of files and vector stores."""
    uploads = Uploads(parts.settings.ragstone_data, parts.settings.server.upload_types)
    stores = Stores(parts.service, uploads)
    _add_files(routes, stores)
    _add_members(routes, stores)
    # The last ones: a collection's name may hold slashes, so what goes on behind it comes first.
    _add_stores(routes, stores)


def _add_files(routes: APIRouter, stores: Stores) -> None:
    @routes.post("/files", **of("editor", shapes.FileObject))
    async def upload_file(
        caller: Who,
        file: Annotated[UploadFile, File()],
        purpose: Annotated[str, Form(max_length=64)] = "assistants",
    ) -> Response:
        """Keep a file until it is put into a vector store, for 30 days at most."""
        return Json(await stores.upload(caller, file, purpose))

    @routes.get("/files/{file_id}", **of("editor", shapes.FileObject))
    async def file(file_id: Id, caller: Who) -> Response:
        """A file that waits."""
        return Json(await stores.file(caller, file_id))

    @routes.get("/files/{file_id}/content", **of("editor"))
    async def file_content(file_id: Id, caller: Who) -> Response:
        """What a file that waits holds."""
        found = await stores.content(caller, file_id)
        return Response(found, media_type="application/octet-stream")

    @routes.delete("/files/{file_id}", **of("editor", shapes.Deleted))
    async def delete_file(file_id: Id, caller: Who) -> Response:
        """Delete a file that waits."""
        return Json(await stores.forget(caller, file_id))


def _add_stores(routes: APIRouter, stores: Stores) -> None:
    @routes.get("/vector_stores", **of("reader", shapes.VectorStoreList))
    async def vector_stores(
        caller: Who, limit: Limit = 20, after: After = None, order: Order = "desc"
    ) -> Response:
        """The collections that the credential reaches, as vector stores."""
        return Json(page(await stores.listed(caller), limit, after, order))

    @routes.post("/vector_stores", **of("editor", shapes.VectorStore))
    async def create_vector_store(body: NewStore, request: Request, caller: Who) -> Response:
        """Name a vector store: the collection is there with its first file."""
        narrowed(caller, body.name)
        check_collection_name(body.name)
        if not body.file_ids:
            return Json(new_store_json(body.name))
        for id in body.file_ids:
            await stores.file(caller, id)

        async def filled() -> Object:
            for id in body.file_ids or ():
                await stores.put(caller, body.name, id, None)
            return await stores.store(caller, body.name)

        return await json_unless_left(request, filled())

    @routes.get("/vector_stores/{store:path}", **of("reader", shapes.VectorStore))
    async def vector_store(store: Id, caller: Who) -> Response:
        """One of them."""
        return Json(await stores.store(caller, store))

    @routes.delete("/vector_stores/{store:path}", **of("admin", shapes.Deleted))
    async def delete_vector_store(store: Id, caller: Who) -> Response:
        """Forget a collection with all its documents."""
        return Json(await stores.drop(caller, store))

    @routes.post("/vector_stores/{store:path}/search", **of("reader", shapes.SearchPage))
    async def search_vector_store(
        store: Id, body: StoreSearch, request: Request, caller: Who
    ) -> Response:
        """The passages that fit a query best."""
        least = body.ranking_options.score_threshold if body.ranking_options else 0.0
        return await json_unless_left(request, stores.search(caller, body.ask(store), least))


def _add_members(routes: APIRouter, stores: Stores) -> None:
    place = "/vector_stores/{store:path}/files"

    @routes.post(place, **of("editor", shapes.VectorStoreFile))
    async def add_file_to_vector_store(
        store: Id, body: NewMember, request: Request, caller: Who
    ) -> Response:
        """Index a file that waits; the answer comes when that is done."""
        if (body.chunking_strategy or {}).get("type") not in (None, "auto"):
            raise InputError(
                "chunking_strategy cannot be chosen: documents are cut by what they are. "
                "Leave it out."
            )
        done = stores.put(caller, store, body.file_id, body.attributes)
        return await json_unless_left(request, done)

    @routes.get(place, **of("reader", shapes.VectorStoreFileList))
    async def vector_store_files(
        store: Id, caller: Who, limit: Limit = 20, after: After = None, order: Order = "desc"
    ) -> Response:
        """The documents of a vector store that the caller may read."""
        return Json(await stores.members(caller, store, limit, after, order))

    @routes.get(f"{place}/{{file_id}}", **of("reader", shapes.VectorStoreFile))
    async def vector_store_file(store: Id, file_id: Id, caller: Who) -> Response:
        """One of them, by the id of its upload or of the document."""
        return Json(await stores.member(caller, store, file_id))

    @routes.delete(f"{place}/{{file_id}}", **of("editor", shapes.Deleted))
    async def delete_file_of_vector_store(store: Id, file_id: Id, caller: Who) -> Response:
        """Forget a document."""
        return Json(await stores.remove(caller, store, file_id))
