"""A LlamaIndex retriever. Needs llama-index-core."""

from typing import Unpack

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from ragstone.api.params import SearchParams
from ragstone.api.sync import Client
from ragstone.integrations import metadata


class RagstoneRetriever(BaseRetriever):
    """The passages that `client.search` finds, as LlamaIndex nodes. `params` are those of
    `ragstone.SearchParams`, such as `collection` and `top_k`."""

    def __init__(self, client: Client, **params: Unpack[SearchParams]) -> None:
        super().__init__()
        self._client = client
        self._params = params

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self._client.search(query_bundle.query_str, **self._params)
        return [
            NodeWithScore(
                node=TextNode(id_=item.chunk_id, text=item.text, metadata=metadata(item)),
                score=item.score,
            )
            for item in found
        ]
