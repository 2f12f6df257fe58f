"""pydantic-ai: an answer in text, and one as a class."""

import json
import os

from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider


class Days(BaseModel):
    days: int


provider = OpenAIProvider(base_url=os.environ["RAGSTONE"] + "/v1", api_key="x")
question = os.environ["QUESTION"]
chat = OpenAIChatModel("ragstone", provider=provider)
answers = [
    Agent(chat).run_sync(question).output,
    Agent(OpenAIResponsesModel("ragstone", provider=provider)).run_sync(question).output,
]
days = Agent(chat, output_type=NativeOutput(Days), instructions="As JSON.").run_sync(question)
print(json.dumps({"answers": answers, "days": days.output.days}))
