"""Adapters that plugins bring."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from ragstone.ports.embedding import Embedder
from ragstone.ports.index import ChunkIndex
from ragstone.registry import Registry


@dataclass(frozen=True, slots=True)
class AdapterParts:
    """What such an adapter may be made of."""

    index: ChunkIndex
    embedder: Embedder
    """One of the bundled embedders."""


ADDED_ADAPTERS: Registry[Any] = Registry("ragstone.adapters", "adapter", {}, makes=object)
"""By the field of `Adapters` that they fill, made of `AdapterParts`: the adapter, or None where it
cannot work. An adapter with a method `aclose` is closed with the rest."""


@asynccontextmanager
async def open_added(parts: AdapterParts) -> AsyncIterator[dict[str, Any]]:
    """The adapters of plugins by the field that they fill. Raises ConfigError."""
    async with AsyncExitStack() as stack:
        made = {}
        for name in ADDED_ADAPTERS.ours:
            made[name] = adapter = ADDED_ADAPTERS.make(name, parts)
            if hasattr(adapter, "aclose"):
                stack.push_async_callback(adapter.aclose)
        yield made
