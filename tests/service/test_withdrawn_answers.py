"""The answer of an asynchronous question is for nobody who may not read its documents any more."""

from pathlib import Path

import pytest

from ragstone import build
from ragstone.core.turn import Ask, Principal
from ragstone.local.jobs import WITHDRAWN
from ragstone.service import IngestRequest
from ragstone.settings import Settings

ADMIN = Principal()


@pytest.mark.slow
@pytest.mark.parametrize("collections", [None, ("default",)])
async def test_who_asked_learns_that_an_answer_is_for_others_now(
    tmp_path: Path, collections: tuple[str, ...] | None
) -> None:
    (tmp_path / "ost.txt").write_text("The lighthouse of Ost was built in 1871.")
    ann = Principal("default", "ann", (), collections)
    async with build.open(Settings(ragstone_data=tmp_path / "data")) as service:
        async for _ in service.ingest(IngestRequest((str(tmp_path / "ost.txt"),))):
            pass
        job = await service.jobs.ask(Ask("When was the lighthouse of Ost built?", ann))
        states = [view async for view in service.jobs.watch(ann, job.id)]
        assert "1871" in str(states[-1].result)
        [document] = await service.documents(ADMIN, "default")
        await service.readers.give(ADMIN, "default", ("group:hr",), paths=[document.id])
        told = await service.jobs.get(ann, job.id)
    assert told
    assert (told.state, told.result, told.error) == ("cancelled", None, WITHDRAWN)
