"""A Plone site: its content as documents with their readers, and the dialect of its pages."""

from ragstone.registry import Extension, Plugin

PLUGIN = Plugin(
    "A Plone site: its content as documents with their readers, and the dialect of its pages.",
    {
        "dialects": {"plone": Extension(f"{__name__}.routes:router", "@rag-ask and its kin")},
        "settings": {
            "plone": Extension(f"{__name__}.settings:PloneSettings", "The site, and who reads it.")
        },
        "commands": {"plone": Extension(f"{__name__}.commands:app", "Index a Plone site.")},
    },
)
