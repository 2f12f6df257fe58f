"""A LangChain retriever. Needs langchain-core."""

from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field

from ragstone.api.sync import Client
from ragstone.integrations import metadata


class RagstoneRetriever(BaseRetriever):
    """The passages that `client.search` finds, as LangChain documents. `params` are those of
    `ragstone.SearchParams`, such as `{"collection": "contracts", "top_k": 5}`."""

    client: Client
    params: dict[str, Any] = Field(default_factory=dict)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        found = self.client.search(query, **self.params)
        return [
            Document(page_content=item.text, metadata=metadata(item), id=item.chunk_id)
            for item in found
        ]
