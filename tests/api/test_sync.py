"""The plain client: the same without asyncio, from any thread."""

import asyncio
import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

import ragstone
from ragstone import errors
from tests.documents import DOCUMENTS
from tests.model_server import model_server

pytestmark = pytest.mark.slow

REVENUE = "What was the revenue in 2024?"


@pytest.fixture
def rag(data: Path) -> ragstone.Client:
    return ragstone.Client(data)


def test_a_whole_answer_and_a_streamed_one_are_the_same(rag: ragstone.Client) -> None:
    with rag:
        whole = rag.ask(REVENUE, cache=False)
        events = list(rag.stream(REVENUE, cache=False))
    assert isinstance(events[-1], ragstone.Answer)
    assert (events[-1].text, events[-1].sources) == (whole.text, whole.sources)
    assert "".join(e.text for e in events if isinstance(e, ragstone.Token)) == whole.text


def test_an_ingest_tells_how_far_it_is(tmp_path: Path) -> None:
    with ragstone.Client(tmp_path / "data") as rag:
        steps = list(rag.ingest_steps(DOCUMENTS))
        assert (steps[-1].share, steps[-1].indexed) == (1.0, 5)
        assert [item.path for item in rag.documents.list()] == sorted(
            f"/documents/{file.name}" for file in DOCUMENTS.iterdir()
        )


def test_leaving_the_loop_cancels_the_question(data: Path) -> None:
    with (
        model_server(way="slow drip") as server,
        ragstone.Client(data, settings={"llm.base_url": server.url}) as rag,
    ):
        with closing(rag.stream(REVENUE, conversation="cut")) as events:
            for event in events:
                if isinstance(event, ragstone.Token):
                    break
        [kept] = rag.conversations.read("cut")
    assert (kept.block.status, len(server.calls)) == ("idle", 1)


async def test_it_works_where_a_loop_runs_already(rag: ragstone.Client) -> None:
    assert asyncio.get_running_loop().is_running()
    with rag:
        assert "48.6 million" in rag.ask(REVENUE).text
        assert len(rag.documents.list()) == 5


def test_threads_can_share_it(rag: ragstone.Client) -> None:
    with rag, ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: rag.ask(REVENUE, cache=False).text, range(16)))
    assert len(set(answers)) == 1


def test_an_error_is_the_one_of_the_asynchronous_client(rag: ragstone.Client) -> None:
    with rag:
        with pytest.raises(errors.EmptyQuestion):
            rag.ask("")
        with pytest.raises(errors.EmptyQuestion):
            list(rag.stream(""))
        with pytest.raises(errors.UnreadableDocument):
            rag.ingest("nowhere/at/all")
        with pytest.raises(errors.UnknownJob):
            list(rag.jobs.watch("nothing"))


def test_a_client_that_is_closed_says_so(rag: ragstone.Client) -> None:
    with rag:
        left = rag.stream(REVENUE)
        next(left)
    rag.close()
    for work in (
        lambda: rag.ask(REVENUE),
        lambda: rag.collections.list(),
        lambda: rag.as_user("eva").status(),
        lambda: list(rag.stream(REVENUE)),
        lambda: list(left),
    ):
        with pytest.raises(errors.ClientClosed, match="The client is closed"):
            work()


def test_closing_ends_what_other_threads_wait_for(rag: ragstone.Client) -> None:
    rag.status()
    job = rag.jobs.ask(REVENUE)
    rag.jobs.wait(job.id)
    caught: list[BaseException] = []
    began = threading.Event()

    async def forever() -> None:
        began.set()
        await asyncio.Event().wait()

    def wait() -> None:
        try:
            rag._thread.run(forever())
        except errors.ClientClosed as error:
            caught.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    assert began.wait(30)
    rag.close()
    waiting.join(30)
    assert len(caught) == 1


def test_a_client_that_nobody_holds_closes_itself(data: Path) -> None:
    threads = threading.active_count()
    rag = ragstone.Client(data)
    with pytest.raises(errors.EmptyQuestion):
        rag.ask("")
    documents = rag.as_user("eva").documents
    rag = ragstone.Client(data)
    assert len(documents.list()) == 5
    with pytest.raises(errors.DataDirectoryInUse):
        rag.status()
    del documents
    gc.collect()  # What the error above was raised through may hold the first client in a ring.
    assert rag.status().documents == 5
    del rag
    gc.collect()
    assert threading.active_count() <= threads + 1
