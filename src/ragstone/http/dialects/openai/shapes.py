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
