"""Times as people write them: `10s`, `500ms`, `2m`."""

import re
from typing import Annotated, Any

from pydantic import BeforeValidator

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_DURATION = re.compile(rf"\s*(\d+(?:\.\d+)?)\s*({'|'.join(_UNITS)})\s*")


def seconds(value: Any) -> Any:
    """A text that names a unit as seconds; anything else as it is."""
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    return float(match[1]) * _UNITS[match[2]] if match else value


Seconds = Annotated[float, BeforeValidator(seconds)]
"""A number of seconds, which may be written with its unit."""
