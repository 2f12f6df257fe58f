"""OpenAI Agents: an agent that searches the documents, whole and streamed."""

import asyncio
import json
import os

from agents import (
    Agent,
    FileSearchTool,
    Runner,
    set_default_openai_client,
    set_tracing_disabled,
)
from openai import AsyncOpenAI


async def main() -> None:
    client = AsyncOpenAI(base_url=os.environ["RAGSTONE"] + "/v1", api_key="x")
    set_default_openai_client(client)
    set_tracing_disabled(True)
    search = FileSearchTool(vector_store_ids=["default"], max_num_results=3)
    reader = Agent(name="Reader", instructions="Be brief.", model="ragstone", tools=[search])
    read = await Runner.run(reader, os.environ["QUESTION"])
    streamed = Runner.run_streamed(reader, os.environ["QUESTION"])
    kinds = [event.type async for event in streamed.stream_events()]
    answers = [read.final_output, streamed.final_output]
    print(json.dumps({"answers": answers, "events": len(kinds)}))
    await client.close()


asyncio.run(main())
