"""Where a setting's value comes from."""

from dataclasses import dataclass
from typing import Any, Literal

Source = Literal["default", "file", "environment", "command line", "program", "store"]


@dataclass(frozen=True, slots=True)
class Origin:
    """`where` names the variable, the file with its line, or the scope in the store."""

    source: Source = "default"
    where: str = ""


COMMAND_LINE = Origin("command line", "the command line")
PROGRAM = Origin("program", "settings of the client")


@dataclass(frozen=True, slots=True)
class GivenValue:
    """A value as it was given, with its origin."""

    value: Any
    origin: Origin
