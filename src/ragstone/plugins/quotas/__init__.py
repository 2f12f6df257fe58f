"""What a user, a group or a tenant may use of chat models in a month."""

from ragstone.registry import Extension, Plugin

PLUGIN = Plugin(
    "What a user, a group or a tenant may use of chat models in a month.",
    {
        "adapters": {"quotas": Extension(f"{__name__}.service:SqlQuotas.make")},
        "commands": {
            "quota": Extension(f"{__name__}.commands:app", "Tokens and money for a month.")
        },
        "services": {"quotas": Extension(f"{__name__}.contract:QUOTAS")},
        "stages": {
            "check_quota": Extension(f"{__name__}.check_quota:PLACE"),
            "count_quota": Extension(f"{__name__}.count_quota:PLACE"),
        },
    },
)
