"""The tools of other servers, over the Model Context Protocol."""

from pydantic import ConfigDict, Field, SecretStr

from ragstone.settings.section import Section


class McpSettings(Section):
    """The gateway whose tools a planning agent may call."""

    # Other programs use the prefix MCP__ too.
    model_config = ConfigDict(frozen=True, extra="ignore")

    gateway: str = Field(
        "",
        description="Address of the gateway's MCP endpoint; /mcp is added to one without a path. "
        "{org} in it stands for the request's mcp_org, which is also sent as X-MCP-Org.",
    )
    mcp_enabled: bool = Field(False, description="Whether tools of the gateway are called.")
    api_key: SecretStr = Field(SecretStr(""), description="The bearer token of the gateway.")
    connect_timeout: float = Field(
        5.0, gt=0, description="Seconds that connecting and listing tools may take."
    )
    timeout: float = Field(30.0, gt=0, description="Seconds that one call of a tool may take.")
    max_tools: int = Field(
        64, ge=1, le=1000, description="Tools of the gateway that are offered at most."
    )
    cache_seconds: float = Field(
        60.0, ge=0, description="Seconds for which the list of tools is not asked for again."
    )
    max_rounds: int = Field(
        4, ge=1, le=20, description="Replies of the chat model that may call tools, a question."
    )
    max_calls: int = Field(12, ge=1, le=100, description="Calls of tools, a question.")
    max_seconds: float = Field(
        60.0, gt=0, description="Seconds after which no further round of calls begins."
    )
    max_tokens: int = Field(
        50_000, ge=1, description="Tokens after which no further round of calls begins."
    )
    max_result_chars: int = Field(
        8000, ge=200, le=200_000, description="Longest text of one result that is read."
    )
