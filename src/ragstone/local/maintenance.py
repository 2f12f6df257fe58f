"""Backups and examinations of a Ragstone in this process."""

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

from ragstone.backup.back_up import write_backup
from ragstone.backup.doctor import Doctor
from ragstone.backup.restore import restore
from ragstone.core.errors import RagstoneError
from ragstone.ingest.pipeline import Pipeline
from ragstone.ports import Adapters
from ragstone.service.maintenance import Upkeep

log = logging.getLogger(__name__)


class LocalMaintenance:
    """`service.Maintenance` on adapters of this process; `models` are those in use, in words."""

    def __init__(
        self, adapters: Adapters, pipeline: Pipeline, models: tuple[str, ...] = ()
    ) -> None:
        self._models = models
        self._adapters = adapters
        self._pipeline = pipeline

    async def back_up(self, file: str, since: str | None = None) -> AsyncGenerator[Upkeep, None]:
        adapters, originals = self._adapters, self._pipeline.originals
        try:
            async with aclosing(
                write_backup(
                    Path(file),
                    adapters.index,
                    adapters.catalog,
                    adapters.dump,
                    originals,
                    Path(since) if since else None,
                )
            ) as steps:
                async for step in steps:
                    yield step
        finally:
            await self._purge()

    async def _purge(self) -> None:
        """Delete what was put off for the time of a backup."""
        try:
            await self._pipeline.purge()
        except RagstoneError as error:
            log.warning("Chunks of old versions wait for the next ingest: %s", error)

    async def restore(
        self, file: str, earlier: tuple[str, ...] = ()
    ) -> AsyncGenerator[Upkeep, None]:
        adapters, originals = self._adapters, self._pipeline.originals
        async with aclosing(
            restore(
                Path(file),
                adapters.index,
                adapters.catalog,
                adapters.dump,
                originals,
                [Path(text) for text in earlier],
            )
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
