"""Backups and examinations of a Ragstone in this process."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

from ragstone.backup.back_up import back_up
from ragstone.backup.doctor import Doctor
from ragstone.backup.restore import restore
from ragstone.ingest.pipeline import Pipeline
from ragstone.ports import Adapters
from ragstone.service.maintenance import Upkeep


class LocalMaintenance:
    """`service.Maintenance` on adapters of this process; `models` are those in use, in words."""

    def __init__(
        self, adapters: Adapters, pipeline: Pipeline, models: tuple[str, ...] = ()
    ) -> None:
        self._models = models
        self._adapters = adapters
        self._pipeline = pipeline

    async def back_up(self, file: str) -> AsyncGenerator[Upkeep, None]:
        adapters, originals = self._adapters, self._pipeline.originals
        async with aclosing(
            back_up(Path(file), adapters.index, adapters.catalog, adapters.dump, originals)
        ) as steps:
            async for step in steps:
                yield step

    async def restore(self, file: str) -> AsyncGenerator[Upkeep, None]:
        adapters, originals = self._adapters, self._pipeline.originals
        async with aclosing(
            restore(Path(file), adapters.index, adapters.catalog, adapters.dump, originals)
        ) as steps:
            async for step in steps:
                if step.finished:
                    await self._forget()
                yield step

    async def _forget(self) -> None:
        """Read the topics again and clear the cache, after the data was replaced."""
        await self._adapters.topics.reload()
        await self._adapters.cache.clear()

    async def examine(self, mend: bool, forget: bool = False) -> AsyncGenerator[Upkeep, None]:
        adapters, pipeline = self._adapters, self._pipeline
        doctor = Doctor(
            adapters.index,
            adapters.catalog,
            self._adapters.dump,
            adapters.cache,
            pipeline.purge,
            pipeline.embed,
            pipeline.reread,
        )
        async with aclosing(doctor.examine(mend, forget)) as steps:
            async for step in steps:
                yield replace(step, models=self._models) if step.finished else step
