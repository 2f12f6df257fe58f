"""Where a setting's value comes from."""

from dataclasses import dataclass, replace
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
    """A value as it was given, with its origin, and what it counts more than, the least first."""

    value: Any
    origin: Origin
    over: tuple["GivenValue", ...] = ()

    def override(self, other: "GivenValue | None") -> "GivenValue":
        """Return this value where another one was given too, which counts less."""
        if other is None:
            return self
        beaten = (*other.over, replace(other, over=()), *self.over)
        return replace(self, over=beaten)
