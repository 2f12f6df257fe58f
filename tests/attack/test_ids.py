"""An id that a caller knows or computes opens nothing, and does not tell what is there."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import pytest_asyncio

from ragstone import __version__
from ragstone.core.chunk import chunk_id
from ragstone.core.turn import Ask, Principal
from ragstone.ingest.write import document_id
from ragstone.service import IngestRequest
from ragstone.service.contract import operations
from ragstone.service.wire import OPERATION_HEADER, VERSION_HEADER
from tests.attack.house import House, a_house, told

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAY = "What is paid to Bob a year?"
ASKING = sorted(name for name, item in operations().items() if Ask in item.types.values())


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    folder = tmp_path_factory.mktemp("ids")
    async with a_house(folder) as house:
        await hide(house, folder)
        yield house


async def hide(house: House, folder: Path) -> None:
    """Add a document of several sections to `manuals` that is for one group."""
    (folder / "hidden.md").write_text(
        "# The vault\n\nThe vault is green.\n\n## Opening\n\nThe vault opens at nine o'clock.\n"
    )
    request = IngestRequest((str(folder / "hidden.md"),), "manuals", allowed=("group:staff",))
    async for progress in house.service.ingest(request):
        assert not progress.failed


async def call(house: House, headers: dict[str, str], called: str, **given: Any) -> httpx2.Response:
    versions = {
        VERSION_HEADER: __version__,
        OPERATION_HEADER: operations()[called].fingerprint,
    }
    return await house.send({**headers, **versions}, "POST", f"/local/call/{called}", given)


async def test_the_operations_that_take_a_question_are_known() -> None:
    assert ASKING == ["ask", "function_calling", "jobs.ask", "search"]


@pytest.mark.parametrize("called", ASKING)
@pytest.mark.parametrize("role", ["reader", "admin"])
async def test_a_limited_credential_asks_no_other_collection_by_its_id(
    house: House, called: str, role: Any
) -> None:
    limited = await house.key(role, f"limited-{role}", collections=["manuals"])
    hr = (await house.service.collection(Principal(), "hr")).collection
    ask = {"question": PAY, "collection": "manuals", "collection_id": hr.id}

    more = {"key": "", "after": 0} if called == "ask" else {}
    answered = await call(house, limited, called, ask=ask, **more)

    # Without a chat model there are no functions to call.
    assert answered.status_code == (400 if called == "function_calling" else 200), answered.text
    assert not told(answered), answered.text
    if called == "jobs.ask":
        job = f"/api/v1/jobs/{answered.json()['id']}"
        assert not told(await house.send(limited, "GET", f"{job}/events"))
        assert not told(await house.send(limited, "GET", job))


async def test_whoever_reaches_it_is_answered_by_its_name(house: House) -> None:
    own = await house.key(collections=["hr"])

    found = await call(house, own, "search", ask={"question": PAY, "collection": "hr"})

    assert told(found)


async def test_the_operator_is_told_how_much_there_is_whoever_may_read_it(house: House) -> None:
    eva = Principal(user="eva")
    readable = sum(item.documents for item in await house.service.collections(eva))

    assert (await house.service.overview()).documents == readable + 1


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside one that may be read"])
async def test_suggestions_do_not_tell_of_what_may_not_be_read(house: House, beside: bool) -> None:
    eva, staff = await house.key(), await house.key(user="ben", groups=["staff"])
    place = (await house.service.collection(Principal(), "manuals")).collection.id

    async def suggest(headers: dict[str, str], *paths: str) -> list[str]:
        ids = [document_id("default", place, path) for path in (*paths, *beside * ["/lamp.md"])]
        # The first chunk of each of the first versions, as anyone can compute it.
        cited = {chunk_id(id, version, 0): 0 for version in (1, 2, 3) for id in ids}
        given = {"principal": {}, "collection": "manuals", "cited": cited}
        found: list[str] = (await call(house, headers, "suggest", **given)).json()
        return found

    hidden = ("/hidden.md", "/manuals/hidden.md")
    missing = ("/missing.md", "/manuals/missing.md")

    assert await suggest(eva, *hidden) == await suggest(eva, *missing)
    assert any("Opening" in question for question in await suggest(staff, *hidden))
