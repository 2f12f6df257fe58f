"""The models: embedding, chat, reranking."""

from pydantic import Field, SecretStr

from ragstone.settings.section import Section


class EmbeddingSettings(Section):
    """The model that turns text into vectors."""

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


class LlmSettings(Section):
    """The chat model; without one, answers are extracted from the passages."""

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


class RerankSettings(Section):
    """How the best candidates are compared with the question a second time."""

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
