"""The tool gateway of the settings. Its library is imported only when there is one."""

from ragstone.core.errors import ConfigError
from ragstone.ports import Toolbox
from ragstone.settings import McpSettings


def toolbox(settings: McpSettings) -> Toolbox | None:
    """The gateway, None if it is off; raises ConfigError."""
    if not settings.mcp_enabled:
        return None
    if not settings.gateway and not settings.command:
        raise ConfigError(
            "MCP__MCP_ENABLED is true, but MCP__GATEWAY is empty: set its address, or MCP__COMMAND."
        )
    if settings.gateway and settings.command:
        raise ConfigError("MCP__GATEWAY and MCP__COMMAND are both set: leave one of them out.")
    try:
        from ragstone.agent.tools.gateway import McpGateway
    except ImportError as error:
        raise ConfigError(
            "Tools over MCP need the MCP client: pip install 'ragstone[mcp]'."
        ) from error
    return McpGateway(settings)
