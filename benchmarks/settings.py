"""What settings at run time cost a question, and how soon another server sees a change."""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, cast

from benchmarks.row import Row
from ragstone.conversation.contextualize import Contextualize
from ragstone.core.records import StoredSetting
from ragstone.core.turn import Ask, Principal
from ragstone.engine.engine import Engine
from ragstone.engine.recipe import Recipe
from ragstone.local.configured import Configured
from ragstone.local.settings import LocalSettings
from ragstone.local.watching import Watch
from ragstone.ports import Adapters
from ragstone.recipes.recipe import Recipes
from ragstone.settings import Settings
from ragstone.store.sql.catalog import SqlCatalog
from ragstone.store.sql.database import open_database
from ragstone.store.sql.settings import SqlSettings

TENANTS = 1000
ROUNDS = 5
CHANGES = 5


def run() -> Iterator[Row]:
    """The lookup of a question's recipe, the merge after a change, and the way to a replica."""
    configured = Configured(Settings())
    configured.load(StoredSetting(f"tenant:t{n}", "rag.top_k", n % 100 + 1) for n in range(TENANTS))
    asks = [Ask("q", Principal(f"t{n}"), f"c{n}") for n in range(TENANTS)]
    started = time.perf_counter()
    for ask in asks:
        configured.answer_recipe(ask)
    made = (time.perf_counter() - started) / TENANTS
    plain = Recipes(Settings())

    def fixed(ask: Ask) -> Recipe:
        return plain.of("plain", ask.level)

    def looked_up(ask: Ask) -> Recipe:
        return configured.answer_recipe(configured.limit_ask(ask))

    before, after = (_seconds(choose, asks) for choose in (fixed, looked_up))
    question = asyncio.run(_question(asks))
    yield Row(
        f"settings of {TENANTS:,} tenants: share of a question that only is read",
        (after - before) / question * 100,
        "%",
        most=5,
        note=f"{(after - before) * 1e6:.0f} µs; the shortest question of all takes "
        f"{question * 1e6:.0f} µs",
    )
    yield Row("the first question after a change", made * 1000, "ms", most=50, detail=True)
    yield Row("until another server has a change", asyncio.run(_time_changes()), "s", most=2)


def _seconds(choose: Callable[[Ask], Recipe], asks: list[Ask]) -> float:
    """Return seconds for one question, the median of rounds over all."""
    rounds = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        for ask in asks:
            choose(ask)
        rounds.append((time.perf_counter() - started) / len(asks))
    return statistics.median(rounds)


async def _question(asks: list[Ask]) -> float:
    """Seconds for a question of one stage, which only reads it: less than any real one takes."""
    needed = (
        field.name
        for field in fields(Adapters)
        if field.default is field.default_factory is MISSING
    )
    adapters = Adapters(**cast(Any, dict.fromkeys(needed)))
    engine = Engine(adapters, {"standard": Recipe((Contextualize(),))})
    rounds = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        for ask in asks:
            await engine.answer(ask)
        rounds.append((time.perf_counter() - started) / len(asks))
    await engine.aclose()
    return statistics.median(rounds)


async def _time_changes() -> float:
    """Return the longest of some changes, by two processes' views of one database."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.sqlite"
        async with open_database(path) as here, open_database(path) as there:
            names = await SqlCatalog.open(here)
            one = LocalSettings(SqlSettings(here), names, Configured(Settings()))
            other = Configured(Settings())
            two = LocalSettings(SqlSettings(there), names, other)
            watch = Watch(SqlSettings(there), {"settings": two.refresh})
            await watch.start()
            longest = 0.0
            for n in range(CHANGES):
                await asyncio.sleep(0.37)
                await one.put("global", {"rag.top_k": n + 20}, "benchmark")
                changed = time.perf_counter()
                while other.of().settings.rag.top_k != n + 20:  # noqa: ASYNC110
                    await asyncio.sleep(0.005)
                longest = max(longest, time.perf_counter() - changed)
            await watch.aclose()
            return longest
