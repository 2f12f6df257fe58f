"""Settings from the environment and from an `.env` file."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dotenv import dotenv_values

from ragstone.core.errors import ConfigError
from ragstone.settings.added import aliases_by_name
from ragstone.settings.names import readable
from ragstone.settings.origin import Origin

FILE = ".env"

Named = tuple[str, Any, Origin]


@dataclass(frozen=True, slots=True)
class Variables:
    """Variables of one place, which is named behind each of them."""

    values: Mapping[str, str | None]
    place: str = ""

    def settings(self, sections: frozenset[str]) -> Iterator[Named]:
        """Those that may be settings, by their dotted names. An empty one counts as not set: a
        container passes on what its host has not set."""
        for variable, value in self.values.items():
            name, origin = variable.lower(), Origin("environment", f"{variable}{self.place}")
            if value is None or not value.strip():
                continue
            if name in aliases_by_name():
                yield name, value, origin
                continue
            first, *rest = name.split("__")
            if rest and first in sections:
                key = ".".join((first, *rest))
                yield key, value if first == "prompts" else readable(value), origin
            elif name in sections and isinstance(whole := readable(value), dict):
                for inside, item in whole.items():
                    yield f"{name}.{inside}", item, origin
            elif name not in sections:
                yield name, value, origin


def environment() -> Variables:
    """The variables of this process."""
    return Variables(os.environ)


def dotenv() -> Variables:
    """Those of the `.env` file of the working directory; raises ConfigError."""
    try:
        values = dotenv_values(FILE, encoding="utf-8") if Path(FILE).is_file() else {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The file {Path(FILE).absolute()} cannot be read: {error}.") from error
    return Variables(values, f" in {FILE}")
