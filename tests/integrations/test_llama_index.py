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
        assert [item.node.node_id for item in await retriever.aretrieve("battery")] == [
            node.node.node_id for node in nodes
        ]
        found = rag.search("battery", top_k=3)
    assert [node.text for node in nodes] == [item.text for item in found]
    assert [node.score for node in nodes] == [item.score for item in found]
    for node, source in zip(nodes, found, strict=True):
        assert node.node.node_id == source.chunk_id
        assert node.node.metadata["title"] == source.title
        assert node.node.metadata["path"] == source.path
        assert node.node.metadata["page"] == source.page
