"""Trees of summaries are made behind an ingest, on the real index and the real catalog."""

import random
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from ragstone.core.answer import Usage
from ragstone.core.chunk import SUMMARY, Chunk, SummaryNode, whole_trees
from ragstone.core.errors import ModelUnavailable
from ragstone.core.filters import OWN_TEXT, eq, reader_filter
from ragstone.core.records import Collection
from ragstone.core.turn import Principal
from ragstone.index.edge.index import EdgeIndex
from ragstone.ingest import document_changes
from ragstone.ingest.pipeline import Pipeline
from ragstone.plugins.graph.summaries.maker import SummaryMaker
from ragstone.ports import Completer, Said
from ragstone.service import IngestRequest, Progress
from ragstone.settings import IngestSettings
from ragstone.store.sql.catalog import SqlCatalog
from ragstone.store.sql.database import open_database
from tests.hashing import OneEmbedder
from tests.memory_store import MemoryTemplates

pytestmark = pytest.mark.slow

WORDS = (
    *("harbour", "lantern", "granary", "orchard", "foundry"),
    *("library", "aqueduct", "market", "bridge", "tower"),
)


def text(sections: Sequence[int]) -> str:
    """A document of these sections, each long enough to be a chunk of its own."""
    return "\n\n".join(
        f"# The {WORDS[n % 10]} {n}\n\nThe {WORDS[n % 10]} number {n} is made of stone and stands "
        f"by the river. Every {WORDS[n % 10]} has a keeper who counts {n} days of the year."
        for n in sections
    )


class Writer:
    """`ports.Completer` that says what the first line of what it reads says; `refused` are the
    calls that fail, `silent` the ones whose reply names nothing."""

    name = "writer"

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.refused: frozenset[int] = frozenset()
        self.silent: frozenset[int] = frozenset()

    async def complete(
        self, rules: str, text: str, max_tokens: int, temperature: float = 0.0
    ) -> Said:
        number = len(self.asked)
        self.asked.append(text)
        if number in self.refused:
            raise ModelUnavailable("The chat model is away.")
        said = "" if number in self.silent else "It is of stone [1][2]. It is large [99]."
        return Said(said, usage=Usage(100, 10, 1))


@dataclass
class House:
    index: EdgeIndex
    catalog: SqlCatalog
    pipeline: Pipeline
    documents: Path

    async def ingest(self, **options: object) -> Progress:
        request = IngestRequest((str(self.documents),), **options)  # type: ignore[arg-type]
        return await self.pipeline.ingest("job", request, lambda progress: None)

    def write(self, name: str, sections: Sequence[int], folder: str = "") -> None:
        file = self.documents / folder / name
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_text(text(sections), encoding="utf-8")

    async def collection(self) -> Collection:
        found = await self.catalog.collection("default", "default")
        assert found
        return found

    async def nodes(self) -> list[Chunk]:
        scan = self.index.scan(await self.collection(), eq("kind", SUMMARY))
        return [item async for batch in scan for item in batch]

    async def trees(self) -> Mapping[str, list[object]]:
        """What the trees say, by path and without what a version changes."""
        found = {}
        for tree in whole_trees(await self.nodes()).values():
            told = [
                (replace(node, key=""), chunk.text, chunk.start, chunk.end, chunk.section)
                for _, (node, chunk) in sorted(tree.items())
            ]
            found[tree[0][1].path] = told
        return found


@asynccontextmanager
async def opened(root: Path, model: Completer | None = None) -> AsyncIterator[House]:
    documents = root / "docs"
    documents.mkdir(exist_ok=True, parents=True)
    how = IngestSettings(chunk_size=200, chunk_overlap=0, tree="model" if model else "extractive")
    async with open_database(root / "state.sqlite") as database:
        index = EdgeIndex(root / "index")
        catalog = await SqlCatalog.open(database)
        maker = SummaryMaker(index, catalog, MemoryTemplates(), model)
        pipeline = Pipeline(index, catalog, OneEmbedder(), how, enrichers=[maker])
        for collection in await catalog.collections():
            await index.create(collection)
        yield House(index, catalog, pipeline, documents)
        await pipeline.aclose()
        await index.aclose()


async def test_given_a_long_document_then_its_tree_is_beside_its_chunks(tmp_path: Path) -> None:
    async with opened(tmp_path) as house:
        house.write("long.md", range(40))
        house.write("short.md", range(3))
        last = await house.ingest()
        nodes = await house.nodes()
        assert last.notes[-1] == (
            f"Trees of summaries were made of 1 documents: {len(nodes)} summaries."
        )
        assert {node.path for node in nodes} == {"/docs/long.md"}
        assert await house.index.without_vectors(await house.collection(), 5) == []
        [document, _] = await house.catalog.documents("default")
        own = await house.index.count(await house.collection(), OWN_TEXT)
        assert own == last.chunks
        root = SummaryNode.decode(max(nodes, key=lambda item: item.chunk_index).layout)
        assert (root.first, root.last, root.number) == (0, document.chunks - 1, root.count - 1)
        again = await house.ingest()
        assert not any("Trees" in note for note in again.notes)


