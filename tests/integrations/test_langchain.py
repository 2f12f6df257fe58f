"""The retriever in LangChain itself."""

from pathlib import Path

import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

import ragstone
from ragstone.integrations.langchain import RagstoneRetriever

pytestmark = pytest.mark.slow


def test_it_retrieves_what_a_search_finds(data: Path) -> None:
    with ragstone.Client(data) as rag:
        retriever = RagstoneRetriever(client=rag, params={"top_k": 3})
        documents = retriever.invoke("battery")
        found = rag.search("battery", top_k=3)
    assert [document.page_content for document in documents] == [item.text for item in found]
    assert [document.id for document in documents] == [item.chunk_id for item in found]
    for document, source in zip(documents, found, strict=True):
        assert document.metadata["title"] == source.title
        assert document.metadata["path"] == source.path
        assert document.metadata["page"] == source.page
        assert document.metadata["score"] == source.score


async def test_it_is_a_part_of_a_chain(data: Path) -> None:
    def paths(documents: list[Document]) -> list[str]:
        return [document.metadata["path"] for document in documents]

    with ragstone.Client(data) as rag:
        chain = RagstoneRetriever(client=rag, params={"top_k": 1}) | RunnableLambda(paths)
        assert await chain.ainvoke("battery") == ["/documents/lantern-3-manual.md"]
        [one, other] = await chain.abatch(["battery", "revenue"])
    assert one == ["/documents/lantern-3-manual.md"]
    assert other == ["/documents/annual-report-2024.pdf"]
