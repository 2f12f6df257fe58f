"""Settings for an evaluation, which touches nothing that a server uses."""

from pathlib import Path

from ragstone.settings import ConversationSettings, Settings, StateSettings


def apart(settings: Settings, directory: Path) -> Settings:
    """Return the settings on a directory of its own, which shares its state with no server."""
    alone = {"ragstone_data": directory, "state": StateSettings()}
    index = settings.index.model_copy(update={"from_url": ""})
    others = {"conversation": ConversationSettings(), "index": index}
    return settings.model_copy(update={**alone, **others})
