"""The base of every section of the settings."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """Settings that belong together; an unknown name is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")
