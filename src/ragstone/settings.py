"""Every setting, read once from the environment and an optional `.env` file.

Nested names are joined with two underscores: `LLM__BASE_URL`, `EMBEDDING__MODEL`. Each field has
a default and a help text; `docs/settings.md` lists them, and a test holds the two together.
"""

import os
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from ragstone.errors import ConfigError

_SECTION = ConfigDict(frozen=True, extra="forbid")


class ServerSettings(BaseModel):
    """Where the HTTP server listens."""

    model_config = _SECTION

    host: str = Field("127.0.0.1", description="Address to listen on; loopback only.")
    port: int = Field(8006, ge=0, le=65535, description="Port to listen on; 0 picks a free one.")
    max_request_mb: int = Field(4, ge=1, description="Largest request body, in megabytes.")


class EmbeddingSettings(BaseModel):
    """The model that turns text into vectors."""

    model_config = _SECTION

    model: str = Field(
        "auto",
        description="auto (English or multilingual by the collection's text), minilm, "
        "multilingual, or the model's name at EMBEDDING__BASE_URL.",
    )
    base_url: str = Field("", description="An OpenAI-compatible server, up to and with /v1.")
    api_key: SecretStr = Field(SecretStr(""), description="The key of that server.")
    dimensions: int = Field(0, ge=0, description="Vector length to ask it for; 0 is its own.")
    batch_size: int = Field(32, ge=1, le=2048, description="Texts in one call of that server.")
    threads: int = Field(0, ge=0, description="Threads of the bundled models; 0 is one per core.")
    timeout: float = Field(60.0, gt=0, description="Seconds that a call of that server may take.")


class IndexSettings(BaseModel):
    """Where chunks and their vectors are kept."""

    model_config = _SECTION

    url: str = Field(
        "",
        description="Empty for Qdrant Edge in the data directory; http:// or https:// for a "
        "Qdrant server; postgresql:// for PostgreSQL; elasticsearch+http:// for Elasticsearch; "
        "kdb+http:// or retrieval+http:// for a retrieval service that is asked instead.",
    )
    api_key: SecretStr = Field(SecretStr(""), description="The key of that server.")
    timeout: float = Field(30.0, gt=0, description="Seconds that one request to it may take.")


class LlmSettings(BaseModel):
    """The chat model; without one, answers are extracted from the passages."""

    model_config = _SECTION

    model: str = Field(
        "", description="The model's name at LLM__BASE_URL, or provider:model (anthropic:...)."
    )
    base_url: str = Field("", description="An OpenAI-compatible server, up to and with /v1.")
    api_key: SecretStr = Field(SecretStr(""), description="The key of the model's server.")
    model_path: str = Field("", description="A GGUF file to run in this process.")
    temperature: float = Field(0.3, ge=0, le=2, description="Sampling temperature.")
    max_tokens: int = Field(1024, ge=1, description="Longest answer, in tokens.")
    context_window: int = Field(8192, ge=512, description="The model's context window, in tokens.")
    timeout: float = Field(120.0, gt=0, description="Seconds to wait for the model's next token.")

    @property
    def configured(self) -> bool:
        """Whether there is a chat model at all."""
        return bool(self.model or self.base_url or self.model_path)


class RerankSettings(BaseModel):
    """How the best candidates are compared with the question a second time."""

    model_config = _SECTION

    model_path: str = Field(
        "", description="A folder with a cross-encoder: model.onnx and tokenizer.json."
    )
    base_url: str = Field("", description="An HTTP endpoint, up to and with /rerank.")
    model: str = Field(
        "",
        description="The model's name at that endpoint; llm for the chat model of LLM__*; empty, "
        "with neither folder nor endpoint, for late interaction.",
    )
    api_key: SecretStr = Field(SecretStr(""), description="The key of the endpoint.")
    weight: float = Field(
        0.7,
        ge=0,
        le=1,
        description="The reranker's share of the score; late interaction has its own.",
    )
    timeout: float = Field(20.0, gt=0, description="Seconds that one call of it may take.")


