"""Customers' comments: read from tables, counted and quoted."""

from ragstone.registry import Extension, Plugin

PLUGIN = Plugin(
    "Customers' comments: read from tables, counted and quoted.",
    {
        "adapters": {"comments": Extension(f"{__name__}.comment_reader:open_reader")},
        "dialects": {
            "comments": Extension(
                f"{__name__}.routes:router", "/api/v1/collections/{name}/comments"
            )
        },
        "services": {"comments": Extension(f"{__name__}.contract:COMMENTS")},
        "stages": {"ask_comments": Extension(f"{__name__}.ask_comments:PLACE")},
        "commands": {
            "comments": Extension(
                f"{__name__}.commands:app", "Count what customers say, and quote it."
            )
        },
    },
)
