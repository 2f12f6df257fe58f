"""Conversations shown to others by a link, and notes that keep an answer with its evidence."""

from ragstone.registry import Extension, Plugin

PLUGIN = Plugin(
    "Conversations shown to others by a link, and notes that keep an answer with its evidence.",
    {
        "adapters": {"sharing": Extension(f"{__name__}.service:SqlSharing.make")},
        "services": {
            "shares": Extension(f"{__name__}.contract:SHARES"),
            "notes": Extension(f"{__name__}.contract:NOTES"),
        },
    },
)
