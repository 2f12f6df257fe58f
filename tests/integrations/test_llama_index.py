"""The retriever in LlamaIndex itself, whose package is large: `make test-real` installs it."""

from pathlib import Path

import pytest

import ragstone

pytestmark = pytest.mark.real


async def test_it_retrieves_what_a_search_finds(data: Path) -> None:
    from ragstone.integrations.llama_index import RagstoneRetriever

    with ragstone.Client(data) as rag:
        retriever = RagstoneRetriever(rag, top_k=3)
        nodes = retriever.retrieve("battery")
        assert [one.node.node_id for one in await retriever.aretrieve("battery")] == [
            one.node.node_id for one in nodes
        ]
        found = rag.search("battery", top_k=3)
    assert [one.text for one in nodes] == [one.text for one in found]
    assert [one.score for one in nodes] == [one.score for one in found]
    for one, source in zip(nodes, found, strict=True):
        assert one.node.node_id == source.chunk_id
        assert one.node.metadata["title"] == source.title
        assert one.node.metadata["path"] == source.path
        assert one.node.metadata["page"] == source.page
