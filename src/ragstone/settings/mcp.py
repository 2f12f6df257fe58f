"""The tools of other servers, over the Model Context Protocol."""

from pydantic import ConfigDict, Field, SecretStr

from ragstone.settings.section import Names, Section


class McpSettings(Section):
    """What a planning agent may do, and whose tools it may call."""

    # Other programs use the prefix MCP__ too.
    model_config = ConfigDict(frozen=True, extra="ignore")

    gateway: str = Field(
        "",
        description="Address of the gateway's MCP endpoint; /mcp is added to one without a path. "
        "{org} in it stands for the request's mcp_org, which is also sent as X-MCP-Org.",
    )
    command: str = Field(
        "",
        description="A program that serves MCP on standard input and output, with its arguments, "
        "instead of the gateway; it runs once for each question. {org} is as in the address.",
    )
    mcp_enabled: bool = Field(False, description="Whether tools of the gateway are called.")
    api_key: SecretStr = Field(SecretStr(""), description="The bearer token of the gateway.")
    connect_timeout: float = Field(
        5.0, gt=0, description="Seconds that connecting and listing tools may take."
    )
    timeout: float = Field(30.0, gt=0, description="Seconds that one call of a tool may take.")
    read_only_tools: Names = Field(
        (),
        description="Tools that change nothing although they do not say so; all others that do not "
        "need an approval.",
    )
    approval_seconds: float = Field(
        120.0,
        gt=0,
        le=3600,
        description="Seconds for which a call that needs an approval waits for it.",
    )
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
    max_cost: float = Field(
        0.0,
        ge=0,
        description="US dollars after which no further round of calls begins, where the price of "
        "the model is known; 0 is no limit.",
    )
    max_result_chars: int = Field(
        8000, ge=200, le=200_000, description="Longest text of one result that is read."
    )
