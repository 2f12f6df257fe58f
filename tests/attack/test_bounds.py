"""One request keeps no other waiting: what it may hold has bounds, and is read in time."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from ragstone.core.errors import InputError, InvalidFilter
from ragstone.core.filters import (
    MAX_CONDITIONS,
    And,
    AnyOf,
    Not,
    Or,
    check_size,
    eq,
    matches,
    paths_filter,
)
from ragstone.core.limits import check_ask
from ragstone.core.turn import Ask, Message
from tests.attack.house import House, a_house
from tests.in_turn import in_turn

pytestmark = pytest.mark.asyncio(loop_scope="module")
MANY = [f"/a/b{number}" for number in range(100_000)]
SEARCH, CHAT = "/api/v1/retrieval/retrieve", "/v1/chat/completions"
QUESTION = "What battery does the lamp have?"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    async with a_house(tmp_path_factory.mktemp("bounds")) as house:
        yield house


def search(**filters: Any) -> dict[str, Any]:
    return {"query": QUESTION, "collection": "manuals", "filters": filters}


def chat(*messages: str, **given: Any) -> dict[str, Any]:
    said = [{"role": "user", "content": message} for message in messages]
    return {"model": "ragstone", "collection": "manuals", "messages": said, **given}


@in_turn(
    ("path", "body"),
    [
        (SEARCH, search(folder=MANY)),
        (SEARCH, search(path=MANY)),
        (SEARCH, search(document_id=MANY)),
        (SEARCH, search(page=list(range(100_000)))),
        (SEARCH, search(**dict.fromkeys(MANY[:1000], 1))),
        (SEARCH, search(**{"a" * 300: 1})),
        (SEARCH, search(folder="/a" * 3000)),
        ("/api/v1/document/search_rerank", {
            "query": QUESTION, "collection_name": "manuals",
            "metadata_filter_key": "x", "match_values": MANY,
        }),
        (CHAT, chat(*["lamp"] * 60_000)),
        (CHAT, chat(QUESTION, stop=["x"] * 1000)),
        (CHAT, chat(QUESTION, user="x" * 100_000)),
        (CHAT, chat(QUESTION * 1000)),
        ("/v2/rag/query", {"query": QUESTION, "room_id": "r" * 300}),
        ("/v2/rag/query", {"query": QUESTION, "metadata_filter_values": MANY}),
        ("/v2/vision/query", {"query": QUESTION, "images": ["x"] * 10_000}),
        ("/api/chat/completions", {"message": QUESTION, "collection_filter": MANY}),
        ("/api/v1/rag/batch", {"queries": [QUESTION] * 1000}),
    ],
)  # fmt: skip
async def test_a_request_that_holds_too_much_is_refused(
    house: House, path: str, body: dict[str, Any]
) -> None:
    key = await house.key()
    refused = await house.send(key, "POST", path, body)
    assert 400 <= refused.status_code < 500, refused.text[:300]
    assert len(refused.text) < 5000


async def longest_wait(house: House, path: str, body: dict[str, Any]) -> float:
    """The seconds of this thread's processor between two turns of the loop, at most."""
    worst, over = 0.0, False

    async def look() -> None:
        nonlocal worst
        while not over:
            began = time.thread_time()
            await asyncio.sleep(0.001)
            worst = max(worst, time.thread_time() - began)

    looking = asyncio.create_task(look())
    answered = await house.send(await house.key(), "POST", path, body)
    over = True
    await looking
    assert answered.status_code == 200, answered.text[:300]
    return worst


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (SEARCH, search(folder=MANY[: MAX_CONDITIONS // 2 - 2])),
        (SEARCH, search(document_id=MANY[: MAX_CONDITIONS - 2])),
        (CHAT, chat("a" * 19_900)),
        (CHAT, chat(*["lamp"] * 1999, QUESTION)),
    ],
    ids=["folders", "ids", "a long word", "messages"],
)
async def test_the_most_that_is_allowed_does_not_stop_the_loop(
    house: House, path: str, body: dict[str, Any]
) -> None:
    await longest_wait(house, path, body)  # What is loaded once does not count.
    assert await longest_wait(house, path, body) < 1.0


async def test_bounds_hold_by_every_door() -> None:
    check_ask(Ask("Why?", where=AnyOf("path", tuple(MANY[: MAX_CONDITIONS - 1]))))
    for ask in (
        Ask("Why?", where=AnyOf("path", tuple(MANY))),
        Ask("Why?", where=Or(tuple(eq("path", path) for path in MANY))),
        Ask("Why?", where=And((Not(AnyOf("path", tuple(MANY[: MAX_CONDITIONS - 2]))),))),
    ):
        with pytest.raises(InvalidFilter, match="holds more than 10,000"):
            check_ask(ask)
    for ask in (
        Ask("Why?", history=(Message("user", "x"),) * 2001),
        Ask("Why?", stop=("x",) * 17),
        Ask("Why?", collection="x" * 256),
        Ask("Why?", id="x" * 256),
        Ask("Why?", classes=("x",) * 1001),
    ):
        with pytest.raises(InputError, match="the limit is"):
            check_ask(ask)


async def test_many_folders_are_two_conditions() -> None:
    made = paths_filter(MANY)
    assert made == Or((AnyOf("path", tuple(MANY)), AnyOf("folders", tuple(MANY))))
    assert matches(made, {"path": "/a/b7", "folders": ["/a"]})
    assert not matches(made, {"path": "/a", "folders": []})
    with pytest.raises(InvalidFilter):
        check_size(made)
