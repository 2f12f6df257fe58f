"""Which embedder a collection uses: the bundled ones by language, or the configured one."""

from collections.abc import Iterable, Mapping
from typing import Protocol, runtime_checkable

from ragstone.core.errors import ConfigError, EmbeddingMismatch
from ragstone.core.records import Collection
from ragstone.models.minilm import MiniLm
from ragstone.models.multilingual import Bridge, MultilingualE5
from ragstone.models.named import LateModel, NamedModels
from ragstone.ports import Embedder
from ragstone.registry import Extension, Registry
from ragstone.settings import EmbeddingSettings


@runtime_checkable
class Described(Protocol):
    """A model that says where it is from, how large it is and how it is used."""

    @property
    def description(self) -> str: ...


class NamedModel(Protocol):
    @property
    def name(self) -> str: ...


def models_in_use(embedders: Iterable[NamedModel], reranker: NamedModel) -> tuple[str, ...]:
    """Return a line each."""
    kinds = [*(("embedding", embedder) for embedder in embedders), ("reranking", reranker)]
    return tuple(
        f"{kind}: {model.description if isinstance(model, Described) else model.name}"
        for kind, model in kinds
    )


BUNDLED = ("minilm", "multilingual")


@runtime_checkable
class Connected(Protocol):
    """A model that something has to be opened for before it is used."""

    async def connect(self) -> None:
        """Connect to the model. Raises ConfigError, ModelUnavailable."""
        ...


@runtime_checkable
class Closing(Protocol):
    """An embedder that holds what is freed when it is closed: a connection, or a model."""

    async def aclose(self) -> None: ...


class ConfiguredEmbedders:
    """`ports.Embedders` by the settings. Models load when they are first used."""

    def __init__(self, settings: EmbeddingSettings, models: NamedModels | None = None) -> None:
        self._models = models or NamedModels()
        self._english = MiniLm()
        own = self._make_embedders(settings)
        self._multilingual = own.get("multilingual")
        # One instance, so that 220 MB are in memory once.
        self._e5 = (
            self._multilingual
            if isinstance(self._multilingual, MultilingualE5)
            else MultilingualE5()
        )
        self._bridge = Bridge(self._multilingual) if self._multilingual else None
        self._own = list(own.values())
        self._colbert = self._make_colbert(settings)
        self._chosen = (
            {name: self._colbert.extend(item) for name, item in own.items()}
            if self._colbert
            else own
        )

    def _make_colbert(self, settings: EmbeddingSettings) -> LateModel | None:
        """Return the model that gives the token vectors instead of the embedders' own."""
        name = settings.late_model
        if not name:
            return None
        source = self._models.find(name)
        if source is None:
            raise ConfigError(
                f"EMBEDDING__LATE_MODEL is {name!r}: use a ColBERT model's folder, package:NAME or "
                "OWNER/NAME."
            )
        return source.late_model(name)

    def _make_embedders(self, settings: EmbeddingSettings) -> Mapping[str, Embedder]:
        """Return the embedders of the settings by their names at the extension point."""
        if settings.base_url:
            return {"server": EMBEDDERS.make("server", settings)}
        names = BUNDLED if settings.model == "auto" else (settings.model,)
        if names[0] not in EMBEDDERS:
            if source := self._models.find(settings.model):
                return {settings.model: source.embedder(settings)}
            raise ConfigError(
                f"EMBEDDING__MODEL is {settings.model!r}: use one of auto, {', '.join(EMBEDDERS)}, "
                "a model's folder, package:NAME or OWNER/NAME, or set EMBEDDING__BASE_URL to the "
                "server that has this model."
            )
        return {
            name: self._english if name == "minilm" else EMBEDDERS.make(name, settings)
            for name in names
        }

    async def connect(self) -> None:
        """Open what the models need, such as a server; raises ConfigError, ModelUnavailable."""
        for model in (*self._own, self._colbert):
            if isinstance(model, Connected):
                await model.connect()

    def choose(self, language: str) -> Embedder:
        if len(self._chosen) == 1:
            return self.usable()[0]
        return self._chosen["minilm" if language in ("en", "") else "multilingual"]

    def find_indexing(self, collection: Collection) -> Embedder:
        """The embedder that indexed `collection`; with `auto`, either bundled one will do."""
        for embedder in self.usable():
            if embedder.fingerprint == collection.fingerprint:
                return embedder
        current = self.choose(collection.language)
        raise EmbeddingMismatch(collection.name, collection.model, current.name)

    def find_comparing(self, collection: Collection) -> Embedder | None:
        own = self.find_indexing(collection)
        return own if own.multilingual else self._multilingual

    def find_bridging(self, collection: Collection) -> Bridge | None:
        own = self.find_indexing(collection)
        # With the token vectors of another model it is the same embedder.
        return self._bridge if getattr(own, "base", own) is self._english else None

    def usable(self) -> list[Embedder]:
        """Return every embedder that the settings allow."""
        return list(self._chosen.values())

    def english(self) -> MiniLm:
        """The bundled English one, which questions are understood with whatever the settings."""
        return self._english

    def multilingual(self) -> MultilingualE5:
        """Return the bundled one for texts of many languages, whatever the settings."""
        return self._e5

    def topic_embedder(self) -> Embedder:
        """Return the bundled one for texts of many languages, or the English one where the settings
        name another."""
        known = self._multilingual
        return known if isinstance(known, MultilingualE5) else self._english

    async def aclose(self) -> None:
        for model in (*{self._english, self._e5, *self._own}, self._colbert):
            if isinstance(model, Closing):
                await model.aclose()


def _minilm(settings: EmbeddingSettings) -> Embedder:
    return MiniLm()


def _multilingual(settings: EmbeddingSettings) -> Embedder:
    return MultilingualE5()


def _server(settings: EmbeddingSettings) -> Embedder:
    from ragstone.models.remote_embedder import RemoteEmbedder

    if not settings.base_url:
        raise ConfigError("EMBEDDING__MODEL is server: set EMBEDDING__BASE_URL to its address.")
    return RemoteEmbedder(settings)


EMBEDDERS: Registry[Embedder] = Registry(
    "ragstone.embedders",
    "embedder",
    {
        "minilm": Extension(_minilm, "The bundled English model"),
        "multilingual": Extension(_multilingual, "The bundled model of 100 languages"),
        "server": Extension(_server, "The OpenAI-compatible server of EMBEDDING__BASE_URL"),
    },
    makes=Embedder,
)
"""Embedders by EMBEDDING__MODEL, made of the settings of the embedding."""
