"""A client of MongoDB that is closed while it connects leaves no socket behind."""

import asyncio
import gc
import warnings
from contextlib import suppress
from urllib.parse import urlsplit

from pymongo.pool_options import PoolOptions

from tests.model_server import closed_port
from tests.mongo_server import connect_to_the_end

STEPS = 20
"""Turns of the loop within which connecting to a port where nobody listens has ended."""


async def unclosed(step: int) -> list[str]:
    """The warnings of sockets, if connecting is cancelled at this turn of the loop."""
    place = urlsplit(closed_port())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        connecting = asyncio.ensure_future(
            connect_to_the_end(
                (str(place.hostname), int(place.port or 0)), PoolOptions(connect_timeout=5)
            )
        )
        for _ in range(step):
            await asyncio.sleep(0)
        connecting.cancel()
        with suppress(asyncio.CancelledError, OSError):
            await connecting
        del connecting
        gc.collect()
    return [str(item.message) for item in caught]


async def test_given_connecting_is_cancelled_then_its_socket_is_closed() -> None:
    assert [await unclosed(step) for step in range(STEPS)] == [[]] * STEPS
