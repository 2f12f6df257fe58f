"""Answers that a person has verified, given first to who may read them and their sources."""

from ragstone.registry import Extension, Plugin

PLUGIN = Plugin(
    "Answers that a person has verified, given first to who may read them and their sources.",
    {
        "adapters": {"verified": Extension(f"{__name__}.store:SqlVerified.make")},
        "commands": {
            "verified": Extension(f"{__name__}.commands:app", "Answers that a person has verified.")
        },
        "services": {"verified": Extension(f"{__name__}.contract:VERIFIED")},
        "stages": {"give_verified": Extension(f"{__name__}.give_verified:PLACE")},
    },
)
