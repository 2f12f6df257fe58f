"""What new documents name is read in the background, and a graph that was kept up to date is the
one that would be built anew."""

import os
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ragstone.core.chunk import EVERYONE
from ragstone.core.errors import StateUnavailable
from ragstone.plugins.graph import extract
from ragstone.store.sql.database import Database
from tests.ingest.test_graph_model import ScriptedModel
from tests.knowledge.graph.graphs import Graphs, open_graphs

CHANGES = int(os.environ.get("RAGSTONE_GRAPH_CHANGES", "150"))
NAMES = ("Ada Thornbury", "Niels Holm", "Oslo Harbour", "Blue Whale (BW)", "Meridian Line", "NASA")
READERS = (("*",), ("*", "group:red"), ("*", "group:green"), ("*", "group:red", "group:green"))


@pytest.fixture
async def graphs(state: Database, tmp_path: Path) -> AsyncIterator[Graphs]:
    async with open_graphs(state, tmp_path) as opened:
        yield opened


async def everything(graphs: Graphs) -> list[Any]:
    """All that each group of readers gets of a graph."""
    seen: list[Any] = []
    for readers in READERS:
        named = await graphs.mentions.most_named(graphs.collection, readers, 1_000)
        keys = [item.entity for item in named]
        seen.append(
            await graphs.mentions.find_entity_relations(graphs.collection, readers, keys, 10_000)
        )
        seen.append(await graphs.themes.readable(graphs.collection, readers, 1_000))
        every = await graphs.mentions.of_entities(graphs.collection, readers, keys, 1_000)
        seen += [named, every, await graphs.mentions.like(graphs.collection, readers, "", 1_000)]
    return seen


@pytest.mark.parametrize("by_model", [False, True])
async def test_given_random_changes_then_the_graph_is_the_one_built_anew(
    graphs: Graphs, by_model: bool
) -> None:
    r = random.Random(7)
    if by_model:
        graphs.read_by(ScriptedModel())
    for number in range(CHANGES):
        id = f"d{r.randint(0, CHANGES // 15)}"
        if r.random() < 0.25:
            await graphs.delete(id)
        else:
            texts = [
                f"Then {r.choice(NAMES)} met {r.choice(NAMES)}." for _ in range(r.randint(1, 3))
            ]
            allowed = r.choice([(EVERYONE,), ("group:red",), ("group:green",), ()])
            await graphs.write(id, *texts, allowed=allowed, title=r.choice(["", *NAMES]))
        if r.random() < 0.3:
            await graphs.read()
        if by_model and r.random() < 0.1:
            await graphs.read_by_model()
        if number == CHANGES // 2:
            await graphs.reader.aclose(seconds=0)
    await (graphs.read_by_model() if by_model else graphs.read())
    updated = await everything(graphs)
    assert all(updated[:3] if by_model else updated[1:3])
    await graphs.mentions.forget(graphs.collection)
    await graphs.themes.forget(graphs.collection)
    assert not any(await everything(graphs))
    await (graphs.read_by_model() if by_model else graphs.read())
    assert await everything(graphs) == updated


async def test_given_no_graph_is_wanted_then_nothing_is_read_and_what_was_is_forgotten(
    graphs: Graphs,
) -> None:
    await graphs.write("a", "Then Ada Thornbury slept.")
    graphs.on = False
    await graphs.read()
    assert await graphs.mentions.most_named(graphs.collection, ["*"], 9) == []
    graphs.on = True
    await graphs.read()
    assert await graphs.mentions.most_named(graphs.collection, ["*"], 9)
    graphs.on = False
    await graphs.read()
    assert await graphs.mentions.most_named(graphs.collection, ["*"], 9) == []


async def test_given_other_rules_then_all_is_read_again(
    graphs: Graphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    await graphs.write("a", "Then Ada Thornbury slept.")
    await graphs.read()
    assert await graphs.mentions.unread(graphs.collection, extract.READING) == []
    monkeypatch.setattr("ragstone.plugins.graph.reader.READING", "later")
    await graphs.read()
    assert await graphs.mentions.unread(graphs.collection, "later") == []
    assert len(await graphs.mentions.most_named(graphs.collection, ["*"], 9)) == 1


async def test_given_a_reader_that_ended_early_then_the_next_one_reads_the_rest(
    graphs: Graphs,
) -> None:
    for number in range(120):
        await graphs.write(f"d{number}", "Then Ada Thornbury slept.")
    graphs.reader.wake(graphs.collection)
    await graphs.reader.aclose(seconds=0)
    after = graphs.a_reader()
    after.wake(graphs.collection)
    await after.drain()
    [found] = await graphs.mentions.most_named(graphs.collection, ["*"], 9)
    assert found.chunks == 120


async def test_given_a_state_that_does_not_answer_then_it_is_said_and_the_next_time_it_is_read(
    graphs: Graphs, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await graphs.write("a", "Then Ada Thornbury slept.")

    async def fails(*_: object) -> None:
        raise StateUnavailable("The database is locked.")

    with monkeypatch.context() as patch:
        patch.setattr(graphs.mentions, "add", fails)
        await graphs.read()
    assert "could not be read: The database is locked." in caplog.text
    await graphs.read()
    assert await graphs.mentions.most_named(graphs.collection, ["*"], 9)
