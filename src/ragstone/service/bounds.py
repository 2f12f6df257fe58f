"""How large the numbers may be that the operations take from another process: what the stores can
hold, and what one answer can carry."""

from typing import Annotated, Any

from pydantic import AfterValidator, Field


def text(longest: int, shortest: int = 0) -> Any:
    """The type of a text of so many characters; half characters are allowed, as file names may
    have them, which pydantic's own limits do not take."""

    def check_length(given: str) -> str:
        if not shortest <= len(given) <= longest:
            raise ValueError(f"it must have {shortest:,} to {longest:,} characters")
        return given

    return AfterValidator(check_length)


Count = Annotated[int, Field(ge=0, le=100_000)]
Offset = Annotated[int, Field(ge=0, le=2**53)]
Days = Annotated[int, Field(ge=1, le=3650)]
Version = Annotated[int, Field(ge=0, le=2**31 - 1)]
Seconds = Annotated[float, Field(ge=0, le=1e10)]
