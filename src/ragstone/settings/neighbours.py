"""What stands beside Ragstone, as the systems that it takes the place of name it."""

from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field

from ragstone.settings.section import Section


class _Neighbour(Section):
    """A section whose prefix other programs use too: an unknown name is somebody else's."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class ServiceSettings(_Neighbour):
    """What this server calls itself."""

    name: str = Field("ragstone", max_length=200, description="The name of the service.")


def _listed(value: Any) -> Any:
    """Names with commas between them as a list."""
    if not isinstance(value, str):
        return value
    return tuple(name.strip() for name in value.split(",") if name.strip())


class PloneSettings(_Neighbour):
    """What a Plone site keeps in its registry below `wcs.backend.rag_`."""

    enabled: bool = Field(True, description="Whether the site's content is asked and indexed.")
    content_types: Annotated[tuple[str, ...], BeforeValidator(_listed)] = Field(
        ("ContentPage", "News", "File", "Contact", "Book", "Chapter"),
        description="Types of content that are indexed.",
    )
    error_message: str = Field(
        "The answer could not be made. Please try again later.",
        min_length=1,
        description="What is said when an answer fails.",
    )
