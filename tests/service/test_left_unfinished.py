"""What a process that was killed left undone is done by the next one, without being asked."""

import asyncio
from pathlib import Path

import pytest

from ragstone import build
from ragstone.core.turn import Principal
from ragstone.ingest.pipeline import Pipeline
from ragstone.local import Ragstone
from ragstone.service import IngestRequest
from ragstone.settings import Settings
from ragstone.store.sql.catalog import SqlCatalog

pytestmark = pytest.mark.slow


async def notes(ragstone: Ragstone) -> tuple[str, ...]:
    """What the doctor finds."""
    found: tuple[str, ...] = ()
    async for step in ragstone.maintenance.examine(mend=False):
        found = step.notes
    return found


async def never(*_: object) -> None:
    """What a process does that is killed now."""


class Killed(BaseException):
    """Stands for the end of the process."""


async def killed(*_: object) -> None:
    raise Killed


@pytest.mark.timeout(120)
async def test_given_a_kill_after_a_deletion_then_its_chunks_go_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "ost.txt"
    file.write_text("The lighthouse of Ost was built in 1871.")
    settings = Settings(ragstone_data=tmp_path / "data")
    async with build.open(settings) as ragstone:
        async for _ in ragstone.ingest(IngestRequest((str(file),))):
            pass
        with monkeypatch.context() as patch:
            patch.setattr(Pipeline, "purge", never)
            assert await ragstone.delete(Principal(), "default", ["/ost.txt"]) == 1
        [found] = await notes(ragstone)
        assert "still have chunks" in found
    async with build.open(settings) as ragstone:
        await ragstone.start_jobs()
        while await notes(ragstone):
            await asyncio.sleep(0.01)


@pytest.mark.timeout(120)
async def test_given_a_kill_while_a_collection_is_deleted_then_no_document_is_without_its_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "ost.txt"
    file.write_text("The lighthouse of Ost was built in 1871.")
    settings = Settings(ragstone_data=tmp_path / "data")
    async with build.open(settings) as ragstone:
        async for _ in ragstone.ingest(IngestRequest((str(file),))):
            pass
        with monkeypatch.context() as patch:
            patch.setattr(SqlCatalog, "drop_collection", killed)
            with pytest.raises(Killed):
                await ragstone.delete(Principal(), "default")
    async with build.open(settings) as ragstone:
        await ragstone.start_jobs()
        while any("still have chunks" in note for note in await notes(ragstone)):
            await asyncio.sleep(0.01)
        assert await notes(ragstone) == ()
        assert await ragstone.documents(Principal(), "default") == []
        assert await ragstone.delete(Principal(), "default") == 0
        assert await ragstone.collections(Principal()) == []
