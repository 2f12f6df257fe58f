"""Jobs are whose they are, and hold what they were made from: by every way that leads to one."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
import pytest_asyncio

from ragstone import __version__
from ragstone.core.turn import Ask, Principal
from ragstone.plugins.plone.settings import PloneSettings
from ragstone.service import wire
from ragstone.service.contract import operations
from ragstone.service.wire import OPERATION_HEADER, VERSION_HEADER
from tests.attack.house import OPERATOR, House, a_house, told
from tests.credentials import bearer
from tests.patience import PATIENCE

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAY = "What is the pay of Bob Zebra?"
LAMP = "What battery does the lamp have?"
PAY_OF_BOB = b"# The pay of Bob Zebra\n\nThe pay of Bob Zebra is 71234 euros a year.\n"
ACTIONS = ("cancel", "pause", "resume", "retry")


@dataclass
class Asked:
    """A house where eva, of the staff, has asked about `hr` and about `manuals` in the background,
    by a key that reaches both, and ingested a file into `hr`."""

    house: House
    eva: dict[str, str]
    pay: str
    lamp: str
    ingest: str
    site: str
    """A question about `hr` by Plone's dialect."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def asked(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Asked]:
    plone = PloneSettings(collection="hr", enabled=True)
    async with a_house(tmp_path_factory.mktemp("jobs"), plone=plone) as house:
        eva = await house.key("editor", collections=["manuals", "hr"], groups=["staff"])
        pay = await question(house, eva, PAY, "hr")
        lamp = await question(house, eva, LAMP, "manuals")
        sent = await house.send(
            eva, "POST", "/local/upload", files={"file": ("quagga.md", b"# Quagga\n\nZebra.\n")}
        )
        file = {"path": "/quagga.md", "file": sent.json()["file"], "source": ""}
        request = {"paths": [], "collection": "hr", "handed": [file]}
        begun = await call(house, eva, "ingest", request=request)
        assert begun.status_code == 200, begun.text
        [job] = (await house.send(eva, "GET", "/api/v1/jobs?kind=ingest")).json()["jobs"]
        sent = await house.send(eva, "POST", "/@rag-ask", {"question": PAY})
        assert sent.status_code < 300, sent.text
        site = str(sent.json()["job_id"])
        async with asyncio.timeout(PATIENCE):
            while "71234" not in (await house.send(eva, "GET", f"/@rag-ask?job_id={site}")).text:
                await asyncio.sleep(0.05)
        yield Asked(house, eva, pay, lamp, job["id"], site)


async def question(house: House, headers: dict[str, str], text: str, collection: str) -> str:
    """The id of a job that has answered."""
    answer = await call(house, headers, "jobs.ask", ask=wire.dump(Ask(text, collection=collection)))
    assert answer.status_code == 200, answer.text
    id = str(answer.json()["id"])
    async with asyncio.timeout(PATIENCE):
        while (found := await house.send(headers, "GET", f"/api/v1/jobs/{id}")).json()[
            "state"
        ] not in ("done", "failed"):
            await asyncio.sleep(0.05)
    assert found.json()["result"]["answer"], found.text
    assert "origin" not in found.json()["result"]
    return id


async def call(
    house: House, headers: dict[str, str], operation: str, **arguments: Any
) -> httpx2.Response:
    """Ragstone's own protocol."""
    versions = {
        VERSION_HEADER: __version__,
        OPERATION_HEADER: operations()[operation].fingerprint,
    }
    return await house.send({**headers, **versions}, "POST", f"/local/call/{operation}", arguments)


