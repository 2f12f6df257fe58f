"""The models: embedding, chat, reranking."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, SecretStr

from ragstone.settings.section import Seconds, Section, split

Decision = Literal["intent", "complexity", "documents", "faq", "sentences"]
Decisions = Annotated[tuple[Decision, ...], BeforeValidator(split)]


class ModelOptions(Section):
    """What the files of an embedding model do not say; empty and None are as they say."""

    pooling: Literal["", "mean", "cls", "last_token", "max"] = ""
    query_prompt: str | None = None
    passage_prompt: str | None = None


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
    options: ModelOptions = Field(
        ModelOptions(),
        description="What the files of a named model do not say, as JSON or a mapping in the file: "
        "pooling (mean, cls, last_token or max), how its token vectors become one; query_prompt "
        "and passage_prompt, what it gets before a question and a passage.",
    )
    late_model: str = Field(
        "",
        description="A ColBERT model whose token vectors passages are compared by instead of the "
        "bundled English model's: its folder, package:NAME or OWNER/NAME of a hub "
        "(docs/models.md).",
    )


GGUF = ".gguf"


class StandbySettings(Section):
    """The chat model that answers when the first one fails: how it is reached. All other settings
    of the first one hold for it too, but for what is known of its own name."""

    model: str = Field(
        "",
        description="The model's name at LLM__BASE_URL, server:model for one on this machine "
        "(ollama:...), provider:model (anthropic:...), name:model for a chat model of a package, "
        "or a GGUF file to run in this process (its name ends in .gguf).",
    )
    base_url: str = Field("", description="An OpenAI-compatible server, up to and with /v1.")
    api_key: SecretStr = Field(SecretStr(""), description="The key of the model's server.")

    @property
    def model_path(self) -> str:
        """The GGUF file that runs in this process; empty for a model that is elsewhere."""
        return self.model if self.model.lower().endswith(GGUF) and not self.base_url else ""

    @property
    def model_name(self) -> str:
        """The model's name without a folder."""
        return Path(self.model_path).stem or self.model

    @property
    def is_configured(self) -> bool:
        """Whether there is a chat model at all."""
        return bool(self.model or self.base_url)


class LlmSettings(StandbySettings):
    """The chat model; without one, answers are extracted from the passages."""

    temperature: float | None = Field(
        None, ge=0, le=2, description="Sampling temperature; by the model's profile."
    )
    context_window: int | None = Field(
        None, ge=512, description="The context window in tokens; by the model's profile."
    )
    profiles: str = Field(
        "", description="Profiles of models by name, as JSON or a JSON file; see docs/models.md."
    )
    vision: bool | None = Field(
        None, description="Whether the model can look at pictures; by the model's profile."
    )
    max_tokens: int = Field(1024, ge=1, description="Longest answer, in tokens.")
    timeout: Seconds = Field(
        120.0,
        gt=0,
        description="Seconds to wait for the model's first token and for each next, within "
        "SERVER__REQUEST_SECONDS; to load it, these alone. One reply may take twice as long.",
    )
    retries: int = Field(3, ge=0, le=10, description="Retries of a call that said nothing yet.")
    fallback: Literal["none", "extractive"] = Field(
        "extractive",
        description="What answers when neither the model nor that of LLM_FALLBACK__* does: the "
        "passages' own sentences, or none for an error. The documents of chat-core, the query "
        "pipeline and RAG engine v1 have none.",
    )

    decides: Decisions = Field(
        ("intent", "sentences"),
        description="What the chat model decides besides its answers, where there is one, each by "
        "a short call: intent, the kind of question where rules and examples are unsure; "
        "complexity, how complex it is, instead of patterns; documents, at enhanced and maximum "
        "whether it is about the conversation and needs none, where no fixed phrase says so; "
        "faq, whether one of a FAQ asks the same in other words, as in chat-core's document; "
        "sentences, the verdict on those of which the comparison is unsure.",
    )

    @property
    def total_timeout(self) -> float:
        """Seconds that one reply may take: a model that says something all the time ends too."""
        return 2 * self.timeout


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


class ReaderSettings(Section):
    """The model that reads a question or a statement beside a passage."""

    model: str = Field(
        "",
        description="A model of natural language inference for the verdicts: its folder, "
        "package:NAME or OWNER/NAME of a hub (docs/models.md); or a folder that make reader "
        "made. Empty for the bundled one.",
    )
