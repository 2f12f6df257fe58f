"""The way from the roots of trees down to the passages of an answer."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from ragstone.core.chunk import Chunk, SummaryNode
from ragstone.core.filters import EVERYTHING, Filter, matches
from ragstone.core.records import Collection
from ragstone.core.turn import IN_ORDER, Ask, Hit, Plan, Principal, Turn
from ragstone.engine.stage import Step
from ragstone.language.tokens import count
from ragstone.plugins.graph.summaries.traverse import AROUND, Traverse
from tests.engine.adapters import ran
from tests.knowledge.summaries.long_document import document, node_chunks, section_text

PLAN = Plan(strategy="sequential", tree="traversal", sums_up="", top_k=IN_ORDER)


class Held:
    """The scan of `ports.ChunkIndex` over some chunks."""

    def __init__(self, *chunks: Chunk) -> None:
        self._chunks = chunks

    async def scan(
        self, collection: Collection, where: Filter = EVERYTHING, batch: int = 256
    ) -> AsyncIterator[list[Chunk]]:
        yield [chunk for chunk in self._chunks if matches(where, chunk.payload())]


async def stepped(
    chunks: Sequence[Chunk], nodes: Sequence[Chunk], tokens: int, plan: Plan = PLAN, **parts: Any
) -> Step:
    turn = Turn(
        Ask("Sum it up.", Principal(user="ada")),
        plan=plan,
        collection=Collection("default", "default", "m", "m/1", 3),
        chunks={chunk.chunk_id: chunk for chunk in chunks},
        hits=tuple(Hit(chunk, 1.0) for chunk in chunks[:IN_ORDER]),
    )
    step, _ = await ran(Traverse(context_tokens=tokens), turn, index=Held(*nodes), **parts)
    return step


async def test_given_little_room_then_sentences_from_everywhere_stand_in_order() -> None:
    chunks = document(60)
    step = await stepped(chunks, node_chunks(chunks), 700)
    hits = step.turn.hits
    whole = "\n\n".join(section_text(number) for number in range(60))
    assert [hit.chunk.text for hit in hits] == [
        whole[hit.chunk.start : hit.chunk.end] for hit in hits
    ]
    assert [hit.chunk.start for hit in hits] == sorted(hit.chunk.start for hit in hits)
    assert 500 < sum(AROUND + count(hit.chunk.text) for hit in hits) <= 700
    assert {hit.chunk.chunk_index // 15 for hit in hits} == {0, 1, 2, 3}
    assert {hit.chunk.chunk_id for hit in hits} <= {chunk.chunk_id for chunk in chunks}
    assert step.turn.plan.excerpts


async def test_given_more_room_then_all_that_was_said_with_less_is_said_first() -> None:
    chunks = document(120)
    nodes = node_chunks(chunks)
    root = SummaryNode.decode(nodes[-1].layout)
    few = await stepped(chunks, nodes, 500)
    many = await stepped(chunks, nodes, 1500)
    best = sorted(many.turn.hits, key=lambda hit: -hit.score)
    assert {item.start for item in root.said} == {hit.chunk.start for hit in best[: len(root.said)]}
    assert len(many.turn.hits) > 2 * len(few.turn.hits)


async def test_given_there_is_room_for_all_then_all_is_read() -> None:
    chunks = document(60)
    step = await stepped(chunks, node_chunks(chunks), 100_000)
    assert (step.decision, len(step.turn.hits)) == ("skipped", 60)


@pytest.mark.parametrize(
    "plan", [replace(PLAN, tree="off"), replace(PLAN, strategy="hybrid")], ids=["off", "searched"]
)
async def test_given_nothing_is_to_be_summed_up_then_nothing_is_done(plan: Plan) -> None:
    chunks = document(60)
    step = await stepped(chunks, node_chunks(chunks), 300, plan)
    assert (step.decision, len(step.turn.hits)) == ("skipped", 60)


async def test_given_nodes_that_the_asker_may_not_read_then_there_is_no_tree() -> None:
    chunks = document(60)
    hidden = [replace(chunk, allowed=("user:bob",)) for chunk in node_chunks(chunks)]
    step = await stepped(chunks, hidden, 300)
    assert (step.decision, step.reason) == ("skipped", "1 documents have no tree")
    mine = [replace(chunk, allowed=("user:ada",)) for chunk in node_chunks(chunks)]
    assert (await stepped(chunks, mine, 300)).turn.plan.excerpts


async def test_given_a_section_then_nothing_outside_it_is_said() -> None:
    chunks = document(60)
    section = chunks[20:40]
    step = await stepped(section, node_chunks(chunks), 300)
    assert step.turn.hits
    assert {hit.chunk.chunk_index for hit in step.turn.hits} <= set(range(20, 40))


async def test_given_several_documents_then_each_root_speaks_first() -> None:
    long, other, short = document(60), document(40, "other"), document(3, "short")
    nodes = [*node_chunks(long), *node_chunks(other)]
    step = await stepped([*long, *other, *short], nodes, 500)
    names = [hit.chunk.document_id for hit in step.turn.hits]
    assert set(names) == {"long", "other", "short"}
    assert names == sorted(names)


async def test_given_summaries_of_a_chat_model_then_they_are_read_with_what_they_name() -> None:
    chunks = document(60)
    nodes = by_model(node_chunks(chunks))
    step = await stepped(chunks, nodes, 300, chat=object(), profile=Window(1_200))
    assert step.turn.digest
    lines = step.turn.digest.split("\n\n")
    assert [f"Summary of {i}." in line for i, line in enumerate(lines)] == [True] * len(lines)
    numbers = [int(line.rpartition("[")[2].rstrip("]")) for line in lines]
    assert numbers == list(range(1, len(lines) + 1))
    assert len(step.turn.hits) == len(lines) > 5
    assert all(hit.chunk in chunks for hit in step.turn.hits)
    assert not step.turn.plan.excerpts


async def test_given_they_are_of_more_than_is_asked_for_then_sentences_stand_for_them() -> None:
    chunks = document(60)
    nodes = by_model(node_chunks(chunks))
    step = await stepped(chunks[20:40], nodes, 300, chat=object(), profile=Window(500))
    assert not step.turn.digest
    assert {hit.chunk.chunk_index for hit in step.turn.hits} <= set(range(20, 40))


class Window:
    """The window of a chat model."""

    tier = "medium"

    def __init__(self, tokens: int) -> None:
        self.context_window = tokens


def by_model(nodes: Sequence[Chunk]) -> list[Chunk]:
    """The same nodes with the words of a chat model, each of which names its first chunk."""
    found = []
    for chunk in nodes:
        node = SummaryNode.decode(chunk.layout)
        written = replace(node, cited=(node.first,), key="k")
        said = f"Summary of {node.number}. [1]"
        found.append(replace(chunk, text=said, layout=written.encode()))
    return found
