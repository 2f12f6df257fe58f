"""How large the numbers may be that the operations take from another process: what the stores can
hold, and what one answer can carry."""

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field
from pydantic_core.core_schema import CoreSchema, no_info_after_validator_function


@dataclass(frozen=True, slots=True)
class Length:
    """How many characters a text has; half characters are allowed, as file names may have them,
    which pydantic's own limits do not take."""

    longest: int
    shortest: int

    def check(self, given: str) -> str:
        if not self.shortest <= len(given) <= self.longest:
            raise ValueError(f"it must have {self.shortest:,} to {self.longest:,} characters")
        return given

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        return no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: Any) -> dict[str, Any]:
        limits = {"maxLength": self.longest} | (
            {"minLength": self.shortest} if self.shortest else {}
        )
        return {**handler(schema), **limits}


def text(longest: int, shortest: int = 0) -> Any:
    """The type of a text of so many characters."""
    return Length(longest, shortest)


Count = Annotated[int, Field(ge=0, le=100_000)]
Offset = Annotated[int, Field(ge=0, le=2**53)]
Days = Annotated[int, Field(ge=1, le=3650)]
Version = Annotated[int, Field(ge=0, le=2**31 - 1)]
Seconds = Annotated[float, Field(ge=0, le=1e10)]
