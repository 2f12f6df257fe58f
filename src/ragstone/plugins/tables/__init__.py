"""Questions that count, sum, compare or filter rows of documents' tables become queries."""

from ragstone.registry import Extension, Plugin

PLUGIN = Plugin(
    "Questions that count, sum, compare or filter rows of documents' tables become queries.",
    {
        "adapters": {"tables": Extension(f"{__name__}.sandbox:open_sandbox")},
        "stages": {"tables": Extension(f"{__name__}.ask_tables:PLACE")},
        "tools": {"tables": Extension(f"{__name__}.tool:TablesTool")},
    },
)
