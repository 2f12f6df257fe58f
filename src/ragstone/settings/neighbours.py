"""What stands beside Ragstone, as the systems that it takes the place of name it."""

from pydantic import ConfigDict, Field

from ragstone.settings.section import Section


class _Neighbour(Section):
    """A section whose prefix other programs use too: an unknown name is somebody else's."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class ServiceSettings(_Neighbour):
    """What this server calls itself."""

    name: str = Field("ragstone", max_length=200, description="The name of the service.")
