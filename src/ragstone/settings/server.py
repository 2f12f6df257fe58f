"""The HTTP server.

Which of the HTTP dialects answer.

What is kept and told about the work: statistics, logs, telemetry.
"""

from pydantic import ConfigDict, Field, SecretStr

from ragstone.settings.section import Names, Section

ROOT_PATH = r"(/[A-Za-z0-9_~][A-Za-z0-9._~-]{0,99}){1,10}"
"""A plain path that a server may be below: nothing in it needs quoting, and no part leads up."""


STREAM_TIMES = 10
"""How much longer than an answer in one piece a stream may take, whose reader sees it go on."""


class _Neighbour(Section):
    """A section whose prefix other programs use too: an unknown name is somebody else's."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class ServiceSettings(_Neighbour):
    """What this server calls itself."""

    name: str = Field(
        "ragstone",
        max_length=200,
        description="The name of the service, in /health and for the collector of telemetry.",
    )


class ServerSettings(Section):
    """Where the HTTP server listens, to whom it answers, and how much it takes at a time."""

    host: str = Field(
        "127.0.0.1",
        description="Address to listen on; only loopback as long as there are no credentials.",
    )
    port: int = Field(8006, ge=0, le=65535, description="Port to listen on; 0 picks a free one.")
    public_url: str = Field(
        "",
        pattern=f"^(https?://[^\\s#?]+|{ROOT_PATH})?$",
        description="The address that people open this server at, such as "
        "https://docs.example.com/ragstone: it stands before the addresses of sources. A path "
        "alone, such as /ragstone, is that of a site that this server is below; a trusted proxy "
        "may say another in X-Forwarded-Prefix. Empty takes what the request was sent to.",
    )
    list_sources: bool = Field(
        False,
        description="Whether answers of the OpenAI-compatible API end with a list of what they "
        "cite, for clients that show no annotations; a request's list_sources overrides it.",
    )
    workers: int = Field(
        1, ge=1, le=64, description="Processes; one where the data directory holds index or state."
    )
    max_concurrent_queries: int = Field(
        200,
        ge=1,
        description="Questions and searches that one process answers at a time; one "
        "credential may have as many under way, those that wait among them.",
    )
    request_seconds: float = Field(
        60.0,
        gt=0,
        description="Until an answer, else 504; until the end of a streamed one or of an upload, "
        "ten times as long. A chat model that another stands by for has begun well before, also in "
        "a stream.",
    )
    max_request_mb: int = Field(4, ge=1, description="Largest request body, in megabytes.")
    max_upload_mb: int = Field(
        64, ge=1, description="Largest request body of an upload (multipart), in megabytes."
    )
    allowed_hosts: Names = Field(
        (),
        description="Host names that requests may be sent to, e.g. docs.example.com,*.example.org; "
        "without any: this machine's, or every name where a credential is required.",
    )
    cors_origins: Names = Field(
        (), description="Origins whose web pages may use this server, e.g. https://example.com."
    )
    metrics_token: SecretStr = Field(
        SecretStr(""), description="A bearer token that opens /metrics alone."
    )

    @property
    def public_address(self) -> str:
        """The public address without a slash at its end; empty if there is none but a path."""
        return "" if self.public_url.startswith("/") else self.public_url.rstrip("/")

    @property
    def stream_seconds(self) -> float:
        """Until the end of a streamed answer or of an upload."""
        return STREAM_TIMES * self.request_seconds


class DialectSettings(Section):
    """The HTTP APIs for clients of other systems, OpenAI's and MCP among them."""

    off: Names = Field(
        (),
        description="Dialects that do not answer, by comma: openai (`/v1/*`), mcp, chat_core, "
        "pipeline, rag_v1, plone, chats, retrieval, and those of other packages. The routes of one "
        "that is off do not exist.",
    )


class StatisticsSettings(Section):
    """What is kept of single questions."""

    trace_days: int = Field(
        7, ge=0, le=3650, description="Days that traces of questions are kept; 0 keeps none."
    )
    questions: bool = Field(
        False, description="Whether traces hold the question and what the stages say of it."
    )


class LogSettings(Section):
    """How the log is written."""

    format: str = Field(
        "text", pattern="^(text|json)$", description="text, or json with a line for each record."
    )


class TelemetrySettings(Section):
    """Where traces of requests are sent, by OpenTelemetry."""

    endpoint: str = Field(
        "", description="An OTLP/HTTP collector, as http://localhost:4318; empty sends nothing."
    )
