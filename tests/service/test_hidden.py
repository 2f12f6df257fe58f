"""What is deleted in one collection is hidden in its own searches and lengthens no other's."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from ragstone import build
from ragstone.core.filters import Filter
from ragstone.core.turn import LEVELS, Ask, Principal
from ragstone.engine.engine import Engine
from ragstone.index.edge.index import EdgeIndex
from ragstone.local import Ragstone
from ragstone.recipes.recipe import Recipes
from ragstone.service import IngestRequest
from ragstone.settings import CacheSettings, Settings

ANYBODY = Principal()
QUESTION = "How deep does the harbour pilot say the channel is?"
TEXT = "The harbour pilot says that the channel is {} metres deep."


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Ragstone]:
    """Two collections, "mine" and "theirs", of equal documents."""
    settings = Settings(ragstone_data=tmp_path / "data", cache=CacheSettings(enabled=False))
    async with build.open(settings) as opened:
        for collection in ("mine", "theirs"):
            folder = tmp_path / collection
            folder.mkdir()
            for number in range(12):
                file = folder / f"{number}.txt"
                file.write_text(TEXT.format(number + 3), encoding="utf-8")
            request = IngestRequest((str(folder),), collection=collection)
            async for _ in opened.ingest(request):
                pass
        for enricher in opened._pipeline._enrichers:
            await enricher.drain()  # What reads the documents in the background asks too.
        yield opened


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The filter of everything that the index is asked for, as text."""
    conditions: list[str] = []

    def recording(name: str) -> Callable[..., Any]:
        before = getattr(EdgeIndex, name)

        def method(*given: Any, **named: Any) -> Any:
            for item in (*given, *named.values()):
                if isinstance(item, Filter):
                    conditions.append(repr(item))
            return before(*given, **named)

        return method

    for name in ("search", "scan", "count", "facet", "without_vectors"):
        monkeypatch.setattr(EdgeIndex, name, recording(name))
    return conditions


async def every_read(service: Ragstone, collection: str) -> set[str]:
    """The paths that all ways of reading a collection show."""
    paths: set[str] = set()
    recipes = Recipes(Settings(cache=CacheSettings(enabled=False)))
    for level in LEVELS:
        ask = Ask(QUESTION, collection=collection, principal=ANYBODY, level=level)
        turn = await Engine(service._adapters, recipes.answer_recipe).answer(ask)
        paths |= {hit.chunk.path for hit in turn.hits}
    await service.reading.check_folder(ANYBODY, collection, "/")
    return paths


async def retired(service: Ragstone, collection: str, many: slice) -> list[str]:
    """Hide documents of a collection, whose chunks stay; the names of their revisions."""
    catalog = service._adapters.catalog
    known = await catalog.collection("default", collection)
    assert known
    some = (await catalog.documents("default", known.id))[many]
    await catalog.retire([item.id for item in some])
    async with catalog.snapshot(known) as hidden:
        return sorted(hidden)


async def test_given_a_deletion_elsewhere_then_no_filter_is_longer(
    service: Ragstone, asked: list[str]
) -> None:
    before = await every_read(service, "mine")
    alone = sorted(len(text) for text in asked)
    asked.clear()
    names = await retired(service, "theirs", slice(None))
    assert len(names) == 12
    assert await every_read(service, "mine") == before
    assert sorted(len(text) for text in asked) == alone
    assert not [text for text in asked if any(name in text for name in names)]


async def test_given_a_deletion_here_then_nothing_of_it_is_found_while_its_chunks_are_there(
    service: Ragstone, asked: list[str]
) -> None:
    names = await retired(service, "mine", slice(0, 6))
    await retired(service, "theirs", slice(6, 12))
    documents = await service._adapters.catalog.documents("default")
    live = {document.path for document in documents if document.path.startswith("/mine/")}
    assert len(live) == 6
    found = await every_read(service, "mine")
    assert found
    assert found <= live
    assert asked
    assert all(name in text for text in asked for name in names)
    known = await service._adapters.catalog.collection("default", "mine")
    assert known
    assert await service._adapters.index.count(known) >= 12
