"""The entity graph of a real ingest: shown, searched by, switched on and off while it runs."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from ragstone import build
from ragstone.core.errors import UnknownCollection, UnknownEntity
from ragstone.core.turn import Ask, Principal
from ragstone.http.dialects.strategies import find_strategy
from ragstone.local import Ragstone
from ragstone.plugins.graph.contract import GraphView
from ragstone.retrieve.strategies import NO_GRAPH
from ragstone.service import IngestRequest, SearchResult
from ragstone.settings import RagSettings, Settings

pytestmark = pytest.mark.slow

ME = Principal()
KEY = "rag.knowledge_graph_enabled"
SHIP = "The ship Meridian was built in Glasgow. In it sailed Ada Thornbury (AT) of Bergen."
BORN = "# Bergen\n\nThe harbour of Bergen has a lighthouse of red brick."
SECRET = "The Meridian was sold to Niels Holm."


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "ship.txt").write_text(SHIP)
    (folder / "bergen.md").write_text(BORN)
    (folder / "secret.txt").write_text(SECRET)
    return folder


@pytest_asyncio.fixture
async def ragstone(tmp_path: Path, documents: Path) -> AsyncIterator[Ragstone]:
    settings = Settings(
        ragstone_data=tmp_path / "data", rag=RagSettings(knowledge_graph_enabled=True)
    )
    async with build.open(settings) as ragstone:
        await ingested(ragstone, documents / "ship.txt", documents / "bergen.md")
        await ingested(ragstone, documents / "secret.txt", allowed=("group:board",))
        await read(ragstone)
        yield ragstone


async def ingested(ragstone: Ragstone, *files: Path, allowed: tuple[str, ...] = ("*",)) -> None:
    request = IngestRequest(tuple(map(str, files)), allowed=allowed)
    assert [step async for step in ragstone.ingest(request)][-1].failed == ()


async def read(ragstone: Ragstone, waiting: int = 0) -> GraphView:
    """What is named, once so many documents wait to be read for the graph."""
    while (view := await ragstone.graph.show(ME, "default")).waiting != waiting:
        await asyncio.sleep(0.01)
    return view


def by_name(view: GraphView) -> dict[str, int]:
    return {item.name: item.chunks for item in view.named}


async def test_given_no_entity_then_what_is_named_most_is_shown(ragstone: Ragstone) -> None:
    named = by_name(await ragstone.graph.show(ME, "default"))
    assert named["Bergen"] == 2
    assert named["Meridian"] == 1
    assert "Niels Holm" not in named
    board = by_name(await ragstone.graph.show(Principal(groups=("board",)), "default"))
    assert (board["Meridian"], board["Niels Holm"]) == (2, 1)


async def test_given_an_entity_then_its_places_other_names_and_neighbours_are_shown(
    ragstone: Ragstone,
) -> None:
    view = await ragstone.graph.show(ME, "default", entity="ada thornbury")
    assert (view.entity, view.spellings) == ("Ada Thornbury", ("AT",))
    assert {place.path for place in view.places} == {"/ship.txt"}
    assert {"Meridian", "Glasgow", "Bergen"} <= by_name(view).keys()
    few = await ragstone.graph.show(ME, "default", entity="Ada Thornburry", limit=1)
    assert (few.entity, len(few.places), len(few.named)) == ("Ada Thornbury", 1, 1)


async def test_given_what_may_not_be_read_then_it_is_unknown_and_changes_nothing(
    ragstone: Ragstone,
) -> None:
    for entity in ("Niels Holm", "Nobody At All"):
        with pytest.raises(UnknownEntity):
            await ragstone.graph.show(ME, "default", entity=entity)
    with pytest.raises(UnknownCollection):
        await ragstone.graph.show(ME, "none")
    view = await ragstone.graph.show(ME, "default", entity="Meridian")
    assert {place.path for place in view.places} == {"/ship.txt"}


@pytest.mark.conforms("chat-core", "15.3", "Graph search")
async def test_given_the_strategy_graph_then_a_search_follows_names(ragstone: Ragstone) -> None:
    question = "Where did the owner of the Meridian come from?"
    found = await ragstone.search(Ask(question, strategy="graph"))
    [retrieved] = [item for item in found.trace if item.stage == "retrieve"]
    assert "graph" in retrieved.decision
    assert found.notes == ()
    assert {hit.chunk.path for hit in found.hits} == {"/ship.txt", "/bergen.md"}


async def test_given_the_setting_then_a_search_adds_what_names_lead_to(ragstone: Ragstone) -> None:
    found = await ragstone.search(Ask("Meridian", top_k=1))
    assert [hit.chunk.path for hit in found.hits] == ["/ship.txt", "/bergen.md"]
    assert [item.status for item in found.trace if item.stage == "add_related"] == ["done"]


async def test_given_the_setting_is_changed_while_it_runs_then_the_graph_goes_and_comes(
    ragstone: Ragstone,
) -> None:
    await ragstone.settings.put("global", {KEY: False}, "eva")
    assert (await read(ragstone, waiting=2)).named == ()
    found = await ragstone.search(Ask("What of the Meridian?", strategy="graph"))
    assert found.notes == (NO_GRAPH,)
    assert found.hits
    assert "add_related" not in [item.stage for item in found.trace]
    await ragstone.settings.put("dialect:plone", {KEY: True}, "eva")
    assert by_name(await read(ragstone))["Bergen"] == 2


async def test_given_a_document_is_deleted_then_its_share_is_gone(ragstone: Ragstone) -> None:
    await ragstone.delete(ME, "default", ["/ship.txt"])
    assert by_name(await ragstone.graph.show(ME, "default")) == {"Bergen": 1}


def looked_at(found: SearchResult) -> set[str]:
    """The levels of the graph of which passages were candidates."""
    [retrieved] = [item for item in found.trace if item.stage == "retrieve"]
    return set(re.findall(r"\b(graph|themes)\b", retrieved.decision))


THEMED = [
    "The ship Meridian met Ada Thornbury in Bergen on day {day}.",
    "The comet of Niels Holm crossed the Great Observatory in Uppsala on day {day}.",
]


@pytest.mark.conforms("Query pipeline", "Step 6", "LightRAG")
async def test_given_the_strategy_lightrag_then_names_and_themes_are_both_searched(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "themes"
    folder.mkdir()
    for number, text in enumerate(THEMED):
        for day in range(4):
            (folder / f"{number}-{day}.txt").write_text(text.format(day=day))
    (folder / "other.txt").write_text("The Meridian and Ada Thornbury left Bergen for the board.")
    settings = Settings(
        ragstone_data=tmp_path / "themed", rag=RagSettings(knowledge_graph_enabled=True)
    )
    strategy = find_strategy("lightrag").strategy
    async with build.open(settings) as ragstone:
        public = sorted(folder.glob("[01]-*.txt"))
        await ingested(ragstone, *public)
        await ingested(ragstone, folder / "other.txt", allowed=("group:board",))
        view = await read(ragstone)
        while not view.themes:
            await asyncio.sleep(0.05)
            view = await ragstone.graph.show(ME, "default")
        assert sorted(item.passages for item in view.themes) == [4, 4]
        assert all(item.summary and not item.by for item in view.themes)
        found = await ragstone.search(Ask("What about the Meridian?", strategy=strategy))
        assert looked_at(found) == {"graph", "themes"}
        assert not any("board" in hit.chunk.text for hit in found.hits)
        high = await ragstone.search(Ask("What about comets?", strategy="graph_high"))
        assert looked_at(high) == {"themes"}
        low = await ragstone.search(Ask("Who met Ada Thornbury?", strategy="graph_low"))
        assert looked_at(low) == {"graph"}
        one = await ragstone.graph.show(ME, "default", entity="Niels Holm")
        assert ["Niels Holm" in theme.title for theme in one.themes] == [True]