async def seen(house: House, headers: dict[str, str], id: str) -> dict[str, Any]:
    """What each way shows of a job, by its name: a status for one that does not exist."""
    whose = wire.dump(Principal("default", "eva", ("staff",)))
    one = {"principal": whose, "id": id}
    ways = {
        "http": await house.send(headers, "GET", f"/api/v1/jobs/{id}"),
        "events": await house.send(headers, "GET", f"/api/v1/jobs/{id}/events"),
        "plone": await house.send(headers, "GET", f"/@rag-ask?job_id={id}"),
        "local": await call(house, headers, "jobs.get", **one),
        "watch": await call(house, headers, "jobs.watch", **one),
        **{act: await house.send(headers, "POST", f"/api/v1/jobs/{id}/{act}") for act in ACTIONS},
        **{f"local {act}": await call(house, headers, f"jobs.{act}", **one) for act in ACTIONS},
    }
    lists = {
        "list": await house.send(headers, "GET", "/api/v1/jobs"),
        "local list": await call(house, headers, "jobs.list", tenant="default", principal=whose),
    }
    for name, found in (ways | lists).items():
        assert found.status_code < 500, (name, found.text)
    shown = {
        name: found
        for name, found in ways.items()
        if found.status_code < 400 and found.text != "null" and "unknown_job" not in found.text
    }
    shown |= {name: found for name, found in lists.items() if id in found.text}
    # That the job has ended is an answer too: there is one.
    shown |= {name: found for name, found in ways.items() if found.status_code == 409}
    return shown


async def test_the_asker_has_the_answers(asked: Asked) -> None:
    shown = await seen(asked.house, asked.eva, asked.pay)
    assert "71234" in shown["http"].text
    assert {"events", "local", "watch", "list", "local list", "cancel"} <= set(shown)
    shown = await seen(asked.house, asked.eva, asked.site)
    assert "71234" in shown["plone"].text


STRANGERS: dict[str, dict[str, Any]] = {
    "another user": {"user": "max", "groups": ["staff"]},
    "the same user without the group": {"user": "eva", "groups": []},
    "the same user with another group": {"user": "eva", "groups": ["staff", "board"]},
    "the same user elsewhere": {"user": "eva", "groups": ["staff"], "tenant": "acme"},
    "an admin elsewhere": {"user": "root", "role": "admin", "tenant": "acme"},
    "a key of the other collection": {
        "user": "eva",
        "groups": ["staff"],
        "collections": ["manuals"],
    },
    "an admin of the other collection": {
        "user": "root",
        "role": "admin",
        "collections": ["manuals"],
    },
    "a key of no collection": {"user": "eva", "groups": ["staff"], "collections": []},
}


@pytest.mark.parametrize("name", STRANGERS)
async def test_to_anybody_else_a_job_does_not_exist_by_any_way(asked: Asked, name: str) -> None:
    headers = await asked.house.key(**STRANGERS[name])
    for id in (asked.pay, asked.ingest, asked.site):
        assert await seen(asked.house, headers, id) == {}


async def test_an_admin_sees_that_there_is_a_job_and_no_answer(asked: Asked) -> None:
    headers = await asked.house.key("admin", "root")
    shown = await seen(asked.house, headers, asked.pay)
    assert "http" in shown
    assert [told(found) for found in shown.values()] == [[]] * len(shown)


async def test_an_answer_is_for_a_key_that_reaches_what_it_was_made_from(asked: Asked) -> None:
    narrow = await asked.house.key(collections=["manuals"], groups=["staff"])
    assert "http" in await seen(asked.house, narrow, asked.lamp)


async def test_without_a_credential_nobody_has_a_job(asked: Asked) -> None:
    for id in (asked.pay, asked.lamp, asked.ingest, asked.site):
        assert await seen(asked.house, {}, id) == {}
    everything = await seen(asked.house, bearer(OPERATOR), asked.pay)
    assert "local" in everything
    assert "71234" in everything["local"].text


async def test_what_a_job_of_a_collection_that_is_gone_holds_is_not_its_successors(
    asked: Asked,
) -> None:
    house, name = asked.house, "brief"
    wide = await house.key("admin", groups=["staff"])
    one = await house.key("admin", collections=[name], groups=["staff"])
    sent = await house.send(one, "POST", "/local/upload", files={"file": ("pay.md", PAY_OF_BOB)})
    file = {"path": "/pay.md", "file": sent.json()["file"], "source": ""}
    request = {"paths": [], "collection": name, "handed": [file]}
    assert (await call(house, one, "ingest", request=request)).status_code == 200
    id = await question(house, one, PAY, name)
    assert "71234" in (await house.send(one, "GET", f"/api/v1/jobs/{id}")).text
    gone = await call(
        house, wide, "delete", principal=wire.dump(Principal()), collection=name, paths=None
    )
    assert gone.status_code == 200, gone.text
    assert (await call(house, wide, "ingest", request=request)).status_code < 500
    again = await house.key("reader", collections=[name], groups=["staff"])
    assert await seen(house, again, id) == {}
