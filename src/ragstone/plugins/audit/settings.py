"""Settings of the audit trail."""

from pydantic import Field

from ragstone.settings.added import AddedSection


class AuditSettings(AddedSection):
    """Where the audit trail is kept, and for how long."""

    folder: str = Field(
        "",
        description="The folder of the audit trail, whose files only the server's user may read; "
        "empty for no trail.",
    )
    days: int = Field(
        365, ge=0, description="Days after which events are deleted; 0 keeps them all."
    )
    syslog: str = Field(
        "",
        pattern=r"^((udp|tcp)://[^/\s]+:\d{1,5})?$",
        description="Where events are sent as well, in RFC 5424, such as udp://logs.example.com:514.",
    )
    required: bool = Field(
        False,
        description="Whether requests are refused while the trail cannot be written, as on a full "
        "disk.",
    )
