"""Late interaction as a list of its own: from the ingest to the passages, through all that
happens to a collection."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ragstone import build
from ragstone.core.records import Collection
from ragstone.core.turn import Ask, Principal, RankedList, Scored, Turn
from ragstone.engine.engine import Engine
from ragstone.index import connect
from ragstone.index.edge.index import EdgeIndex
from ragstone.local import Ragstone
from ragstone.recipes.recipe import Recipes
from ragstone.retrieve.fusion import FusionWeights, fuse
from ragstone.service import IngestRequest, Progress
from ragstone.settings import (
    CacheSettings,
    EmbeddingSettings,
    IngestSettings,
    Settings,
)
from tests.named_models.test_colbert import OWN, a_colbert

pytestmark = pytest.mark.slow

ANYBODY = Principal()

WHALES = "Whales sing songs that travel for hundreds of kilometres."
SECRET = "The whales of the secret bay sing for the board."


@asynccontextmanager
async def opened(data: Path, late: bool = True, **changes: Any) -> AsyncIterator[Ragstone]:
    ingest = IngestSettings(token_vectors="search" if late else "none")
    cache = CacheSettings(enabled=False)
    settings = Settings(ragstone_data=data, ingest=ingest, cache=cache, **changes)
    async with build.open(settings) as service:
        yield service


async def ingested(service: Ragstone, folder: Path, **options: Any) -> Progress:
    async for step in service.ingest(IngestRequest((str(folder),), **options)):
        last = step
    return last


def written(folder: Path, **texts: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return folder


async def searched(service: Ragstone, question: str, principal: Principal = ANYBODY) -> Turn:
    engine = Engine(service._adapters, Recipes(Settings()).search_recipe)
    turn = await engine.answer(Ask(question, principal=principal))
    await engine.aclose()
    return turn


async def late_texts(service: Ragstone, question: str, **changes: Any) -> list[str] | None:
    """The texts of what late interaction finds for a question, best first; None where it is not
    asked."""
    turn = await searched(service, question, **changes)
    for ranked in turn.lists:
        if ranked.source == "late":
            assert turn.collection
            ids = [item.chunk_id for item in ranked.found]
            found = await service._adapters.index.fetch(turn.collection, ids)
            return [found[id].text for id in ids]
    return None


async def the_collection(service: Ragstone) -> Collection:
    [found] = await service._adapters.catalog.collections()
    return found


@pytest.mark.conforms("Query pipeline", "Step 6", "ColBERT/WARP is fused with the rest")
async def test_given_the_setting_then_late_interaction_is_a_list_of_its_own(
    tmp_path: Path,
) -> None:
    folder = written(tmp_path / "d", whales=WHALES, cats="A cat purrs when it is content.")
    async with opened(tmp_path / "data") as service:
        assert (await ingested(service, folder)).failed == ()
        assert (await the_collection(service)).late == 128
        assert await late_texts(service, "Which animals sing?") == [
            WHALES,
            "A cat purrs when it is content.",
        ]
        # A search that was made before is kept with its passages, without its lists.
        turn = await searched(service, "Which animals sing songs?")
        assert {items.source for items in turn.lists} == {"dense", "bm25", "late"}
        assert turn.hits[0].chunk.text == WHALES


async def test_given_no_setting_then_nothing_of_it_is_kept_or_searched(tmp_path: Path) -> None:
    async with opened(tmp_path / "data", late=False) as service:
        await ingested(service, written(tmp_path / "d", whales=WHALES))
        collection = await the_collection(service)
        assert collection.late == 0
        index = service._adapters.index
        ids = [item.chunk_id async for batch in index.scan(collection) for item in batch]
        assert await index.tokens(collection, ids) == {}
        assert await late_texts(service, "Which animals sing?") is None


async def test_given_readers_then_late_interaction_finds_only_what_they_may_read(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path / "data") as service:
        await ingested(service, written(tmp_path / "open", whales=WHALES))
        secret = written(tmp_path / "board", secret=SECRET)
        await ingested(service, secret, allowed=("group:board",))
        asked = "Where do whales sing?"
        assert await late_texts(service, asked) == [WHALES]
        board = Principal(groups=("board",))
        found = await late_texts(service, asked, principal=board)
        assert found is not None
        assert set(found) == {WHALES, SECRET}


async def test_given_a_new_version_and_a_deletion_then_late_interaction_finds_what_is_there(
    tmp_path: Path,
) -> None:
    folder = written(tmp_path / "d", whales=WHALES, cats="A cat purrs when it is content.")
    async with opened(tmp_path / "data") as service:
        await ingested(service, folder)
        written(folder, whales="Whales eat krill and sing no more.")
        (folder / "cats.txt").unlink()
        await ingested(service, folder, prune=True)
        assert await late_texts(service, "Which animals sing?") == [
            "Whales eat krill and sing no more."
        ]


async def test_given_a_collection_without_it_then_an_ingest_says_so_and_a_rebuild_adds_it(
    tmp_path: Path,
) -> None:
    folder = written(tmp_path / "d", whales=WHALES)
    async with opened(tmp_path / "data", late=False) as service:
        await ingested(service, folder)
    async with opened(tmp_path / "data") as service:
        assert await late_texts(service, "Which animals sing?") is None
        last = await ingested(service, folder)
        assert any("'ragstone rebuild --collection default'" in note for note in last.notes)
        async for _ in service.rebuild("default", "default"):
            pass
        assert (await the_collection(service)).late == 128
        assert await late_texts(service, "Which animals sing?") == [WHALES]
    async with opened(tmp_path / "data", late=False) as service:
        async for _ in service.rebuild("default", "default"):
            pass
        assert await late_texts(service, "Which animals sing?") is None


async def test_given_an_embedder_without_token_vectors_then_the_ingest_says_what_to_set(
    tmp_path: Path,
) -> None:
    embedding = EmbeddingSettings(model="multilingual")
    async with opened(tmp_path / "data", embedding=embedding) as service:
        last = await ingested(service, written(tmp_path / "d", whales=WHALES))
        assert any("EMBEDDING__LATE_MODEL" in note for note in last.notes)
        assert (await the_collection(service)).late == 0
        assert await late_texts(service, "Which animals sing?") is None


async def test_given_a_colbert_model_then_the_index_holds_its_token_vectors(
    tmp_path: Path,
) -> None:
    embedding = EmbeddingSettings(late_model=str(a_colbert(tmp_path / "m", OWN)))
    folder = written(tmp_path / "d", whales=WHALES, wale="Wale singen im Meer.", cats="Cats purr.")
    async with opened(tmp_path / "data", embedding=embedding) as service:
        await ingested(service, folder)
        assert (await the_collection(service)).late == 32
        found = await late_texts(service, "whales sing songs")
        assert found is not None
        assert found[0] == WHALES
        assert (await searched(service, "whales sing songs")).hits[0].chunk.text == WHALES


async def test_given_a_backup_then_a_restore_brings_late_interaction_back(tmp_path: Path) -> None:
    file = tmp_path / "backup.zip"
    async with opened(tmp_path / "data") as service:
        await ingested(service, written(tmp_path / "d", whales=WHALES))
        async for _ in service.maintenance.back_up(str(file)):
            pass
    async with opened(tmp_path / "other", late=False) as service:
        async for _ in service.maintenance.restore(str(file)):
            pass
        assert (await the_collection(service)).late == 128
        assert await late_texts(service, "Which animals sing?") == [WHALES]


def test_given_a_list_of_late_interaction_then_it_has_its_share_of_the_score() -> None:
    def ranked(source: Any, *ids: str) -> RankedList:
        scored = tuple(Scored(id, 0.9 - place / 2) for place, id in enumerate(ids))
        return RankedList(source, "q", scored)

    lists = [ranked("dense", "a", "b"), ranked("late", "b", "a")]
    assert list(fuse(lists, FusionWeights(dense=0.4, late=0.1))) == ["a", "b"]
    assert list(fuse(lists, FusionWeights(dense=0.4, late=2.0))) == ["b", "a"]


class OlderIndex(EdgeIndex):
    """An index of a package from before there was late interaction."""

    searches_late = False


async def test_given_an_index_that_cannot_then_one_clear_error_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written(tmp_path / "d", whales=WHALES)
    monkeypatch.setattr(connect, "connect", lambda settings, data: OlderIndex(data))
    async with opened(tmp_path / "data") as service:
        last = await ingested(service, folder)
        assert "cannot search collection 'default' by late interaction" in last.error
        assert await service._adapters.catalog.collections() == []
