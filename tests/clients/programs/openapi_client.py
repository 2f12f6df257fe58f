"""A program on the client that openapi-python-client makes of /openapi.json."""

import json
import os
import sys

sys.path.insert(0, os.environ["GENERATED"])

from ragstone_client import AuthenticatedClient
from ragstone_client.api.open_ai_compatible import (
    openai_compatible_chat_completions as chat,
)
from ragstone_client.api.open_ai_compatible import (
    openai_compatible_models as models,
)
from ragstone_client.models import ChatRequest

client = AuthenticatedClient(base_url=os.environ["RAGSTONE"], token="x")
asked = ChatRequest.from_dict(
    {"model": "ragstone", "messages": [{"role": "user", "content": os.environ["QUESTION"]}]}
)
found = chat.sync(client=client, body=asked)
message = found.choices[0].message
listed = models.sync(client=client)
urls = [annotation.url_citation.url for annotation in message.annotations]
print(
    json.dumps(
        {"answers": [message.content], "urls": urls, "models": [item.id for item in listed.data]}
    )
)
