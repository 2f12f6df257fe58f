"""The models: embedding, chat, reranking."""

from typing import Literal

from pydantic import Field, SecretStr

from ragstone.settings.section import Seconds, Section


class EmbeddingSettings(Section):
    """The model that turns text into vectors."""

    model: str = Field(
        "auto",
        description="auto (English or multilingual by the collection's text), minilm, "
        "multilingual, an embedder of a package, a model's folder, package:NAME or OWNER/NAME of a "
        "hub (docs/models.md), or the model's name at EMBEDDING__BASE_URL.",
    )
    base_url: str = Field("", description="An OpenAI-compatible server, up to and with /v1.")
    api_key: SecretStr = Field(SecretStr(""), description="The key of that server.")
    dimensions: int = Field(
        0,
        ge=0,
        description="Vector length to ask it for, or to cut a named model's vectors to; 0 is its "
        "own.",
    )
    pooling: Literal["auto", "mean", "cls", "last_token", "max"] = Field(
        "auto",
        description="How a named model's token vectors become one; auto is as its files say.",
    )
    query_prompt: str | None = Field(
        None, description="What a named model gets before a question; as its files say."
    )
    passage_prompt: str | None = Field(
        None, description="What a named model gets before a passage; as its files say."
    )
    late_model: str = Field(
        "",
        description="A ColBERT model whose token vectors passages are compared by instead of the "
        "bundled English model's: its folder, package:NAME or OWNER/NAME of a hub "
        "(docs/models.md).",
    )
    threads: int = Field(0, ge=0, description="Threads of a model here; 0 is one per core.")
    timeout: Seconds = Field(60.0, gt=0, description="Seconds that a call of that server may take.")


class StandbySettings(Section):
    """The chat model that answers when the first one fails: how it is reached. All other settings
    of the first one hold for it too, but for what is known of its own name."""

    model: str = Field(
        "",
        description="The model's name at LLM__BASE_URL, server:model for one on this machine "
        "(ollama:...), provider:model (anthropic:...), or name:model for a chat model of a "
        "package.",
    )
    base_url: str = Field("", description="An OpenAI-compatible server, up to and with /v1.")
    api_key: SecretStr = Field(SecretStr(""), description="The key of the model's server.")
    model_path: str = Field("", description="A GGUF file to run in this process.")

    @property
    def configured(self) -> bool:
        """Whether there is a chat model at all."""
        return bool(self.model or self.base_url or self.model_path)


class LlmSettings(StandbySettings):
    """The chat model; without one, answers are extracted from the passages."""

    temperature: float | None = Field(
        None, ge=0, le=2, description="Sampling temperature; by the model's profile."
    )
    top_p: float | None = Field(
        None, gt=0, le=1, description="Nucleus sampling; by the model's profile."
    )
    context_window: int | None = Field(
        None, ge=512, description="The context window in tokens; by the model's profile."
    )
    profiles: str = Field(
        "",
        description="Profiles of models by name, as JSON or a JSON file; see docs/models.md.",
    )
    vision: bool | None = Field(
        None, description="Whether the model can look at pictures; by the model's profile."
    )
    max_tokens: int = Field(1024, ge=1, description="Longest answer, in tokens.")
    timeout: Seconds = Field(
        120.0,
        gt=0,
        description="Seconds to wait for the model's first token and for each next, within "
        "SERVER__REQUEST_SECONDS; to load it, these alone.",
    )
    total_timeout: Seconds = Field(240.0, gt=0, description="Seconds that one reply may take.")
    retries: int = Field(3, ge=0, le=10, description="Retries of a call that said nothing yet.")
    parallel: int = Field(
        200, ge=0, description="Calls of the model at the same time; 0 is no limit. Others wait."
    )
    fallback: Literal["none", "extractive"] = Field(
        "extractive",
        description="What answers when neither the model nor that of LLM_FALLBACK__* does: the "
        "passages' own sentences, or none for an error. The documents of chat-core, the query "
        "pipeline and RAG engine v1 have none.",
    )


class RerankSettings(Section):
    """How the best candidates are compared with the question a second time."""

    base_url: str = Field("", description="An HTTP endpoint, up to and with /rerank.")
    model: str = Field(
        "",
        description="The model's name at that endpoint; else a cross-encoder's folder, "
        "package:NAME or OWNER/NAME of a hub (docs/models.md), llm for the chat model of "
        "LLM__*, the name of a package's reranker, or empty for late interaction.",
    )
    api_key: SecretStr = Field(SecretStr(""), description="The key of the endpoint.")
    weight: float = Field(
        0.7,
        ge=0,
        le=1,
        description="The reranker's share of the score; late interaction has its own.",
    )
    timeout: Seconds = Field(20.0, gt=0, description="Seconds that one call of it may take.")


class ReaderSettings(Section):
    """The model that reads a question or a statement beside a passage."""

    model: str = Field(
        "",
        description="A model of natural language inference for the verdicts: its folder, "
        "package:NAME or OWNER/NAME of a hub (docs/models.md); or a folder that make reader "
        "made. Empty for the bundled one.",
    )
    threads: int = Field(0, ge=0, description="Threads of the model; 0 is one per core.")
