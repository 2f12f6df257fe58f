"""Clients that index and delete documents of a server that may die at any instant."""

import asyncio
import itertools
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from ragstone.core.errors import UnknownCollection
from ragstone.core.turn import Ask
from ragstone.service import IngestRequest, Service
from tests.e2e.mixed_load import LOCAL, MOST

COLLECTIONS = ("default", "attic", "cellar")
"""The first is asked all the time, the others are deleted now and then."""

SEARCHED = 8
"""Documents that are searched for after each kill."""


@dataclass
class Lamp:
    """A document: the content that was acknowledged (None for none, so it was deleted), what a
    client tries to make of it, and the job that was taken on for that."""

    number: int
    collection: str
    content: int | None = None
    busy: bool = False
    wanted: int | None = None
    job: str = ""

    @property
    def path(self) -> str:
        return f"/lamp{self.number}.md"

    def settled(self) -> None:
        self.busy, self.wanted, self.job = False, None, ""


class Shelf:
    """The documents of several clients."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count(1)
        self.lamps: dict[int, Lamp] = {}
        self.dropping = ""

    def file(self, lamp: Lamp) -> Path:
        return self._folder / lamp.path.strip("/")

    def new(self) -> Lamp:
        places = [name for name in COLLECTIONS if name != self.dropping]
        lamp = Lamp(next(self._numbers), random.choice(places))
        self.lamps[lamp.number] = lamp
        return lamp

    def write(self, lamp: Lamp) -> Path:
        """The lamp's file, with new content."""
        lamp.wanted = random.randrange(10**6, 10**7)
        text = f"# Lamp {lamp.number}\n\nThe lamp {lamp.number} burns for {lamp.wanted} hours.\n"
        file = self.file(lamp)
        file.write_text(text * 3)
        return file

    def first(self, count: int) -> list[Path]:
        """Files that somebody else indexes in the first collection."""
        lamps = [Lamp(next(self._numbers), COLLECTIONS[0]) for _ in range(count)]
        self.lamps |= {lamp.number: lamp for lamp in lamps}
        files = [self.write(lamp) for lamp in lamps]
        for lamp in lamps:
            lamp.content = lamp.wanted
        return files

    def there(self, collection: str = "") -> list[Lamp]:
        """Documents that nobody is changing."""
        return [
            lamp
            for lamp in self.lamps.values()
            if lamp.content is not None
            and not lamp.busy
            and lamp.collection != self.dropping
            and collection in ("", lamp.collection)
        ]


class Ingesting:
    """Indexes new documents, and new content of those that are there."""

    weight = 4

    def __init__(self, shelf: Shelf) -> None:
        self.told: Counter[str] = Counter()
        self._shelf = shelf

    async def work(self, service: Service) -> None:
        there = self._shelf.there()
        lamp = random.choice(there) if there and random.random() < 0.3 else self._shelf.new()
        lamp.busy, file = True, self._shelf.write(lamp)
        async for step in service.ingest(IngestRequest((str(file),), lamp.collection)):
            self.told["ingests taken on"] += not lamp.job
            lamp.job = step.job
        assert (step.finished, step.error, step.failed) == (True, "", ()), step
        lamp.content = lamp.wanted
        lamp.settled()
        self.told["ingests done"] += 1

    async def check(self, service: Service, everything: bool) -> None:
        """A job that was taken on is done."""
        for lamp in self._shelf.lamps.values():
            if lamp.job:
                job = await service.jobs.get(LOCAL, lamp.job)
                assert job is not None, "an acknowledged ingest is lost"
                assert job.state == "done", f"an ingest is {job.state}: {job.error}"
                lamp.content = lamp.wanted
                lamp.settled()


class Deleting:
    """Deletes single documents, and now and then a whole collection."""

    weight = 4

    def __init__(self, shelf: Shelf) -> None:
        self.told: Counter[str] = Counter()
        self._shelf = shelf

    async def work(self, service: Service) -> None:
        if random.random() < 0.1:
            await self._drop(service, random.choice(COLLECTIONS[1:]))
        elif len(there := self._shelf.there()) > 3:
            lamp = random.choice(there)
            lamp.busy = True
            self._shelf.file(lamp).unlink()
            assert await service.delete(LOCAL, lamp.collection, [lamp.path]) == 1
            self._gone([lamp])
            self.told["deletions"] += 1
        await asyncio.sleep(0.1)

    async def _drop(self, service: Service, collection: str) -> None:
        """Delete a collection that nobody else is changing."""
        inside = self._shelf.there(collection)
        if not inside or any(
            lamp.busy for lamp in self._shelf.lamps.values() if lamp.collection == collection
        ):
            return
        self._shelf.dropping = collection
        for lamp in inside:
            lamp.busy = True
        assert await service.delete(LOCAL, collection) == len(inside)
        self._gone(inside)
        self._shelf.dropping = ""
        self.told["collections dropped"] += 1

    def _gone(self, lamps: list[Lamp]) -> None:
        for lamp in lamps:
            lamp.content = None
            lamp.settled()

    async def check(self, service: Service, everything: bool) -> None:
        """Every document is there or not, as it was said; some are looked at closely."""
        self._shelf.dropping = ""
        for collection in COLLECTIONS:
            await self._check(service, collection, everything)

    async def _check(self, service: Service, collection: str, everything: bool) -> None:
        try:
            listed = await service.documents(LOCAL, collection, limit=MOST)
        except UnknownCollection:
            listed = []
        lamps = [item for item in self._shelf.lamps.values() if item.collection == collection]
        paths = {document.path for document in listed}
        there = self._shelf.there(collection)
        assert {item.path for item in there} <= paths, "one is missing"
        gone = [item for item in lamps if item.content is None and not item.busy]
        assert not paths & {item.path for item in gone}, "a deleted document is back"
        some = random.sample(there, min(SEARCHED, len(there)))
        for lamp in there if everything else some:
            texts = await _found(service, lamp)
            assert texts, "an acknowledged document is not found"
            assert all(f" {lamp.content} " in text for text in texts), "an old version answers"
        for lamp in gone[-3:] if paths else ():
            assert not await _found(service, lamp), "a deleted document answers"
        summaries = {item.collection.name: item for item in await service.collections(LOCAL)}
        chunks = summaries[collection].chunks if collection in summaries else 0
        assert chunks == sum(item.chunks for item in listed), "chunks and documents disagree"
        await self._tidy(service, [item for item in lamps if item.busy], paths)

    async def _tidy(self, service: Service, open: list[Lamp], paths: set[str]) -> None:
        """What was under way may have been done or not; from now on it is not."""
        for lamp in open:
            self._shelf.file(lamp).unlink(missing_ok=True)
            if lamp.path in paths:
                await service.delete(LOCAL, lamp.collection, [lamp.path])
            self._gone([lamp])


async def _found(service: Service, lamp: Lamp) -> list[str]:
    """What a search finds of a document."""
    ask = Ask(f"lamp {lamp.number} hours", collection=lamp.collection, cache=False, top_k=50)
    hits = (await service.search(ask)).hits
    return [hit.chunk.text for hit in hits if hit.chunk.path == lamp.path]
