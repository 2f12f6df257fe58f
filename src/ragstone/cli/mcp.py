"""`ragstone mcp`: the tools over standard input and output."""

from importlib.util import find_spec
from typing import TYPE_CHECKING

import typer

from ragstone.cli.running import Context, context_settings, run
from ragstone.core.errors import ConfigError

if TYPE_CHECKING:
    from ragstone.service import Service

app = typer.Typer()


@app.command()
def mcp(context: Context) -> None:
    """Serve tools for agents (MCP) on standard input and output, until that ends."""
    run(context_settings(context), _serve)


async def _serve(service: "Service") -> int:
    if find_spec("mcp") is None:
        raise ConfigError("The tools need the MCP library: pip install 'ragstone[mcp]'.")
    from ragstone.http.mcp.tools import mcp_server

    await mcp_server(service).run_stdio_async()
    return 0
