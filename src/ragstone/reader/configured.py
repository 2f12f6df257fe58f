"""The reader of the settings READER__*."""

from pathlib import Path

from ragstone.models.named.nli import NliModel
from ragstone.models.named.places import NamedModels
from ragstone.ports import PairReader
from ragstone.reader.inference import InferenceReader
from ragstone.reader.local import LocalReader
from ragstone.reader.network import CARD
from ragstone.settings import ReaderSettings


def open_configured_reader(settings: ReaderSettings, models: NamedModels) -> PairReader:
    """The bundled reader, or the model that is named, which is opened and tried at once; raises
    ConfigError, ModelUnavailable."""
    if not settings.model:
        return LocalReader(threads=settings.threads)
    folder = Path(settings.model).expanduser()
    if (folder / CARD).is_file():
        return LocalReader.opened(folder, settings.threads)
    model = NliModel("READER__MODEL", settings.model, models, settings.threads)
    return InferenceReader(model, LocalReader(threads=settings.threads))
