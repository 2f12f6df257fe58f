"""LiteLLM: a completion, its stream and a response."""

import json
import os

import litellm

base = {"api_base": os.environ["RAGSTONE"] + "/v1", "api_key": "x"}
asked = [{"role": "user", "content": os.environ["QUESTION"]}]
whole = litellm.completion(model="openai/ragstone", messages=asked, **base)
stream = litellm.completion(model="openai/ragstone", messages=asked, stream=True, **base)
streamed = "".join(piece.choices[0].delta.content or "" for piece in stream)
response = litellm.responses(model="openai/ragstone", input=os.environ["QUESTION"], **base)
message = whole.choices[0].message
urls = [annotation["url_citation"]["url"] for annotation in message.annotations or []]
answers = [message.content, streamed, response.output_text]
print(json.dumps({"answers": answers, "urls": urls}))
