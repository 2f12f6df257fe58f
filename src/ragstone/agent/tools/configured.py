"""The tool gateway of the settings. Its library is imported only when there is one."""

from ragstone.core.errors import ConfigError
from ragstone.ports import Toolbox
from ragstone.settings import McpSettings


def toolbox(settings: McpSettings) -> Toolbox | None:
    """The gateway, None if it is off; raises ConfigError."""
    if not settings.mcp_enabled:
        return None
    if not settings.gateway:
        raise ConfigError("MCP__MCP_ENABLED is true, but MCP__GATEWAY is empty: set its address.")
    try:
        from ragstone.agent.tools.gateway import McpGateway
    except ImportError as error:
        raise ConfigError(
            "MCP__GATEWAY needs the MCP client: pip install 'ragstone[mcp]'."
        ) from error
    return McpGateway(settings)
