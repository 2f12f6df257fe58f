"""Streams that say something all the while."""

import asyncio
from typing import Any

import pytest

from ragstone.core.errors import Busy
from ragstone.http import sse


async def send_stream(events: sse.Events) -> list[Any]:
    """What a client that stays gets: the status, then each piece of the body."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message.get("status") or message["body"])

    async def receive() -> Any:
        await asyncio.Event().wait()

    await sse.EventStream(events)({"type": "http"}, receive, send)
    return sent


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "BEGIN_SECONDS", 0.05)
    monkeypatch.setattr(sse, "COMMENT_SECONDS", 0.05)


async def test_a_stream_begins_and_goes_on_while_nothing_is_said() -> None:
    async def events() -> sse.Events:
        for text in ("one", "two"):
            await asyncio.sleep(0.3)
            yield sse.encode(text)

    status, *pieces = await send_stream(events())

    assert status == 200
    first, second = pieces.index(sse.encode("one")), pieces.index(sse.encode("two"))
    assert set(pieces[:first]) == set(pieces[first + 1 : second]) == {sse.COMMENT}
    assert pieces[-1] == b""


async def test_a_stream_that_is_never_silent_has_no_comments() -> None:
    async def events() -> sse.Events:
        for number in range(100):
            yield sse.encode(number)

    assert sse.COMMENT not in await send_stream(events())


@pytest.mark.parametrize("late", [False, True])
async def test_what_fails_first_is_a_status_only_before_the_stream_has_begun(late: bool) -> None:
    async def events() -> sse.Events:
        await asyncio.sleep(0.3 if late else 0.0)
        yield sse.Failure(sse.encode("busy"), Busy("All places are taken."))

    if late:
        assert sse.encode("busy") in await send_stream(events())
    else:
        with pytest.raises(Busy):
            await send_stream(events())


async def test_an_empty_stream_has_a_head() -> None:
    async def events() -> sse.Events:
        for event in list[bytes]():
            yield event

    assert await send_stream(events()) == [200, b""]
