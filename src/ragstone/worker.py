"""`ragstone worker`: runs the jobs of servers on other machines."""

import asyncio
import signal
from collections.abc import Callable

from ragstone import build
from ragstone.access import setup
from ragstone.core.errors import ConfigError
from ragstone.ingest.free_memory import limit_arenas
from ragstone.settings import Settings


def work(settings: Settings, say: Callable[[str], None] = print) -> None:
    """Run jobs until SIGINT or SIGTERM. Raises ConfigError where nothing is shared."""
    _check(settings)
    limit_arenas()
    asyncio.run(_work(settings, say))


async def _work(settings: Settings, say: Callable[[str], None]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with (
        setup.open_interceptor(settings) as interceptor,
        build.open(settings, interceptor=interceptor) as service,
    ):
        await service.start_jobs()
        kinds = ", ".join(kind.kind for kind in await service.jobs.kinds())
        say(f"Ragstone runs jobs ({kinds}) until it is stopped.")
        await stop.wait()


def _check(settings: Settings) -> None:
    """A worker shares the queue, the documents' state and the index with its servers."""
    if not settings.state.url:
        raise ConfigError(
            "A worker needs a queue that other processes share, but jobs are in a SQLite file of "
            "the data directory, which belongs to one process; 'ragstone serve' runs its jobs "
            "itself. For workers set STATE__URL to a PostgreSQL database, here and on the server."
        )
    if not settings.index.is_shared:
        raise ConfigError(
            "A worker needs an index that other processes share, but it is in the data directory, "
            "which belongs to one process. Set INDEX__URL to a server, here and on the server."
        )
