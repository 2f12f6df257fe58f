"""A chat model that searches and calls tools until it can answer."""

from ragstone.registry import Extension, Plugin

PLUGIN = Plugin(
    "A chat model that searches and calls tools until it can answer.",
    {
        "adapters": {
            "approvals": Extension(f"{__name__}.approvals:open_approvals"),
            "gateway": Extension(f"{__name__}.tools.search:open_gateway"),
        },
        "settings": {
            "mcp": Extension(f"{__name__}.settings:McpSettings", "Tools of other servers.")
        },
        "stages": {
            "tool_agent": Extension(f"{__name__}.tool_agent:PLACE"),
            "cut_short": Extension(f"{__name__}.cut_short:PLACE"),
        },
    },
    points=(f"{__name__}.tool_calls:TOOLS",),
)