class RagSettings(BaseModel):
    """Retrieval and answering."""

    model_config = _SECTION

    top_k: int = Field(10, ge=1, le=100, description="Passages that the answer is made from.")
    candidates: int = Field(100, ge=10, le=1000, description="Chunks taken from each search.")
    dense_weight: float = Field(
        0.4, ge=0, le=1, description="Share of meaning in the fused score; the rest is words."
    )
    fusion: Literal["scores", "ranks"] = Field(
        "scores", description="How meaning and words are combined: scores, or ranks (RRF)."
    )
    rrf_k: int = Field(30, ge=1, description="Damping of ranks, where fusion is ranks.")
    title_boost: float = Field(
        0.0, ge=0, le=1, description="Share of the score for a title that says it all."
    )
    feedback: bool = Field(
        True, description="Whether what a topical question finds first refines its search."
    )
    rerank: bool = Field(True, description="Whether the best candidates are compared again.")
    reranked: int = Field(
        30,
        ge=2,
        le=200,
        description="Candidates that are compared again; twice at the higher levels.",
    )
    parallel: int = Field(
        0,
        ge=0,
        le=1000,
        description="Searches at a time, further ones wait in turn; 0 is the processors and one.",
    )
    similarity_threshold: float = Field(
        0.0,
        ge=0,
        le=1,
        description="Least similarity of a passage to the question, on the scale that is the same "
        "for every embedder; 0 keeps all.",
    )
    context_tokens: int = Field(3000, ge=100, description="Most tokens of passages in one prompt.")
    answer_timeout: float = Field(300.0, gt=0, description="Seconds that one answer may take.")
    max_question_chars: int = Field(20_000, ge=100, description="Longest question, in characters.")
    refuse_below: float = Field(
        0.5, ge=0, le=1, description="Confidence under which the extractive answerer refuses."
    )
    no_answer: str = Field(
        "The documents do not hold an answer to this question.",
        min_length=1,
        description="What a refusal says.",
    )


class IngestSettings(BaseModel):
    """Reading and cutting documents."""

    model_config = _SECTION

    chunk_size: int = Field(1000, ge=100, le=100_000, description="Longest chunk, in chunk_unit.")
    chunk_overlap: int = Field(200, ge=0, description="Overlap of two chunks, in chunk_unit.")
    chunk_unit: str = Field(
        "characters", pattern="^(characters|tokens)$", description="characters or tokens."
    )
    token_vectors: bool = Field(
        True,
        description="Whether token vectors for reranking are kept, about 8 KB a chunk; without "
        "them they are computed at the question, about 30 ms a candidate.",
    )
    max_file_mb: int = Field(
        512, ge=1, description="Largest file of a streamed format (text, CSV, PDF), in megabytes."
    )
    max_memory_mb: int = Field(
        128,
        ge=1,
        description="Largest file of a format that is parsed whole, in megabytes; "
        "for zipped formats, of its unpacked content.",
    )
    follow_links: bool = Field(
        False, description="Whether a link may lead outside the folder that was given."
    )

    @model_validator(mode="after")
    def _overlap_fits(self) -> "IngestSettings":
        if self.chunk_overlap * 2 > self.chunk_size:
            raise ValueError("chunk_overlap must be at most half of chunk_size")
        return self


class Settings(BaseSettings):
    """All of them."""

    model_config = SettingsConfigDict(
        frozen=True, extra="ignore", env_nested_delimiter="__", env_file=".env"
    )

    ragstone_data: Path = Field(
        default_factory=lambda: default_data_directory(),
        description="The data directory: index, state and jobs.",
    )
    log_level: str = Field(
        "WARNING", pattern="^(DEBUG|INFO|WARNING|ERROR)$", description="DEBUG to ERROR."
    )
    server: ServerSettings = ServerSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    index: IndexSettings = IndexSettings()
    llm: LlmSettings = LlmSettings()
    rerank: RerankSettings = RerankSettings()
    rag: RagSettings = RagSettings()
    ingest: IngestSettings = IngestSettings()


def default_data_directory() -> Path:
    """`$XDG_DATA_HOME/ragstone`, by the XDG base directory specification."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "ragstone"


def load(**overrides: object) -> Settings:
    """Read the settings; raises ConfigError that names the variable and what is wrong with it."""
    try:
        return Settings(**overrides)  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors()[0]
        name = "__".join(str(part) for part in first["loc"]).upper()
        raise ConfigError(f"The setting {name} is wrong: {first['msg']}.") from error
