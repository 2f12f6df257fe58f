"""Backups and examinations of a Ragstone in this process."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

from ragstone.backup.back_up import back_up
from ragstone.backup.doctor import Doctor
from ragstone.backup.restore import restore
from ragstone.ingest.pipeline import Pipeline
from ragstone.ports import Kit, StateDump
from ragstone.service.maintenance import Upkeep


class LocalMaintenance:
    """`service.Maintenance` on adapters of this process."""

    def __init__(self, kit: Kit, pipeline: Pipeline) -> None:
        self._kit = kit
        self._pipeline = pipeline

    @property
    def _state(self) -> StateDump:
        assert self._kit.dump is not None  # noqa: S101  build.py always makes one
        return self._kit.dump

    async def back_up(self, file: str) -> AsyncGenerator[Upkeep, None]:
        kit = self._kit
        async with aclosing(back_up(Path(file), kit.index, kit.catalog, self._state)) as steps:
            async for step in steps:
                yield step

    async def restore(self, file: str) -> AsyncGenerator[Upkeep, None]:
        kit = self._kit
        async with aclosing(restore(Path(file), kit.index, kit.catalog, self._state)) as steps:
            async for step in steps:
                if step.finished:
                    await self._forget()
                yield step

    async def _forget(self) -> None:
        """What is kept in memory of what was replaced."""
        if self._kit.topics:
            await self._kit.topics.reload()
        if self._kit.cache:
            await self._kit.cache.clear()

    async def examine(self, mend: bool) -> AsyncGenerator[Upkeep, None]:
        kit, pipeline = self._kit, self._pipeline
        doctor = Doctor(
            kit.index,
            kit.catalog,
            self._state,
            kit.cache,
            pipeline.purge,
            pipeline.embed,
            pipeline.reread,
        )
        async with aclosing(doctor.examine(mend)) as steps:
            async for step in steps:
                yield step
