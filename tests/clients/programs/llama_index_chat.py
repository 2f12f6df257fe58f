"""LlamaIndex: a chat and its stream."""

import json
import os

from llama_index.core.llms import ChatMessage
from llama_index.llms.openai_like import OpenAILike

model = OpenAILike(
    model="ragstone", api_base=os.environ["RAGSTONE"] + "/v1", api_key="x", is_chat_model=True
)
asked = [ChatMessage(role="user", content=os.environ["QUESTION"])]
whole = model.chat(asked).message.content
streamed = "".join(piece.delta or "" for piece in model.stream_chat(asked))
print(json.dumps({"answers": [whole, streamed]}))
