"""`kill -9` while a chat model reads for the entity graph: the next server goes on, no passage
whose reading was kept is asked about again, and the graph is that of a server that nobody
killed."""

import asyncio
import sqlite3
from collections import Counter
from contextlib import aclosing, closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ragstone.core.errors import RagstoneError
from ragstone.core.turn import Principal
from ragstone.plugins.graph.model_reader import AT_A_TIME, PASSAGES
from ragstone.remote import connect_service
from ragstone.service import IngestRequest, Service, wire
from ragstone.service.jobs import JobView
from ragstone.service.server_file import find_server
from tests.documents import copied
from tests.e2e.processes import serving, serving_until_killed
from tests.ingest.test_graph_model import PASSAGE, good
from tests.model_server import ModelServer, model_server
from tests.patience import until

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]

SHIPS, DAYS = 4, 24
"""Documents, and passages of each: more than are asked about at once."""

KILLED_AT = (5, 8, 6)
"""Calls of the model that a server makes before it is killed, of the 24 that the ships take."""

SECONDS = 0.3
"""How long the model takes for a call."""

BROKEN = "Broken Reply"
"""A name in a passage of which the model says nothing that can be read."""

SUMMARY = "They all met [1]."


def told(text: str) -> str:
    """What the model says: of a theme one sentence, of passages what they name, and of those with
    the broken one a reply that ends in the middle of its first name."""
    if "<part>" in text:
        return SUMMARY
    said = good(text)
    return said[: said.index('"name"')] if BROKEN in text else said


@pytest.fixture
def ships(tmp_path: Path) -> Path:
    folder = tmp_path / "ships"
    folder.mkdir()
    for ship in range(SHIPS):
        name = ("Alder", "Birch", "Cedar", "Dogwood")[ship]
        days = [
            f"## Day {day}\n\nSo Ada Thornbury met Niels Holm of the {name} Line, and on day {day} "
            f"Eva Palla wrote to the Oslo Harbour that ship {ship} was late once more.\n"
            for day in range(DAYS)
        ]
        (folder / f"{name}.md").write_text(f"# The log of the {name}\n\n" + "\n".join(days))
    first = folder / "Alder.md"
    first.write_text(first.read_text().replace("Eva Palla wrote", f"{BROKEN} came", 1))
    return folder


def variables(model: ModelServer) -> dict[str, str]:
    return {
        "LLM__MODEL": "some",
        "LLM__BASE_URL": model.url,
        "INGEST__GRAPH": "model",
        "INGEST__CHUNK_SIZE": "300",
        "INGEST__CHUNK_OVERLAP": "0",
        "RAG__KNOWLEDGE_GRAPH_ENABLED": "true",
    }


def service_of(data: Path) -> Service:
    found = find_server(data)
    assert found is not None
    return connect_service(*found)


def asked(model: ModelServer) -> Counter[str]:
    """How often the model was asked about each passage."""
    texts = (call["messages"][-1]["content"] for call in model.calls)
    return Counter(passage for text in texts for passage in PASSAGE.findall(text))


def kept(data: Path) -> int:
    """Passages whose reading outlived the server."""
    with closing(sqlite3.connect(data / "state.sqlite")) as state:
        [[count]] = state.execute("SELECT count(DISTINCT key) FROM chunk_readings")
    return int(count)


async def ingested(service: Service, folder: Path) -> None:
    steps = [step async for step in service.ingest(IngestRequest((str(folder),)))]
    assert (steps[-1].indexed, steps[-1].failed) == (SHIPS, ())
    assert any(note.startswith("Nothing could be made of what") for note in steps[-1].notes)


async def asked_and_cut_off(service: Service, folder: Path) -> None:
    """Ask for an ingest of which the end is never heard."""
    with pytest.raises(RagstoneError):
        async for _ in service.ingest(IngestRequest((str(folder),))):
            pass


async def jobs_done(service: Service) -> list[JobView]:
    """The ingests, when all have ended."""
    while True:
        jobs = await service.jobs.list("default", "ingest")
        if all(job.ended for job in jobs):
            return list(jobs)
        await asyncio.sleep(0.05)


async def graph_of(service: Service) -> list[Any]:
    """All that the graph shows: what is named, where, with what relations, and the themes."""
    everything = partial(service.graph.show, Principal(), "default", limit=1_000)
    while (whole := await everything()).waiting:
        await asyncio.sleep(0.05)
    views = [await everything(entity=item.name) for item in whole.named]
    return [wire.dump(view) for view in (whole, *views)]


async def test_given_kills_while_a_model_reads_then_the_graph_is_that_of_a_server_left_alone(
    indexed_documents: Path, ships: Path, tmp_path: Path
) -> None:
    # Copies of one data directory, so that ids are the same too.
    calm, killed = (copied(indexed_documents, tmp_path / name) for name in ("calm", "killed"))
    with model_server(reply_to=told) as model, serving(calm, **variables(model)):
        async with aclosing(service_of(calm)) as service:
            await ingested(service, ships)
            expected = await graph_of(service)
    assert expected[0]["themes"][0]["by"] == "some"
    assert any(view["relations"] for view in expected)
    whole = asked(model)
    assert set(whole.values()) == {1}
    assert len(whole) == kept(calm) >= SHIPS * DAYS

    with model_server(reply_to=told, delay=SECONDS) as model:
        before = 0
        for number, calls in enumerate(KILLED_AT):
            enough = len(model.calls) + calls
            with serving_until_killed(killed, **variables(model)):
                service = service_of(killed)
                if number == 0:
                    ingest = asyncio.create_task(asked_and_cut_off(service, ships))
                assert await until(lambda least=enough: len(model.calls) >= least)  # type: ignore[misc]
            await ingest
            await service.aclose()
            # What the killed server had sent has arrived by then.
            await asyncio.sleep(SECONDS)
            assert before < kept(killed) < len(whole), "it was killed in the middle"
            before = kept(killed)
        seen = asked(model)
        with serving(killed, **variables(model)):
            async with aclosing(service_of(killed)) as service:
                [first] = [item for item in await jobs_done(service) if item.attempts > 1]
                assert (first.state, first.attempts) == ("done", len(KILLED_AT) + 1)
                assert await graph_of(service) == expected
    last = asked(model) - seen
    assert set(last.values()) == {1}
    assert len(last) == len(whole) - before, "what was kept was asked about again"
    assert set(asked(model)) == set(whole)
    lost = asked(model).total() - len(whole)
    assert lost <= len(KILLED_AT) * AT_A_TIME * PASSAGES, "more than what was being asked was lost"
    assert kept(killed) == len(whole)
