"""What the bodies of requests share: texts that UTF-8 can encode, and which fields may be sent."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from ragstone.http.responses import well_formed

Text = Annotated[str, AfterValidator(well_formed)]
Name = Annotated[Text, Field(max_length=255)]


class Body(BaseModel):
    """Unknown fields are ignored, so that newer clients can ask an older server."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class StrictBody(Body):
    """Known fields must have their type."""

    model_config = ConfigDict(strict=True)


class NullableBody(Body):
    """A field that is null is left out."""

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        return {name: value for name, value in given.items() if value is not None}


class ClosedBody(BaseModel):
    """Unknown fields are refused, as a setting that is misspelt."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Approval(ClosedBody):
    """Whether a call of a tool that waits may be made."""

    approved: bool = Field(description="False declines it.")
