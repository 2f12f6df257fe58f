"""Sources that collections are kept in sync with: their kinds, and their runs."""

from ragstone.registry import Extension, Plugin

PLUGIN = Plugin(
    "Collections kept in sync: folders, Git, web sites, file servers, clouds, mail, wikis, SQL.",
    {
        "adapters": {"sources": Extension(f"{__name__}.store:SqlSources.make")},
        "commands": {
            "source": Extension(
                f"{__name__}.commands:app", "Keep collections in sync with sources."
            )
        },
        "jobs": {"source": Extension(f"{__name__}.service:source_work")},
        "services": {"sources": Extension(f"{__name__}.contract:SOURCES_PART")},
        "sources": {
            "folder": Extension(f"{__name__}.folder:FOLDER"),
            "confluence": Extension(f"{__name__}.confluence:CONFLUENCE"),
            "drive": Extension(f"{__name__}.drive:DRIVE", extra="drive"),
            "feed": Extension(f"{__name__}.feed:FEED"),
            "git": Extension(f"{__name__}.git:GIT"),
            "imap": Extension(f"{__name__}.imap:IMAP", extra="imap"),
            "jira": Extension(f"{__name__}.jira:JIRA"),
            "mediawiki": Extension(f"{__name__}.mediawiki:MEDIAWIKI"),
            "s3": Extension(f"{__name__}.s3:S3", extra="s3"),
            "sftp": Extension(f"{__name__}.sftp:SFTP", extra="sftp"),
            "sharepoint": Extension(f"{__name__}.sharepoint:SHAREPOINT"),
            "smb": Extension(f"{__name__}.smb:SMB", extra="smb"),
            "sql": Extension(f"{__name__}.sql:SQL"),
            "web": Extension(f"{__name__}.web:WEB"),
            "webdav": Extension(f"{__name__}.webdav:WEBDAV"),
        },
    },
    points=(f"{__name__}.kinds:SOURCES",),
)
