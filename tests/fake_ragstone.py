"""`python -m tests.fake_ragstone ...`: the real command line and server on the fake service."""

import sys
import types
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ragstone.access.interceptor import Interceptor
from ragstone.settings import Settings
from tests.fake_service import FakeService
from tests.with_constants import change_constants


@asynccontextmanager
async def open_fake(
    settings: Settings, work: object = None, interceptor: Interceptor | None = None
) -> AsyncIterator[FakeService]:
    """What `build.open` does, without its adapters; says when it is closed."""
    settings.ragstone_data.mkdir(parents=True, exist_ok=True)
    try:
        yield FakeService(interceptor=interceptor or Interceptor())
    finally:
        print("closed", flush=True)


build = types.ModuleType("ragstone.build")
build.open = open_fake  # type: ignore[attr-defined]
sys.modules["ragstone.build"] = build

if __name__ == "__main__":
    from ragstone.cli import main

    change_constants()
    main()
