"""The tools of other servers, over the Model Context Protocol."""

from pydantic import ConfigDict, Field, SecretStr

from ragstone.settings.added import AddedSection
from ragstone.settings.section import Names


class McpSettings(AddedSection):
    """What a planning agent may do, and whose tools it may call."""

    # Other programs use the prefix MCP__ too.
    model_config = ConfigDict(frozen=True, extra="ignore")

    gateway: str = Field(
        "",
        description="Address of the gateway's MCP endpoint; /mcp is added to one without a path. "
        "Or a program that serves MCP on standard input and output, with its arguments, which runs "
        "once for each question. {org} in it stands for the request's mcp_org, which is also sent "
        "as X-MCP-Org.",
    )
    mcp_enabled: bool = Field(False, description="Whether tools of the gateway are called.")
    api_key: SecretStr = Field(SecretStr(""), description="The bearer token of the gateway.")
    read_only_tools: Names = Field(
        (),
        description="Tools that change nothing although they do not say so; all others that do not "
        "need an approval.",
    )
