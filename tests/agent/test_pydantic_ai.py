"""Why the agent's loop is our own: what that of pydantic-ai does where a question has to go on.

If one of these fails after an update, `ragstone.plugins.agent.tool_loop` may be replaced.
"""

from collections.abc import Callable

import pytest
from pydantic_ai import Agent, DeferredToolRequests, UsageLimitExceeded, UsageLimits
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel


def make_model(argument: Callable[[int], int]) -> FunctionModel:
    """A model that goes on calling the tool `add`, twice in a reply."""

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        number = argument(len(messages))
        return ModelResponse([ToolCallPart("add", {"a": number}), ToolCallPart("add", {"a": -1})])

    return FunctionModel(reply)


async def test_a_limit_of_calls_raises_instead_of_using_what_is_left_of_it() -> None:
    called: list[int] = []
    agent = Agent(make_model(lambda number: number))

    @agent.tool_plain
    def add(a: int) -> int:
        called.append(a)
        return a

    with pytest.raises(UsageLimitExceeded):
        await agent.run("Add.", usage_limits=UsageLimits(tool_calls_limit=3))
    # Of the second reply nothing is called, and there is neither an answer nor what was found.
    assert len(called) == 2


async def test_the_same_call_is_made_again_until_a_limit_of_requests() -> None:
    called: list[int] = []
    agent = Agent(make_model(lambda number: 1))

    @agent.tool_plain
    def add(a: int) -> int:
        called.append(a)
        return a

    with pytest.raises(UsageLimitExceeded):
        await agent.run("Add.", usage_limits=UsageLimits(request_limit=4))
    assert called.count(1) == 4


async def test_a_call_that_needs_an_approval_ends_the_run_instead_of_waiting() -> None:
    agent = Agent(make_model(lambda number: 1), output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    def add(a: int) -> int:
        return a

    done = await agent.run("Add.")

    assert isinstance(done.output, DeferredToolRequests)
    assert len(done.output.approvals) == 2
