"""Settings from the environment and from an `.env` file."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dotenv import dotenv_values

from ragstone.core.errors import ConfigError
from ragstone.settings.aliases import BY_NAME
from ragstone.settings.names import readable
from ragstone.settings.origin import Origin

FILE = ".env"

Named = tuple[str, Any, Origin]


def from_environment(sections: frozenset[str]) -> Iterator[Named]:
    """The variables of this process that may be settings, by their dotted names."""
    yield from _settings(os.environ, sections, "")


def from_dotenv(sections: frozenset[str]) -> Iterator[Named]:
    """The same from the `.env` file of the working directory; raises ConfigError."""
    try:
        values = dotenv_values(FILE, encoding="utf-8") if Path(FILE).is_file() else {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The file {Path(FILE).absolute()} cannot be read: {error}.") from error
    yield from _settings(values, sections, f" in {FILE}")


def _settings(
    variables: Mapping[str, str | None], sections: frozenset[str], place: str
) -> Iterator[Named]:
    for variable, value in variables.items():
        name, origin = variable.lower(), Origin("environment", f"{variable}{place}")
        if value is None:
            continue
        if name in BY_NAME:
            if value.strip():  # A container passes on what its host has not set.
                yield name, value, origin
            continue
        first, *rest = name.split("__")
        if rest and first in sections:
            yield ".".join((first, *rest)), value if first == "prompts" else readable(value), origin
        elif name in sections and isinstance(whole := readable(value), dict):
            for inside, one in whole.items():
                yield f"{name}.{inside}", one, origin
        elif name not in sections:
            yield name, value, origin
