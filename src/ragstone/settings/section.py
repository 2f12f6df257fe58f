"""The base of every section of the settings, and the kinds of values that sections share."""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict


class Section(BaseModel):
    """Settings that belong together; an unknown name is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _split(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return tuple(part.strip() for part in value.split(",") if part.strip())


Names = Annotated[tuple[str, ...], BeforeValidator(_split)]
"""Several values in one variable, with commas between them."""
