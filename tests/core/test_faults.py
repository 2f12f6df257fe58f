"""What is wrong with a value is said in words that need no knowledge of pydantic."""

from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, HttpUrl, ValidationError, field_validator

from ragstone.core.faults import describe_fault


class Sample(BaseModel):
    model_config = ConfigDict(extra="forbid")

    count: int = Field(1, ge=1, le=5000)
    share: float = Field(1.0, gt=0.5, lt=2)
    text: str = Field("a", min_length=1, max_length=20_000)
    code: str = Field("a", pattern="^[a-z]$")
    flag: bool = False
    mode: Literal["simple", "precise"] = "simple"
    items: list[int] = Field([1], min_length=1, max_length=3)
    options: dict[str, int] = {}
    address: HttpUrl | None = None
    even: int = 2

    @field_validator("even")
    @classmethod
    def _check_even(cls, value: int) -> int:
        if value % 2:
            raise ValueError("it must be even.")
        return value


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("count", 0, "it must be at least 1"),
        ("count", 5001, "it must be at most 5,000"),
        ("count", "many", "it must be a whole number"),
        ("count", 1.5, "it must be a whole number"),
        ("count", "1" * 5000, "it must be a whole number"),
        ("share", "hot", "it must be a number"),
        ("share", 0.5, "it must be more than 0.5"),
        ("share", 2, "it must be less than 2"),
        ("text", 3, "it must be a text"),
        ("text", "", "it must have at least 1 character"),
        ("text", "a" * 20_001, "it may have at most 20,000 characters"),
        ("code", "A", "it must match the pattern ^[a-z]$"),
        ("flag", "maybe", "it must be true or false"),
        ("mode", "other", "it must be 'simple' or 'precise'"),
        ("items", "none", "it must be a list"),
        ("items", [], "it must have at least 1 item"),
        ("items", [1, 2, 3, 4], "it may have at most 3 items"),
        ("options", [], "it must be an object"),
        ("address", "here", "it must be an address such as https://example.com"),
        ("even", 3, "it must be even"),
        ("other", 1, "it is not known here"),
    ],
)
def test_given_a_wrong_value_then_it_is_said_in_ordinary_words(
    name: str, value: Any, said: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        Sample.model_validate({name: value})

    assert describe_fault(caught.value.errors()[0]) == said
