"""What opens a model that a setting names, for each use."""

from pathlib import Path

from ragstone.plugins.named_models.embedder import NamedEmbedder
from ragstone.plugins.named_models.late_embedder import ColbertModel
from ragstone.plugins.named_models.pair_models import CrossEncoder, InferenceReader, NliModel
from ragstone.plugins.named_models.places import ModelPlaces
from ragstone.ports import PairReader
from ragstone.settings import EmbeddingSettings, RerankSettings


class OnnxModels:
    """`models.named.ModelSource`; what comes from a hub is kept in `data` / models."""

    def __init__(self, data: Path | None = None) -> None:
        self._places = ModelPlaces(data)

    def is_name(self, name: str) -> bool:
        return self._places.is_name(name)

    def embedder(self, settings: EmbeddingSettings) -> NamedEmbedder:
        return NamedEmbedder(settings, self._places)

    def late_model(self, name: str) -> ColbertModel:
        return ColbertModel(name, self._places)

    def reranker(self, settings: RerankSettings) -> CrossEncoder:
        return CrossEncoder(settings, self._places)

    def reader(self, name: str, questions: PairReader) -> InferenceReader:
        return InferenceReader(NliModel("READER__MODEL", name, self._places), questions)
