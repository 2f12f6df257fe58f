"""Keeps the entity graphs of collections up to date, in the background and as a part of ingests."""

from ragstone.core.records import Collection
from ragstone.ingest.progress import Tracker
from ragstone.local.added import EnricherParts
from ragstone.plugins.graph.entity_graph import own_graph
from ragstone.plugins.graph.model_reader import GraphModelReader
from ragstone.plugins.graph.reader import GraphReader


class GraphEnricher:
    """`ingest.enricher.Enricher`. `model` has the chat model read too; where it `lacks_model`, that
    is wanted and cannot be done."""

    def __init__(
        self, reader: GraphReader, model: GraphModelReader | None, lacks_model: bool
    ) -> None:
        self.reads_former = model is not None
        self._reader = reader
        self._model = model
        self._lacks_model = lacks_model

    def wake(self, collection: Collection) -> None:
        self._reader.wake(collection)

    async def make(self, collection: Collection, tracker: Tracker) -> bool:
        # The documents are in the graph by what the rules read while the model reads them.
        self.wake(collection)
        if self._model is not None:
            await self._model.make(collection, tracker)
        elif self._lacks_model:
            tracker.note(
                "INGEST__GRAPH=model has no effect: no chat model is set (LLM__MODEL). The graph "
                "is of what the rules read."
            )
        return False

    async def drain(self) -> None:
        """Return when everything has been read that was to be read."""
        await self._reader.drain()

    async def aclose(self) -> None:
        await self._reader.aclose()


def open_enricher(parts: EnricherParts) -> GraphEnricher:
    """Make what keeps the graphs of the collections whose questions, in any dialect, want one."""
    adapters, graph = parts.adapters, own_graph(parts.adapters)

    def is_wanted(collection: Collection) -> bool:
        return any(item.rag.knowledge_graph_enabled for item in parts.settings_of(collection))

    by_model = parts.settings.ingest.graph_by_model
    completer = adapters.completer if by_model else None
    reader = GraphReader(
        adapters.index,
        adapters.catalog,
        graph.mentions,
        graph.readings,
        graph.themes,
        is_wanted,
        completer is not None,
        recognizer=graph.recognizer,
    )
    if completer is None:
        return GraphEnricher(reader, None, by_model)
    model = GraphModelReader(
        adapters.index, graph.readings, graph.themes, adapters.templates, reader, completer
    )
    return GraphEnricher(reader, model, False)
