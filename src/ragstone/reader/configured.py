"""The reader of the settings READER__*: the bundled one, or a model that READER__MODEL names."""

from pathlib import Path

from ragstone.core.errors import ConfigError
from ragstone.models.named import NamedModels
from ragstone.ports import PairReader
from ragstone.reader.local import LocalReader
from ragstone.reader.network import CARD
from ragstone.settings import ReaderSettings


def open_configured_reader(settings: ReaderSettings, models: NamedModels) -> PairReader:
    """Return the bundled reader, or the model that is named, which is opened and tried at once;
    raises ConfigError, ModelUnavailable."""
    name = settings.model
    if not name:
        return LocalReader()
    folder = Path(name).expanduser()
    if (folder / CARD).is_file():
        return LocalReader.load(folder)
    source = models.find(name)
    if source is None:
        raise ConfigError(
            f"READER__MODEL is {name!r}, which is not a folder, package:NAME or OWNER/NAME of a "
            "hub."
        )
    return source.reader(name, LocalReader())
