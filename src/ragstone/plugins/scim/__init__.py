"""SCIM 2: an identity provider makes, changes and deactivates accounts and groups."""

from ragstone.registry import Extension, Plugin

PLUGIN = Plugin(
    "SCIM 2: an identity provider makes, changes and deactivates accounts and groups.",
    {
        "adapters": {"scim": Extension(f"{__name__}.store:SqlGroups.make")},
        "dialects": {"scim": Extension(f"{__name__}.routes:router", "/scim/v2/*", extra="scim")},
        "services": {"scim": Extension(f"{__name__}.contract:SCIM")},
        "settings": {"scim": Extension(f"{__name__}.settings:ScimSettings")},
    },
)
