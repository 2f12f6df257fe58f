"""Gradio: a chat page made from the address, asked as its own client asks it."""

import json
import os

import gradio
from gradio_client import Client

page = gradio.load_chat(os.environ["RAGSTONE"] + "/v1", model="ragstone", token="x")
_, url, _ = page.launch(prevent_thread_lock=True, quiet=True, server_name="127.0.0.1")
asked = {"text": os.environ["QUESTION"], "files": []}
answer = Client(url, verbose=False).predict(asked, api_name="/open_api_stream")
page.close()
print(json.dumps({"answers": [answer if isinstance(answer, str) else str(answer)]}))
