"""The audit trail: who did what, and what came of it."""

from ragstone.registry import Extension, Plugin

PLUGIN = Plugin(
    "The audit trail: who did what, and what came of it.",
    {
        "adapters": {"audit": Extension(f"{__name__}.trail:open_trail")},
        "observers": {"audit": Extension(f"{__name__}.observer:open_observer")},
        "middleware": {"audit": Extension(f"{__name__}.requests:make_middleware")},
        "services": {"audit": Extension(f"{__name__}.contract:AUDIT")},
        "settings": {
            "audit": Extension(f"{__name__}.settings:AuditSettings", "Where it is, and how long.")
        },
        "commands": {"audit": Extension(f"{__name__}.commands:app", "Read the audit trail.")},
    },
)
