"""`python -m tests.index.opening_process`: opens state and index in each database that a line of
its input names, and says how that went. What is logged is said too."""

import asyncio
import logging
import sys
from pathlib import Path

from ragstone.core.records import Collection
from ragstone.index.connect import connect
from ragstone.settings import IndexSettings
from tests.jobs.adapters import shared_database


async def open_all(url: str) -> None:
    """Open everything that a server has in its database. The index first, which waits for none of
    the others that way."""
    index = connect(IndexSettings(url=url), Path())
    try:
        await index.create(Collection("t", "c", "m", "f", 3, id="same"))
        await index.ready()
        async with shared_database(url):
            return
    finally:
        await index.aclose()


async def main() -> None:
    print("ready", flush=True)
    for line in sys.stdin:
        try:
            await open_all(line.strip())
            print("opened", flush=True)
        except Exception as error:
            print(repr(error), flush=True)


if __name__ == "__main__":
    logging.basicConfig(stream=sys.stdout, level=logging.WARNING)
    asyncio.run(main())
