"""The tool gateway of the settings. Its library is imported only when there is one."""

import logging
from contextlib import AbstractAsyncContextManager

from ragstone.core.errors import ConfigError, ToolsUnavailable
from ragstone.plugins.agent.settings import McpSettings
from ragstone.ports import Toolbox, ToolSession

log = logging.getLogger(__name__)

MISSING = "tools over MCP need the MCP client: pip install 'ragstone[mcp]'."


def make_toolbox(settings: McpSettings) -> Toolbox | None:
    """Return the gateway, None if it is off; raises ConfigError."""
    if not settings.mcp_enabled:
        return None
    if not settings.gateway:
        raise ConfigError(
            "MCP__MCP_ENABLED is true, but MCP__GATEWAY is empty: set its address, or a command."
        )
    try:
        from ragstone.plugins.agent.tools.gateway import McpGateway
    except ImportError:
        # Only questions need the tools: everything else goes on without them.
        log.warning("MCP__MCP_ENABLED is true, but %s", MISSING)
        return MissingTools()
    return McpGateway(settings)


class MissingTools:
    """`ports.Toolbox` where its library is not installed."""

    def session(self, organisation: str) -> AbstractAsyncContextManager[ToolSession]:
        raise ToolsUnavailable(MISSING)
