"""LangChain: chat, its stream, the Responses API and embeddings."""

import json
import os

from langchain_openai import ChatOpenAI, OpenAIEmbeddings

url, question = os.environ["RAGSTONE"] + "/v1", os.environ["QUESTION"]
plain = ChatOpenAI(model="ragstone", base_url=url, api_key="x")
whole = plain.invoke(question)
streamed = "".join(str(piece.content) for piece in plain.stream(question))
responses = ChatOpenAI(model="ragstone", base_url=url, api_key="x", use_responses_api=True)
(block,) = [item for item in responses.invoke(question).content if item["type"] == "text"]
embeddings = OpenAIEmbeddings(
    model="all-MiniLM-L6-v2", base_url=url, api_key="x", check_embedding_ctx_length=False
)
vectors = embeddings.embed_documents(["one", "two"])
print(
    json.dumps(
        {
            "answers": [whole.content, streamed, block["text"]],
            "urls": [item["url"] for item in block["annotations"]],
            "dimensions": [len(vector) for vector in vectors],
        }
    )
)
