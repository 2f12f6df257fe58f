"""The HTTP server."""

from pydantic import Field

from ragstone.settings.section import Section


class ServerSettings(Section):
    """Where the HTTP server listens."""

    host: str = Field("127.0.0.1", description="Address to listen on; loopback only.")
    port: int = Field(8006, ge=0, le=65535, description="Port to listen on; 0 picks a free one.")
    workers: int = Field(
        1, ge=1, le=64, description="Processes; more than one needs an index and state on servers."
    )
    max_concurrent_queries: int = Field(
        200, ge=1, description="Questions and searches that one process answers at a time."
    )
    max_request_mb: int = Field(4, ge=1, description="Largest request body, in megabytes.")
