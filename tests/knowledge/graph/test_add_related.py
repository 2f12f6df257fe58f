"""The graph adds passages behind those that were found, and moves none of them."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ragstone.core.turn import Ask, Hit, Plan, Principal, Strategy, Turn
from ragstone.engine.stage import Step
from ragstone.plugins.graph.add_related import AddRelated
from ragstone.store.sql.database import Database
from tests.engine.adapters import ran
from tests.knowledge.graph.graphs import EVA, Graphs, open_graphs

QUESTION = "Where was the captain of the Meridian born?"


@pytest.fixture
async def graphs(state: Database, tmp_path: Path) -> AsyncIterator[Graphs]:
    async with open_graphs(state, tmp_path) as opened:
        await opened.write("ship", "The ship Meridian was led by Ada Thornbury.")
        await opened.write("person", "Then Ada Thornbury was born in Bergen.")
        await opened.write("board", "Then Ada Thornbury left.", allowed=("group:board",))
        await opened.read()
        yield opened


async def added(
    graphs: Graphs,
    principal: Principal = EVA,
    strategy: Strategy = "hybrid",
    left_out: tuple[str, ...] = (),
    **parts: Any,
) -> Step:
    [ship] = await graphs.related("the Meridian", limit=1)
    chunk = (await graphs.index.fetch(graphs.collection, [ship.chunk_id]))[ship.chunk_id]
    turn = Turn(
        Ask(QUESTION, principal),
        question=QUESTION,
        queries=(QUESTION,),
        plan=Plan(strategy=strategy),
        collection=graphs.collection,
        hits=(Hit(chunk, 0.8),),
        left_out=left_out,
    )
    held = {"index": graphs.index, "catalog": graphs.catalog, "graph": graphs.graph, **parts}
    step, _ = await ran(AddRelated(most=2), turn, **held)
    return step


@pytest.mark.conforms("Query pipeline", "Step 7", "Knowledge graph: 2 hops")
async def test_given_a_passage_then_what_it_names_brings_the_next_one_behind_it(
    graphs: Graphs,
) -> None:
    step = await added(graphs)
    assert [hit.chunk.document_id for hit in step.turn.hits] == ["ship", "person"]
    assert step.turn.hits[0].score == 0.8 >= step.turn.hits[1].score > 0
    assert step.turn.hits[1].chunk.collection == graphs.collection.name
    assert (step.decision, step.reason) == ("1 passages", "over Meridian > Ada Thornbury")


async def test_given_who_may_read_more_then_more_is_added(graphs: Graphs) -> None:
    step = await added(graphs, Principal(groups=("board",)))
    assert {hit.chunk.document_id for hit in step.turn.hits} == {"ship", "person", "board"}


async def test_given_nothing_new_then_the_passages_stay(graphs: Graphs) -> None:
    await graphs.delete("person")
    step = await added(graphs)
    assert len(step.turn.hits) == 1
    assert step.decision == "nothing new"


async def test_given_a_passage_that_was_left_out_then_nothing_brings_it_back(
    graphs: Graphs,
) -> None:
    person = (await added(graphs)).turn.hits[1].chunk.chunk_id
    step = await added(graphs, left_out=(person,))
    assert [hit.chunk.document_id for hit in step.turn.hits] == ["ship"]


async def test_given_whole_documents_or_no_graph_then_it_is_skipped(graphs: Graphs) -> None:
    assert (await added(graphs, strategy="sequential")).decision == "skipped"
    assert (await added(graphs, graph=None)).decision == "skipped"
