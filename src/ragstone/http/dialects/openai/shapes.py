"""What the OpenAI-compatible API answers, for the OpenAPI document: programs are generated from it.

The answers themselves are made as plain JSON (`answers`, `responses`, `stores`).
"""

from typing import Any, Literal

from pydantic import BaseModel, Field


class UrlCitation(BaseModel):
    """Where the answer cites a source: from `start_index` to `end_index`."""

    start_index: int
    end_index: int
    title: str
    url: str
    content: str = Field(description="What the source says there.")


class Annotation(BaseModel):
    """A citation of a message."""

    type: Literal["url_citation"]
    url_citation: UrlCitation


class AnswerMessage(BaseModel):
    """What is said."""

    role: Literal["assistant"]
    content: str | None
    refusal: str | None
    annotations: list[Annotation]
    tool_calls: list[dict[str, Any]] | None = None


class Choice(BaseModel):
    """The one answer."""

    index: int
    message: AnswerMessage
    finish_reason: Literal["stop", "length", "tool_calls", "content_filter"]


class TokenUsage(BaseModel):
    """Tokens of the chat model."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ChatCompletion(BaseModel):
    """A whole answer."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[Choice]
    usage: TokenUsage | None
    ragstone: dict[str, Any] = Field(description="Sources, verdicts and confidence.")


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


class CompletionChoice(BaseModel):
    """The one answer of a legacy completion."""

    index: int
    text: str
    logprobs: None
    finish_reason: str | None


class TextCompletion(BaseModel):
    """A whole legacy completion."""

    id: str
    object: Literal["text_completion"]
    created: int
    model: str
    choices: list[CompletionChoice]
    usage: TokenUsage | None
    ragstone: dict[str, Any] = Field(description="Sources, verdicts and confidence.")


class ModelObject(BaseModel):
    """A model, and what it is for."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str
    type: Literal["chat", "embedding"]


class ModelList(BaseModel):
    """All models."""

    object: Literal["list"]
    data: list[ModelObject]


class Embedding(BaseModel):
    """The vector of one text; a text in base64 where that was asked for."""

    object: Literal["embedding"]
    index: int
    embedding: list[float] | str


class EmbeddingUsage(BaseModel):
    """An estimate of the tokens."""

    prompt_tokens: int
    total_tokens: int


class EmbeddingList(BaseModel):
    """The vectors in the order of the texts."""

    object: Literal["list"]
    model: str
    data: list[Embedding]
    usage: EmbeddingUsage


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
