"""Questions for a whole document are answered from its tree, the whole of Ragstone round it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from ragstone import build
from ragstone.core.chunk import SUMMARY, SummaryNode
from ragstone.core.events import Done
from ragstone.core.filters import Filter, Not, Range, eq, matches
from ragstone.core.records import Collection
from ragstone.core.turn import Ask, Plan, Principal, RankedList, Scored, Turn
from ragstone.local import Ragstone
from ragstone.retrieve.searching import Searching, visible, visible_summaries
from ragstone.service import IngestRequest
from ragstone.settings import IngestSettings, RagSettings, Settings
from tests.engine.adapters import a_kit
from tests.knowledge.summaries.long_document import document, node_chunks, section_text

SECTIONS = 48


@asynccontextmanager
async def opened(data: Path, **rag: object) -> AsyncIterator[Ragstone]:
    settings = Settings(
        ragstone_data=data / "data",
        ingest=IngestSettings(chunk_size=200, chunk_overlap=0, tree="extractive"),
        rag=RagSettings(context_tokens=500, **rag),  # type: ignore[arg-type]
    )
    async with build.open(settings) as service:
        yield service


async def ingested(service: Ragstone, root: Path, allowed: tuple[str, ...] = ("*",)) -> None:
    folder = root / "docs"
    folder.mkdir()
    parts = [f"# Section {n}\n\n{section_text(n)}" for n in range(SECTIONS)]
    (folder / "chronicle.md").write_text("\n\n".join(parts), encoding="utf-8")
    request = IngestRequest((str(folder),), allowed=allowed)
    steps = [step async for step in service.ingest(request)]
    assert (steps[-1].indexed, steps[-1].error) == (1, "")


async def answered(service: Ragstone, principal: Principal | None = None) -> Turn:
    ask = Ask("Summarize the chronicle", principal or Principal(), cache=False)
    events = [event async for event in service.ask(ask)]
    assert isinstance(events[-1], Done)
    return events[-1].turn


@pytest.mark.slow
@pytest.mark.conforms(
    "Query pipeline", "Step 6", "RAPTOR: a tree of summaries answers for a whole document"
)
async def test_given_a_tree_then_a_summary_cites_all_of_a_document_where_it_stands(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as service:
        await ingested(service, tmp_path)
        turn = await answered(service)
        assert turn.answer
        text = await service.reading.read(Principal(), "default", "/docs/chronicle.md", 0, 50_000)
        cited = [span for citation in turn.answer.citations for span in citation.spans]
        assert len(cited) >= 8
        for span in cited:
            assert text.text[span.start : span.end] == span.snippet
            assert span.snippet in turn.answer.text
        quarters = {4 * span.start // len(text.text) for span in cited}
        assert quarters == {0, 1, 2, 3}
        assert {verdict.label for verdict in turn.verdicts} <= {"supported", "no_claim"}
        assert all(passage.hit.chunk.kind != SUMMARY for passage in turn.passages)
    async with opened(tmp_path, tree="off") as service:
        turn = await answered(service)
        assert turn.answer
        assert "traverse" not in {item.stage for item in turn.trace}
        assert max(citation.start for citation in turn.answer.citations) < len(text.text) // 2


@pytest.mark.slow
async def test_given_a_document_of_somebody_then_others_learn_nothing_of_its_tree(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, tree="collapsed") as service:
        await ingested(service, tmp_path, ("user:ada",))
        mine = await answered(service, Principal(user="ada"))
        assert mine.plan.excerpts
        theirs = await answered(service, Principal(user="bob"))
        assert (theirs.passages, theirs.hits) == ((), ())


class Lists:
    """`ports.ChunkIndex` that finds one chunk, and a summary where summaries are searched."""

    def __init__(self) -> None:
        self.chunks = document(40)
        self.nodes = node_chunks(self.chunks)
        said = {item.chunk_index for item in SummaryNode.decode(self.nodes[-1].layout).said}
        self.found = next(chunk for chunk in self.chunks if chunk.chunk_index not in said)

    async def search(
        self, collection: Collection, searches: object, where: Filter, limit: int
    ) -> list[RankedList]:
        held = ((self.nodes[-1], 0.8), (self.found, 0.5))
        found = [Scored(c.chunk_id, n) for c, n in held if matches(where, c.payload())]
        return [RankedList("dense", "", tuple(found))]

    async def fetch(self, collection: Collection, ids: object) -> dict[str, object]:
        return {item.chunk_id: item for item in (*self.chunks, *self.nodes) if item.chunk_id in ids}  # type: ignore[operator]


@pytest.mark.conforms("Query pipeline", "Step 6", "RAPTOR: its summaries are fused with the rest")
async def test_given_collapsed_trees_then_a_summary_finds_the_chunks_of_its_best_sentences() -> (
    None
):
    index, ask = Lists(), Ask("?")
    search = Searching(
        a_kit(index=index),
        Collection("default", "default", "m", "m/1", 3),
        visible(ask, frozenset()),
        Plan(),
    )
    [both] = await index.search(search.collection, [], search.where, 10)
    assert len(both.found) == 2
    [alone] = await search.lists([], ["?"])
    assert [item.chunk_id for item in alone.found] == [index.found.chunk_id]
    beside = replace(search, summaries=visible_summaries(ask, frozenset()))
    [found] = await beside.lists([], ["?"])
    ids = {item.chunk_id: item.score for item in found.found}
    assert len(ids) == 4
    assert set(ids) <= {chunk.chunk_id for chunk in index.chunks}
    assert sorted(ids.values()) == [0.5, 0.8, 0.8, 0.8]
    within = beside.limit_to_documents(["another"])
    [elsewhere] = await within.lists([], ["?"])
    assert not elsewhere.found


def test_no_filter_of_a_request_finds_a_summary_itself() -> None:
    node = node_chunks(document(40))[0]
    for where in (eq("kind", SUMMARY), Not(eq("kind", "normal"))):
        assert not matches(visible(Ask("?", where=where), frozenset()), node.payload())
    assert visible_summaries(Ask("?", where=Range("page", 1, 2)), frozenset()) is None
    assert visible_summaries(Ask("?", where=eq("kind", "normal")), frozenset()) is None
    mine = visible_summaries(Ask("?", where=eq("metadata.year", 2020)), frozenset())
    assert mine is not None
    assert not matches(mine, node.payload())
    assert matches(mine, replace(node, metadata={"year": 2020}).payload())
    for hidden, others in ((frozenset({node.revision}), ()), (frozenset[str](), ("user:x",))):
        asked = visible_summaries(Ask("?"), hidden)
        changed = replace(node, allowed=others or node.allowed)
        assert asked is not None
        assert not matches(asked, changed.payload())
