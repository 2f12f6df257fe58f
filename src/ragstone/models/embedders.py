"""Which embedder a collection uses: the bundled ones by language, or the configured one."""

from typing import TYPE_CHECKING

from ragstone.core.errors import ConfigError, EmbeddingMismatch
from ragstone.core.records import Collection
from ragstone.models.minilm import MiniLm
from ragstone.models.multilingual import MultilingualE5
from ragstone.ports import Embedder
from ragstone.settings import EmbeddingSettings

if TYPE_CHECKING:
    from ragstone.models.remote_embedder import RemoteEmbedder

BUNDLED = ("minilm", "multilingual")


class ConfiguredEmbedders:
    """`ports.Embedders` by the settings. Models load when they are first used."""

    def __init__(self, settings: EmbeddingSettings) -> None:
        self._choice = settings.model
        self._remote: RemoteEmbedder | None = None
        self._bundled: dict[str, Embedder] = {}
        self._english = MiniLm(settings.threads)
        self._multilingual = MultilingualE5(settings.threads)
        if settings.base_url:
            self._remote = _remote(settings)
            return
        if settings.model not in ("auto", *BUNDLED):
            raise ConfigError(
                f"EMBEDDING__MODEL is {settings.model!r}: use auto, minilm or multilingual, "
                "or set EMBEDDING__BASE_URL to the server that has this model."
            )
        self._bundled = {
            "minilm": self._english,
            "multilingual": self._multilingual,
        }

    async def connect(self) -> None:
        """Ask a remote model for its dimensions; raises ModelUnavailable."""
        if self._remote:
            await self._remote.connect()

    def for_text(self, language: str) -> Embedder:
        if self._remote:
            return self._remote
        if self._choice != "auto":
            return self._bundled[self._choice]
        return self._bundled["minilm" if language in ("en", "") else "multilingual"]

    def of(self, collection: Collection) -> Embedder:
        """The embedder that indexed `collection`; with `auto`, either bundled one will do."""
        usable = self.usable()
        for embedder in usable:
            if embedder.fingerprint == collection.fingerprint:
                return embedder
        current = self.for_text(collection.language)
        raise EmbeddingMismatch(collection.name, collection.model, current.name)

    def usable(self) -> list[Embedder]:
        """Every embedder that the settings allow."""
        if self._remote:
            return [self._remote]
        if self._choice == "auto":
            return list(self._bundled.values())
        return [self._bundled[self._choice]]

    def english(self) -> MiniLm:
        """The bundled English one, which questions are understood with whatever the settings."""
        return self._english

    async def aclose(self) -> None:
        await self._english.aclose()
        await self._multilingual.aclose()
        if self._remote:
            await self._remote.aclose()


def _remote(settings: EmbeddingSettings) -> "RemoteEmbedder":
    from ragstone.models.remote_embedder import RemoteEmbedder

    return RemoteEmbedder(settings)
