"""Prompts that are changed while the server runs, in versions, for all or for one tenant."""

from ragstone.registry import Extension, Plugin

PLUGIN = Plugin(
    "Prompts that are changed while the server runs, in versions, for all or for one tenant.",
    {
        "commands": {
            "prompts": Extension(f"{__name__}.commands:app", "Prompts: what chat models are told.")
        },
        "services": {"prompts": Extension(f"{__name__}.contract:PROMPTS")},
    },
)
