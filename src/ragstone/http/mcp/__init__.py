"""Ragstone as a server of tools over MCP."""
