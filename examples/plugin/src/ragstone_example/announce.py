"""An enricher: each ingest says in its notes how many documents the collection has."""

from ragstone.core.records import Collection
from ragstone.ingest.progress import Tracker
from ragstone.local.added import EnricherParts
from ragstone_example.notices import Notices


class Announcer:
    """Says at the end of an ingest how many documents there are."""

    reads_former = False

    def __init__(self, parts: EnricherParts) -> None:
        self._catalog = parts.adapters.catalog
        self._settings_of = parts.settings_of

    def wake(self, collection: Collection) -> None:
        """Nothing is made in the background."""

    async def make(self, collection: Collection, tracker: Tracker) -> bool:
        documents = await self._catalog.documents(collection.tenant, collection.id)
        notices = (Notices.of(settings) for settings in self._settings_of(collection))
        if len(documents) >= min(notice.minimum for notice in notices):
            tracker.note(f"{collection.name!r} has {len(documents)} documents now.")
        return False

    async def aclose(self) -> None:
        """Nothing is going on."""


def announcer(parts: EnricherParts) -> Announcer:
    """Counts the documents after each ingest."""
    return Announcer(parts)
