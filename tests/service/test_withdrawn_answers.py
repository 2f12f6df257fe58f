"""An answer that is kept, of an asynchronous question or to be read on after a broken connection,
is for nobody who may not read its documents any more."""

from contextlib import aclosing
from pathlib import Path

import pytest

from ragstone import build
from ragstone.core.errors import UnknownAnswer
from ragstone.core.events import Event, Token
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


@pytest.mark.slow
@pytest.mark.parametrize("read", [2, None], ids=["while it goes on", "once it has ended"])
@pytest.mark.parametrize("change", ["readers", "deletion"])
async def test_an_answer_is_not_read_on_by_who_may_not_read_its_documents_any_more(
    tmp_path: Path, change: str, read: int | None
) -> None:
    (tmp_path / "ost.txt").write_text("The lighthouse of Ost was built in 1871.")
    ann = Principal("default", "ann")
    ask = Ask("When was the lighthouse of Ost built?", ann)
    async with build.open(Settings(ragstone_data=tmp_path / "data")) as service:
        async for _ in service.ingest(IngestRequest((str(tmp_path / "ost.txt"),))):
            pass
        begun: list[Event] = []
        async with aclosing(service.ask(ask, key="k")) as events:
            async for event in events:
                begun.append(event)
                if read and isinstance(event, Token):
                    break
        again = [event async for event in service.ask(ask, key="k", after=1)]
        assert "1871" in str(again), "as long as nothing changes"
        if change == "deletion":
            await service.delete(ADMIN, "default")
        else:
            [document] = await service.documents(ADMIN, "default")
            await service.readers.give(ADMIN, "default", ("group:hr",), paths=[document.id])

        with pytest.raises(UnknownAnswer):
            await anext(service.ask(ask, key="k", after=1))

        asked_anew = [event async for event in service.ask(ask, key="k")]
        assert "1871" not in str(asked_anew).replace(ask.question, "")
