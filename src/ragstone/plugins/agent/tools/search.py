"""The search of a tool gateway, asked instead of the local index."""

import logging
import time

from ragstone.core.errors import IndexUnavailable, ToolsUnavailable
from ragstone.core.foreign_passages import foreign_hit
from ragstone.core.turn import Ask, Hit, Plan
from ragstone.local.added import AdapterParts
from ragstone.plugins.agent import search_tools
from ragstone.plugins.agent.settings import McpSettings
from ragstone.plugins.agent.tools.configured import make_toolbox
from ragstone.ports import Retriever, Toolbox, ToolGateway
from ragstone.ports.answering import RESULT_CHARS

log = logging.getLogger(__name__)

LACKING_SECONDS = 60.0
"""For how long a gateway that listed no search is not asked for one again."""


class GatewaySearch:
    """`ports.ToolSearch`. Where it fails, `standby` is asked, and without one the local index."""

    def __init__(self, toolbox: Toolbox, standby: Retriever | None) -> None:
        self._toolbox = toolbox
        self._standby = standby
        self._lacking: dict[str, float] = {}

    def serves(self, organisation: str) -> bool:
        return self._lacking.get(organisation, 0.0) < time.monotonic()

    async def search(self, ask: Ask, plan: Plan) -> list[Hit]:
        try:
            return await self._search(ask, plan)
        except ToolsUnavailable as error:
            if self._standby is None:
                raise IndexUnavailable(str(error)) from error
            log.warning("The retrieval service is asked instead: %s", error)
            return await self._standby.search(ask, plan)

    async def _search(self, ask: Ask, plan: Plan) -> list[Hit]:
        injected = search_tools.parameters(ask, plan)
        if injected is None:
            raise ToolsUnavailable("The gateway's search cannot be told the filter.")
        async with self._toolbox.session(ask.organisation) as session:
            tool = next(filter(search_tools.is_search, session.tools), None)
            if tool is None:
                now = time.monotonic()
                self._lacking = {org: end for org, end in self._lacking.items() if end > now}
                self._lacking[ask.organisation] = now + LACKING_SECONDS
                raise ToolsUnavailable("The tool gateway has no search.")
            query = {search_tools.QUERY: ask.question}
            told = search_tools.inject_arguments(tool, query, injected)
            returned = await session.call(tool.name, told)
        if returned.failed:
            raise ToolsUnavailable("The gateway's search reports an error.")
        hits = search_tools.read_hits(returned.data, ask, plan, RESULT_CHARS)
        if not hits and returned.text.strip() and returned.data not in search_tools.EMPTY:
            hits = (foreign_hit(ask, 0, tool.name, returned.text, 1.0, {}),)
        return list(hits)


def open_gateway(parts: AdapterParts) -> ToolGateway | None:
    """The gateway of the settings and its search, None if it is off; raises ConfigError."""
    tools = make_toolbox(McpSettings.of(parts.settings))
    return ToolGateway(tools, GatewaySearch(tools, parts.retriever)) if tools else None