async def test_given_changes_then_the_trees_are_those_that_are_built_anew(tmp_path: Path) -> None:
    draw = random.Random(7)
    async with opened(tmp_path / "grown") as house:
        sections = {name: list(range(30)) for name in ("a.md", "b.md", "c.md")}
        for step in range(6):
            for name in draw.sample(sorted(sections), draw.randint(1, len(sections))):
                kept = [section for section in sections[name] if draw.random() < 0.8]
                kept[draw.randint(0, len(kept)) :] = [100 * step + draw.randint(0, 99)]
                sections[name] = kept + list(range(draw.randint(0, 6)))
            if step == 3:
                del sections["b.md"]
                (house.documents / "b.md").unlink()
            for name, those in sections.items():
                house.write(name, those)
            await house.ingest(prune=True)
            async with opened(tmp_path / f"anew{step}") as fresh:
                for name, those in sections.items():
                    fresh.write(name, those)
                await fresh.ingest()
                expected = await fresh.trees()
            assert await house.trees() == expected
            assert expected
            assert {node.path for node in await house.nodes()} == set(expected)


async def test_nobody_reads_a_summary_who_may_not_read_all_of_its_sources(tmp_path: Path) -> None:
    draw = random.Random(3)
    names = ["group:red", "group:blue", "user:ada", "*"]
    async with opened(tmp_path) as house:
        for number in range(12):
            house.write("long.md", range(number, number + draw.randint(9, 24)), f"f{number}")
            request = IngestRequest(
                (str(house.documents / f"f{number}"),),
                allowed=tuple(draw.sample(names, draw.randint(1, 2))),
            )
            await house.pipeline.ingest("job", request, lambda progress: None)
        collection = await house.collection()
        for principal in (
            Principal(user="ada"),
            Principal(user="bob", groups=("red",)),
            Principal(user="eve", groups=("red", "blue")),
            Principal(user=""),
            Principal(tenant="other", user="ada", groups=("red", "blue")),
        ):
            seen: dict[str, set[int]] = {}
            nodes: list[Chunk] = []
            async for batch in house.index.scan(collection, reader_filter(principal)):
                nodes += [item for item in batch if item.kind == SUMMARY]
                for item in batch:
                    if item.kind != SUMMARY:
                        seen.setdefault(item.revision, set()).add(item.chunk_index)
            for chunk in nodes:
                node = SummaryNode.decode(chunk.layout)
                assert set(range(node.first, node.last + 1)) <= seen[chunk.revision]
            assert bool(nodes) == (principal.tenant == "default")


async def test_given_a_chat_model_then_it_writes_and_what_it_wrote_is_not_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_changes, "HIDDEN_AT_ONCE", 1)  # However few versions are replaced.
    model = Writer()
    async with opened(tmp_path, model) as house:
        house.write("long.md", range(40))
        last = await house.ingest()
        nodes = await house.nodes()
        assert len(model.asked) == len(nodes)
        assert last.usage.calls == len(nodes)
        assert f"writer wrote {len(nodes)} of them, 0 were known" in last.notes[-1]
        for chunk in nodes:
            node = SummaryNode.decode(chunk.layout)
            assert chunk.text == "It is of stone [1] [2]. It is large."
            assert len(node.cited) == 2
            assert node.first <= min(node.cited) < max(node.cited) <= node.last
        model.asked.clear()
        house.write("long.md", [*range(39), 77])
        again = await house.ingest()
        known = [note for note in again.notes if "were known" in note]
        assert 0 < len(model.asked) < len(nodes)
        assert f" {len(nodes) - len(model.asked)} were known" in known[0]


async def test_given_a_reply_that_names_nothing_then_the_documents_sentences_stand_for_it(
    tmp_path: Path,
) -> None:
    model = Writer()
    model.silent = frozenset({0, 2})
    async with opened(tmp_path, model) as house:
        house.write("long.md", range(40))
        last = await house.ingest()
        assert last.notes[-1].startswith("2 summaries of the chat model named none")
        own = [node for node in await house.nodes() if not SummaryNode.decode(node.layout).cited]
        assert len(own) == 2
        assert all("made of stone" in item.text or "has a keeper" in item.text for item in own)


async def test_given_a_model_that_fails_then_the_next_ingest_goes_on_where_it_was(
    tmp_path: Path,
) -> None:
    model = Writer()
    model.refused = frozenset({4})
    async with opened(tmp_path, model) as house:
        house.write("long.md", range(40))
        last = await house.ingest()
        assert last.indexed == 1
        assert last.notes[-1] == (
            "No trees were made of 1 further documents: The chat model is away. Ingest again to "
            "go on."
        )
        assert whole_trees(await house.nodes()) == {}
        written = {item for number, item in enumerate(model.asked) if number < 4}
    model.asked.clear()
    async with opened(tmp_path, model) as house:
        model.refused = frozenset()
        await house.ingest()
        assert len(whole_trees(await house.nodes())) == 1
        assert not written & set(model.asked)


async def test_given_no_chat_model_for_it_then_a_note_says_so(tmp_path: Path) -> None:
    async with opened(tmp_path) as house:
        how = IngestSettings(chunk_size=200, chunk_overlap=0, tree="model")
        maker = SummaryMaker(house.index, house.catalog, MemoryTemplates(), lacks_model=True)
        pipeline = Pipeline(house.index, house.catalog, OneEmbedder(), how, enrichers=[maker])
        house.write("long.md", range(20))
        request = IngestRequest((str(house.documents),))
        last = await pipeline.ingest("job", request, lambda progress: None)
        await pipeline.aclose()
        assert any("set (LLM__MODEL)" in note for note in last.notes)
        assert await house.trees()
