"""After an ingest the collection's words are read, in the background, and never twice."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from ragstone.core.records import Collection
from ragstone.index.edge.index import EdgeIndex
from ragstone.ingest.pipeline import Pipeline
from ragstone.ingest.vocabulary import VocabularyReader
from ragstone.service import IngestRequest
from ragstone.settings import IngestSettings
from ragstone.store.sql.catalog import SqlCatalog
from ragstone.store.sql.database import open_database
from ragstone.store.sql.vocabulary import SqlVocabulary
from tests.hashing import OneEmbedder

pytestmark = pytest.mark.slow


@dataclass
class House:
    """A pipeline with a vocabulary."""

    documents: Path
    catalog: SqlCatalog
    index: EdgeIndex
    vocabulary: SqlVocabulary
    reader: VocabularyReader
    pipeline: Pipeline

    async def ingest(self, prune: bool = False) -> None:
        request = IngestRequest((str(self.documents),), prune=prune)
        await self.pipeline.ingest("job", request, lambda _: None)

    async def collection(self) -> Collection:
        [found] = await self.catalog.collections()
        return found

    async def knows(self, *words: str) -> set[str]:
        await self.reader.drain()
        return set(await self.vocabulary.find_words(await self.collection(), words))


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    documents = tmp_path / "docs"
    documents.mkdir()
    async with open_database(tmp_path / "state.sqlite") as database:
        catalog = await SqlCatalog.open(database)
        index = EdgeIndex(tmp_path / "index")
        vocabulary = SqlVocabulary(database)
        reader = VocabularyReader(index, vocabulary)
        pipeline = Pipeline(index, catalog, OneEmbedder(), IngestSettings(), [reader])
        yield House(documents, catalog, index, vocabulary, reader, pipeline)
        await reader.aclose()
        await pipeline.aclose()
        await index.aclose()


async def test_given_an_ingest_then_words_of_text_and_title_are_known_without_accents(
    house: House,
) -> None:
    (house.documents / "a.md").write_text("# Whales\n\nMöngke saw QX-4471 and a Krill.")
    await house.ingest()
    asked = ("whales", "mongke", "krill", "saw", "shark", "x4471")
    assert await house.knows(*asked) == {"whales", "mongke", "krill", "saw"}
    assert await house.vocabulary.unread(await house.collection()) == []


async def test_given_a_record_of_where_the_chunks_were_then_they_are_read_from_the_new_one(
    house: House,
) -> None:
    (house.documents / "a.md").write_text("A whale.")
    pipeline = Pipeline(house.index, house.catalog, OneEmbedder(), IngestSettings())
    async with aclosing(pipeline) as silent:
        await silent.ingest("job", IngestRequest((str(house.documents),)), lambda _: None)
    collection = await house.collection()
    house.reader.wake(replace(collection, build=7))
    assert await house.knows("whale") == set()
    assert len(await house.vocabulary.unread(collection)) == 1
    house.reader.wake(collection)
    assert await house.knows("whale") == {"whale"}
    assert await house.vocabulary.unread(collection) == []


async def test_given_a_new_version_then_its_words_are_added_and_the_gone_are_forgotten(
    house: House,
) -> None:
    (house.documents / "b.txt").write_text("seals dive")
    file = house.documents / "a.txt"
    file.write_text("whales sing")
    await house.ingest()
    assert await house.knows("whales", "krill", "seals") == {"whales", "seals"}
    file.write_text("krill swim")
    await house.ingest()
    assert await house.knows("whales", "krill", "seals") == {"krill", "seals"}
    file.unlink()
    await house.ingest(prune=True)
    assert await house.knows("whales", "krill", "seals") == {"seals"}


async def test_given_a_process_that_ended_early_then_the_next_reads_the_rest(house: House) -> None:
    (house.documents / "a.txt").write_text("whales sing")
    await house.ingest()
    await house.reader.aclose(seconds=0)
    after = VocabularyReader(house.index, house.vocabulary)
    after.wake(await house.collection())
    after.wake(await house.collection())
    await after.drain()
    assert await house.knows("whales") == {"whales"}
