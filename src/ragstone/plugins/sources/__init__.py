"""Kinds of sources that a collection is kept in sync with, besides folders."""

from ragstone.registry import Extension, Plugin

PLUGIN = Plugin(
    "Kinds of sources besides folders: Git repositories, WebDAV, S3, SFTP.",
    {
        "sources": {
            "git": Extension(f"{__name__}.git:GIT"),
            "webdav": Extension(f"{__name__}.webdav:WEBDAV"),
            "s3": Extension(f"{__name__}.s3:S3", extra="s3"),
            "sftp": Extension(f"{__name__}.sftp:SFTP", extra="sftp"),
        }
    },
)
