"""What a run of a source works with, and what it counts."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ragstone.core.errors import InputError
from ragstone.core.records import Collection
from ragstone.core.sync import MAX_REASONS, FailedItem, SourceRun, StoredSource
from ragstone.ingest import changes
from ragstone.ingest.pipeline import Pipeline
from ragstone.ingest.uploads import Spool, owner_digits
from ragstone.ingest.write import document_id
from ragstone.ports import Adapters, Catalog
from ragstone.ports.sources import SourceStore
from ragstone.settings import IngestSettings, Settings

MAX_NAME = 1_000
"""Characters of an item's path that are told."""

PAGE = 1_000
"""Documents, or items, that are listed in one step."""


@dataclass(frozen=True, slots=True)
class SyncParts:
    """What runs of sources work with. What sources keep is in `data`."""

    pipeline: Pipeline
    catalog: Catalog
    store: SourceStore
    settings: IngestSettings
    data: Path

    def folder(self, source: str) -> Path:
        """Return the folder of a source's own, by its id."""
        return self.data / "sources" / source

    def delete_files(self, source: str) -> None:
        """Delete all that is kept of a source, also what a killed run was fetching. Blocking."""
        Spool(self.data).forget(spool_owner(source))
        shutil.rmtree(self.folder(source), ignore_errors=True)


def sync_parts(settings: Settings, adapters: Adapters, pipeline: Pipeline) -> SyncParts:
    """Make what runs work with in this process."""
    data = settings.ragstone_data.expanduser().absolute()
    store = adapters.added["sources"]
    return SyncParts(pipeline, adapters.catalog, store, settings.ingest, data)


def spool_owner(source: str) -> str:
    """Return whose files in the spool those are that a run of a source fetches."""
    return owner_digits("", "source", source)


@dataclass(frozen=True, slots=True)
class SyncRequest:
    """What a run is to do. `dry`: only count. `accept_removals`: remove also what would be held
    back."""

    dry: bool = False
    accept_removals: bool = False


class RunRecord:
    """One attempt at a run of a source: what it counts is stored from time to time, and reported.

    `earlier` is how far an attempt was that was cut off: what it did is found unchanged now.
    """

    def __init__(
        self,
        parts: SyncParts,
        source: StoredSource,
        request: SyncRequest,
        earlier: SourceRun,
        report: Callable[[SourceRun], None],
    ) -> None:
        self.parts = parts
        self.source = source
        self.request = request
        self.run = replace(earlier, unchanged=0, failed=0, held=0, failures=(), notes=())
        self._report = report

    async def store(self) -> None:
        """Keep how far it is."""
        await self.parts.store.put_run(self.run)
        self._report(self.run)

    def change(self, run: SourceRun) -> None:
        """Take over other counts, and report them."""
        self.run = run
        self._report(run)

    def count(self, **numbers: int) -> None:
        """Add to what is counted."""
        added: dict[str, Any] = {
            name: getattr(self.run, name) + number for name, number in numbers.items()
        }
        self.run = replace(self.run, **added)

    def fail(self, path: str, reason: str) -> None:
        """Count an item that failed."""
        self.count(failed=1)
        if len(self.run.failures) < MAX_REASONS:
            # It is told over HTTP, which takes no broken Unicode.
            named = path[:MAX_NAME].encode("utf-8", "replace").decode()
            failed = FailedItem(named, reason)
            self.run = replace(self.run, failures=(*self.run.failures, failed))

    def note(self, sentence: str) -> None:
        """Add a sentence for whoever keeps the source."""
        self.run = replace(self.run, notes=(*self.run.notes, sentence))

    def may_remove(self, gone: int, known: int, *, empty: bool) -> bool:
        """Tell whether what is gone is to be removed. It is counted as held back where the source
        is `empty` or has lost so much at once that it is more likely not whole."""
        suspicious = changes.is_suspicious(gone, known, empty=empty)
        if suspicious and not self.request.accept_removals:
            self.count(held=gone)
            self.note(changes.explain_held(gone, known))
            return False
        if self.request.dry:
            self.count(removed=gone)
        return not self.request.dry

    def document_id(self, path: str) -> str:
        """Return the id of the document at a path."""
        return document_id(self.source.tenant, self.source.collection, path)

    async def find_collection(self) -> Collection | None:
        """Return the collection, None for one that is still to come."""
        return await self.parts.catalog.find_by_id(self.source.tenant, self.source.collection)

    async def name_collection(self) -> str:
        """Return the name of the collection. Raises InputError where it was deleted."""
        id = self.source.collection
        names = await self.parts.catalog.names(self.source.tenant, [id])
        if id not in names:
            raise InputError(
                "The collection of this source was deleted. Remove the source, and add it again if "
                "its documents are to come back."
            )
        return names[id]


async def forget_documents(parts: SyncParts, source: StoredSource) -> int:
    """Delete what came from a source; how many documents."""
    collection = await parts.catalog.find_by_id(source.tenant, source.collection)
    if collection is None:
        return 0
    place = source.tenant, source.collection
    known = await parts.catalog.sources(*place, [], [source.folder]) if source.folder else {}
    paths = [path for several in known.values() for path in several]
    after = ""
    while page := await parts.store.list_items(source.id, after, PAGE):
        paths += [item.path for item in page]
        after = page[-1].key
    found = await parts.catalog.find_documents([document_id(*place, path) for path in paths])
    await parts.pipeline.forget(collection, list(found))
    return len(found)
