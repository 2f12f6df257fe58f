"""The shapes of responses, files and vector stores, for the description of the API."""

from typing import Any, Literal

from pydantic import BaseModel, Field


class ResponseAnswer(BaseModel):
    """A whole response of the Responses API."""

    id: str
    object: Literal["response"]
    created_at: int
    status: Literal["completed", "incomplete", "in_progress", "failed"]
    model: str
    output: list[dict[str, Any]]
    usage: dict[str, Any] | None
    error: dict[str, Any] | None
    ragstone: dict[str, Any] = Field(description="Sources, verdicts and confidence.")


class ItemList(BaseModel):
    """What a response answers."""

    object: Literal["list"]
    data: list[dict[str, Any]]
    first_id: str | None
    last_id: str | None
    has_more: bool


class FileObject(BaseModel):
    """A file of the caller's."""

    id: str
    object: Literal["file"]
    bytes: int
    created_at: int
    filename: str
    purpose: str
    status: str
    expires_at: int | None


class FileList(BaseModel):
    """Some of the files."""

    object: Literal["list"]
    data: list[FileObject]
    first_id: str | None
    last_id: str | None
    has_more: bool


class FileCounts(BaseModel):
    """How many files of a store are in which state."""

    in_progress: int
    completed: int
    failed: int
    cancelled: int
    total: int


class VectorStoreObject(BaseModel):
    """A collection."""

    id: str
    object: Literal["vector_store"]
    created_at: int
    name: str
    status: Literal["in_progress", "completed", "expired"]
    file_counts: FileCounts
    metadata: dict[str, str]
    expires_at: int | None


class VectorStoreList(BaseModel):
    """Some of the collections."""

    object: Literal["list"]
    data: list[VectorStoreObject]
    first_id: str | None
    last_id: str | None
    has_more: bool


class VectorStoreFile(BaseModel):
    """A document of a collection."""

    id: str
    object: Literal["vector_store.file"]
    created_at: int
    vector_store_id: str
    status: Literal["in_progress", "completed", "failed", "cancelled"]
    usage_bytes: int
    last_error: dict[str, Any] | None
    attributes: dict[str, Any]


class VectorStoreFileList(BaseModel):
    """Some of the documents."""

    object: Literal["list"]
    data: list[VectorStoreFile]
    first_id: str | None
    last_id: str | None
    has_more: bool


class VectorStoreFileBatch(BaseModel):
    """Files that are indexed in one job."""

    id: str
    object: Literal["vector_store.files_batch"]
    created_at: int
    vector_store_id: str
    status: Literal["in_progress", "completed", "failed", "cancelled"]
    file_counts: FileCounts


class SearchText(BaseModel):
    """The text of a passage."""

    type: Literal["text"]
    text: str


class FileContentPage(BaseModel):
    """The text of a document, in pieces."""

    object: Literal["vector_store.file_content.page"]
    data: list[SearchText]
    has_more: bool
    next_page: str | None


class SearchHit(BaseModel):
    """A passage that fits."""

    file_id: str
    filename: str
    score: float
    attributes: dict[str, Any]
    content: list[SearchText]


class SearchPage(BaseModel):
    """The passages that fit best."""

    object: Literal["vector_store.search_results.page"]
    search_query: list[str]
    data: list[SearchHit]
    has_more: bool
    next_page: str | None


class Deleted(BaseModel):
    """What is gone."""

    id: str
    object: str
    deleted: bool
