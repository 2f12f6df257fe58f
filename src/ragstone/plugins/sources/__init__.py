"""Kinds of sources that a collection is kept in sync with, besides folders."""

from ragstone.registry import Extension, Plugin

PLUGIN = Plugin(
    "Kinds of sources besides folders: Git repositories, web sites, feeds.",
    {
        "sources": {
            "feed": Extension(f"{__name__}.feed:FEED"),
            "git": Extension(f"{__name__}.git:GIT"),
            "web": Extension(f"{__name__}.web:WEB"),
        }
    },
)
