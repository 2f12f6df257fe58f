"""The base of every section of the settings, and the kinds of values that sections share."""

import re
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_DURATION = re.compile(rf"\s*(\d+(?:\.\d+)?)\s*({'|'.join(_UNITS)})\s*")


def seconds(value: Any) -> Any:
    """Return a text that names a unit as seconds; anything else as it is."""
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    return float(match[1]) * _UNITS[match[2]] if match else value


Seconds = Annotated[float, BeforeValidator(seconds)]
"""A number of seconds, which may be written with its unit."""


class Section(BaseModel):
    """Settings that belong together; an unknown name is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def split(value: Any) -> Any:
    """Return a text with commas as its parts; anything else as it is."""
    if not isinstance(value, str):
        return value
    return tuple(part.strip() for part in value.split(",") if part.strip())


Names = Annotated[tuple[str, ...], BeforeValidator(split)]
"""Several values in one variable, with commas between them."""
