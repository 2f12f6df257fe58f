"""What came from a collection stays with those who reach it, in whatever form it was kept."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from ragstone.core.turn import Ask, Principal
from tests.attack.house import OPERATOR, House, a_house, told
from tests.credentials import bearer

ROOM = "room-1"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    async with a_house(tmp_path_factory.mktemp("history")) as house:
        whole = await house.key("reader", "eva")
        for question in ("What is the pay of Bob Zebra?", "Where does the board meet?"):
            answered = await house.ask(whole, question, ROOM, "hr")
            assert told(answered)
        yield house


pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_key_of_another_collection_reads_no_turn_of_the_room(house: House) -> None:
    limited = await house.key("reader", "eva", ["manuals"])
    for path in (
        "/api/v1/conversations",
        f"/api/v1/conversations/{ROOM}",
        f"/api/v1/conversations/{ROOM}?export=json",
        f"/api/v1/conversations/{ROOM}?export=markdown",
        f"/api/v1/conversations/{ROOM}?tokens=rag",
        f"/v2/rag/query?room_id={ROOM}",
    ):
        found = await house.send(limited, "GET", path)
        assert not told(found), path
        assert ROOM not in found.text or found.status_code == 404, path
        assert '"tokens":0' in found.text.replace(" ", "") or "tokens" not in path


async def test_an_admin_key_of_another_collection_neither_reads_nor_changes_it(
    house: House,
) -> None:
    limited = await house.key("admin", "root", ["manuals"])
    for method, path, body in (
        ("GET", "/api/v1/conversations?user=eva", None),
        ("GET", f"/api/v1/conversations/{ROOM}?user=eva", None),
        ("GET", f"/api/v1/conversations/{ROOM}?user=eva&export=json", None),
        ("PATCH", f"/api/v1/conversations/{ROOM}?user=eva", {"title": "Mine"}),
        ("DELETE", f"/api/v1/conversations/{ROOM}?user=eva", None),
        ("POST", "/api/v1/conversations/forget", {"user": "eva"}),
        ("GET", "/api/v1/traces", None),
        ("GET", "/api/v1/traces?user=eva", None),
        ("GET", "/api/v1/stats?by=room", None),
        ("GET", "/api/v1/stats/stages", None),
        ("GET", "/api/v1/stats/strategies", None),
        ("GET", "/api/v1/topics/blocked", None),
        ("GET", "/api/v1/jobs", None),
    ):
        found = await house.send(limited, method, path, body)
        assert not told(found), path
        assert ROOM not in found.text or found.status_code == 404, (path, found.text)
    kept = await house.send(bearer(OPERATOR), "GET", f"/api/v1/conversations/{ROOM}?user=eva")
    assert len(kept.json()["turns"]) == 2


async def test_the_operator_and_an_admin_of_all_collections_read_it(house: House) -> None:
    for headers in (bearer(OPERATOR), await house.key("admin", "root")):
        found = await house.send(headers, "GET", f"/api/v1/conversations/{ROOM}?user=eva")
        assert told(found)
        traces = await house.send(headers, "GET", "/api/v1/traces")
        assert len(traces.json()["traces"]) >= 2


async def test_a_follow_up_is_not_rewritten_with_what_is_out_of_reach(house: House) -> None:
    limited = await house.key("reader", "eva", ["manuals"])
    found = await house.ask(limited, "And his pay?", ROOM)
    assert not told(found)


async def test_what_is_said_after_it_belongs_to_both_collections(house: House) -> None:
    whole, both = await house.key("reader", "otto"), ["hr", "manuals"]
    assert told(await house.ask(whole, "What is the pay of Bob Zebra?", "mixed", "hr"))
    await house.ask(whole, "How long does the lamp last?", "mixed", "manuals")
    for reach, turns in ((["manuals"], 0), (["hr"], 0), (both, 2)):
        limited = await house.key("reader", "otto", reach)
        found = await house.send(limited, "GET", "/api/v1/conversations/mixed")
        assert len(found.json().get("turns", [])) == turns, reach


async def test_a_room_of_the_own_collection_is_read_by_its_key(house: House) -> None:
    limited = await house.key("reader", "lea", ["manuals"])
    await house.ask(limited, "What battery does the lamp have?", "own")
    found = await house.send(limited, "GET", "/api/v1/conversations/own")
    assert "40 hours" in found.text
    listed = await house.send(limited, "GET", "/api/v1/conversations")
    assert listed.json()["total"] == 1
    deleted = await house.send(limited, "DELETE", "/api/v1/conversations/own")
    assert deleted.status_code == 200


async def test_topics_and_sums_of_the_tenant_are_for_keys_of_all_collections(
    house: House,
) -> None:
    limited = await house.key("admin", "root", ["manuals"])
    for method, path, body in (
        ("POST", "/api/v1/topics", {"topics": [{"term": "lamp"}]}),
        ("POST", "/api/v1/topics/remove", {"terms": ["lamp"]}),
        ("GET", "/api/v1/topics", None),
        ("GET", "/api/v1/topics/export", None),
        ("GET", "/api/v1/topics/blocked", None),
        ("POST", "/api/v1/topics/check", {"question": "lamp"}),
        ("GET", "/api/v1/stats", None),
    ):
        assert (await house.send(limited, method, path, body)).status_code == 403, path


async def test_an_answered_job_is_read_by_who_reaches_what_it_came_from(house: House) -> None:
    ask = Ask("What is the pay of Bob Zebra?", Principal("default", "eva"), "hr")
    job = await house.service.jobs.ask(ask)
    async for view in house.service.jobs.watch(ask.principal, job.id):
        last = view
    assert "71234" in str(last.result)
    limited = await house.key("admin", "eva", ["manuals"])
    for method, path in (
        ("GET", f"/api/v1/jobs/{job.id}"),
        ("GET", f"/api/v1/jobs/{job.id}/events"),
        ("POST", f"/api/v1/jobs/{job.id}/cancel"),
        ("POST", f"/api/v1/jobs/{job.id}/retry"),
    ):
        assert (await house.send(limited, method, path)).status_code == 404
    cleaned = await house.send(limited, "POST", "/api/v1/jobs/clean", {})
    assert cleaned.status_code == 403
    assert await house.service.jobs.get(ask.principal, job.id)
    whole = await house.key("reader", "eva")
    assert "71234" in (await house.send(whole, "GET", f"/api/v1/jobs/{job.id}")).text


async def test_a_job_that_remembers_more_than_its_key_reaches_does_not_say_it(
    house: House,
) -> None:
    """The job runs later, in the name of the key that asked."""
    limited = await house.key("reader", "eva", ["manuals"])
    body = {"query": "And his pay?", "room_id": ROOM, "collection_name": "manuals"}
    found = await house.send(limited, "POST", "/v2/rag/query", body)
    assert not told(found)


async def test_a_collection_of_the_same_name_is_not_the_one_before(house: House) -> None:
    """What was answered from a collection that is gone belongs to nobody of single collections."""
    whole = await house.key("admin", "ida")
    body = {"file.md": "# Old\n\nThe old code is Quagga.\n"}
    await house.send(
        whole,
        "POST",
        "/chat/c9/documents",
        files=[("files", *body.items())],  # type: ignore[arg-type]
    )
    await house.ask(whole, "What is the old code?", "gone", "chat_c9")
    limited = await house.key("reader", "ida", ["chat_c9"])
    assert (await house.send(whole, "DELETE", "/chat/c9/documents")).status_code == 200
    again = await house.key("reader", "ida", ["chat_c9"])
    for headers in (limited, again):
        found = await house.send(headers, "GET", "/api/v1/conversations/gone")
        assert found.status_code == 404
