"""What an agent does with good and bad tools, documents and chat models: the whole way of a
question, and real MCP servers."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.agent.scenarios.play import SCENARIOS, Scenario, played
from tests.agent.scenarios.world import World, opened

pytestmark = pytest.mark.slow


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with opened(tmp_path_factory.mktemp("agent")) as made:
        yield made


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda item: f"given_{item.__name__}")
async def test_the_agent_stays_within_its_bounds_and_answers(
    scenario: Scenario, world: World
) -> None:
    assert await played(scenario, world)
