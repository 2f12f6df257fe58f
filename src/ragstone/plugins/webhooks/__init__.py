"""Tells other programs of events: ingests, sources, documents and refused questions."""

from ragstone.registry import Extension, Plugin

PLUGIN = Plugin(
    "Tells other programs of events: ingests, sources, documents and refused questions.",
    {
        "adapters": {"webhooks": Extension(f"{__name__}.store:SqlWebhooks.make")},
        "commands": {
            "webhook": Extension(f"{__name__}.commands:app", "Addresses that are told of events.")
        },
        "jobs": {"webhook": Extension(f"{__name__}.deliver:open_work")},
        "services": {"webhooks": Extension(f"{__name__}.contract:WEBHOOKS")},
    },
)
