"""Customers' comments: read from tables, counted and quoted."""

from ragstone.registry import Extension, Plugin

PLUGIN = Plugin(
    "Customers' comments: read from tables, counted and quoted.",
    {
        "adapters": {"comments": Extension(f"{__name__}.comment_reader:open_reader")},
        "services": {"comments": Extension(f"{__name__}.service:open_service")},
        "stages": {"ask_comments": Extension(f"{__name__}.ask_comments:PLACE")},
        "commands": {
            "comments": Extension(
                f"{__name__}.commands:app", "Count what customers say, and quote it."
            )
        },
    },
)
