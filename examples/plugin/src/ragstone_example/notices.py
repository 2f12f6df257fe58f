"""A section of the settings: `NOTICES__MINIMUM` in the environment, `notices.minimum` elsewhere."""

from typing import ClassVar

from pydantic import Field

from ragstone.settings.added import AddedSection


class Notices(AddedSection):
    """What is announced at the end of an ingest."""

    # The others are read when Ragstone starts.
    at_run_time: ClassVar[frozenset[str]] = frozenset({"minimum"})

    minimum: int = Field(
        0, ge=0, description="Documents from which on it is announced how many there are."
    )
