"""Models that a setting names by where they are; a plugin knows such places and opens them."""

from functools import cached_property
from pathlib import Path
from typing import Protocol

from ragstone.ports import Embedder, PairReader, Reranker
from ragstone.registry import Registry
from ragstone.settings import EmbeddingSettings, RerankSettings


class LateModel(Protocol):
    """A model whose token vectors embedders have instead of their own."""

    async def connect(self) -> None: ...

    async def aclose(self) -> None: ...

    def extend(self, base: Embedder) -> Embedder:
        """Return the embedder with these token vectors."""
        ...


class ModelSource(Protocol):
    """Opens the models of one kind of place. What it makes is opened by `connect`, a reader at
    once; either raises ConfigError, ModelUnavailable."""

    def is_name(self, name: str) -> bool:
        """Tell whether a name is such a place."""
        ...

    def embedder(self, settings: EmbeddingSettings) -> Embedder: ...

    def late_model(self, name: str) -> LateModel: ...

    def reranker(self, settings: RerankSettings) -> Reranker: ...

    def reader(self, name: str, questions: PairReader) -> PairReader:
        """Return what reads claims, and leaves questions to `questions`."""
        ...


NAMED_MODELS: Registry[ModelSource] = Registry(
    "ragstone.named_models", "kind of named model", {}, makes=ModelSource
)
"""By a free name, made of the data directory."""


class NamedModels:
    """The models of all kinds of places; `data` is the data directory, None for the usual one."""

    def __init__(self, data: Path | None = None) -> None:
        self._data = data

    def find(self, name: str) -> ModelSource | None:
        """Return what opens the model of this name, None where it is the name of no place."""
        return next((source for source in self._sources if source.is_name(name)), None)

    @cached_property
    def _sources(self) -> list[ModelSource]:
        made = NAMED_MODELS.make_usable(NAMED_MODELS, "Its models are not found.", self._data)
        return list(made.values())
