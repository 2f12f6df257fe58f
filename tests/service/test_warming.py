"""What a first question needs is loaded before it comes, where there is something to ask."""

import asyncio
from dataclasses import dataclass, field, replace
from pathlib import Path

from ragstone.build import open as open_ragstone
from ragstone.core.errors import EmbeddingMismatch
from ragstone.core.records import Collection
from ragstone.core.turn import Principal
from ragstone.language.dictionary import english
from ragstone.local.warming import MAX_COLLECTIONS, warm
from ragstone.service import IngestRequest
from ragstone.settings import Settings
from tests.engine.adapters import a_kit

ONE = Collection("t", "one", "minilm", "f", 384)


@dataclass
class Recorded:
    """A catalog, intents and statistics in one; what was asked of the last two."""

    known: list[Collection]
    broken: str = ""
    asked: list[str] = field(default_factory=list)

    async def collections(self) -> list[Collection]:
        return self.known

    async def likeness(self, text: str) -> None:
        self.asked.append("intents")

    async def specificity(self, collection: Collection, question: str) -> None:
        if collection.name == self.broken:
            raise EmbeddingMismatch(collection.name, "a", "b")
        self.asked.append(collection.name)


async def warmed(recorded: Recorded) -> list[str]:
    await warm(a_kit(catalog=recorded, statistics=recorded, intents=recorded))
    return recorded.asked


async def test_given_no_collections_then_nothing_is_loaded() -> None:
    english.cache_clear()
    assert await warmed(Recorded([])) == []
    assert english.cache_info().currsize == 0


async def test_given_a_collection_then_models_and_words_are_loaded() -> None:
    english.cache_clear()
    assert await warmed(Recorded([ONE])) == ["intents", "one"]
    assert english.cache_info().currsize == 1


async def test_one_is_ready_once_all_is_loaded_and_keeps_nothing_of_the_question_for_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.txt").write_text("Whales sing.", encoding="utf-8")
    async with open_ragstone(Settings(ragstone_data=tmp_path / "data")) as ragstone:
        async for _ in ragstone.ingest(IngestRequest((str(tmp_path / "a.txt"),))):
            pass
        warming = asyncio.create_task(ragstone.warm())
        await asyncio.sleep(0)
        assert "being loaded" in (await ragstone.ready())["models"]
        await warming
        assert (await ragstone.ready())["models"] == "ok"
        assert not (await ragstone.report(Principal(), 1)).days
        assert (await ragstone.cache_figures()).misses == 0


async def test_given_one_that_cannot_be_asked_then_the_others_are_loaded() -> None:
    known = [replace(ONE, name="broken"), ONE]
    assert await warmed(Recorded(known, broken="broken")) == ["intents", "one"]


async def test_given_many_collections_then_a_start_looks_at_some() -> None:
    known = [replace(ONE, name=str(number)) for number in range(MAX_COLLECTIONS + 3)]
    assert len(await warmed(Recorded(known))) == 1 + MAX_COLLECTIONS
