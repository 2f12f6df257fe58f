"""Tries of a request: how many, how far apart, and how long together."""

import asyncio

import pytest

from ragstone.index.options import MAX_PAUSE, Retries, with_retries


class Busy(Exception):
    """An error that is worth another try."""


class Refused(Exception):
    """One that would come again."""


def worth(error: Exception) -> float | None:
    return 0.0 if isinstance(error, Busy | TimeoutError) else None


class Server:
    """Raises each of `errors` in turn, then answers; `hangs` is how often it does not answer."""

    def __init__(self, *errors: Exception, hangs: int = 0) -> None:
        self.errors = list(errors)
        self.hangs = hangs
        self.asked = 0

    async def send(self) -> str:
        self.asked += 1
        if self.asked <= self.hangs:
            await asyncio.Event().wait()
        if self.errors:
            raise self.errors.pop(0)
        return "answer"


QUICK = Retries(3, 0.001)


async def test_given_errors_that_pass_then_the_answer_comes() -> None:
    server = Server(Busy(), Busy(), Busy())
    assert await with_retries(server.send, QUICK, worth, 5) == "answer"
    assert server.asked == 4


async def test_given_errors_that_do_not_end_then_the_last_is_raised() -> None:
    server = Server(*(Busy(str(n)) for n in range(9)))
    with pytest.raises(Busy, match="3"):
        await with_retries(server.send, QUICK, worth, 5)
    assert server.asked == 4


async def test_given_an_error_that_would_come_again_then_it_is_raised_at_once() -> None:
    server = Server(Refused())
    with pytest.raises(Refused):
        await with_retries(server.send, QUICK, worth, 5)
    assert server.asked == 1


async def test_given_no_retries_then_one_try() -> None:
    server = Server(Busy())
    with pytest.raises(Busy):
        await with_retries(server.send, Retries(0, 0.001), worth, 5)
    assert server.asked == 1


async def test_given_a_server_that_hangs_then_a_read_ends_and_a_write_is_tried_again() -> None:
    server = Server(hangs=2)
    with pytest.raises(TimeoutError):
        await with_retries(server.send, QUICK, worth, 0.05)
    assert server.asked == 1
    server = Server(hangs=2)
    assert await with_retries(server.send, QUICK, worth, 0.05, each=True) == "answer"
    assert server.asked == 3


async def test_given_a_pause_past_the_end_then_its_error_is_raised_without_waiting() -> None:
    server = Server(Busy())
    with pytest.raises(Busy):
        await with_retries(server.send, QUICK, lambda error: 3600.0, 60)
    assert server.asked == 1


async def test_given_a_time_that_the_server_wants_then_it_is_left_alone_so_long() -> None:
    server = Server(Busy())
    clock = asyncio.get_running_loop().time
    before = clock()
    assert await with_retries(server.send, QUICK, lambda error: 0.2, 60) == "answer"
    assert clock() - before >= 0.2


def test_pauses_double_up_to_the_longest_and_differ() -> None:
    many = [list(Retries(10, 0.1).pauses()) for _ in range(50)]
    for pauses in many:
        for tried, pause in enumerate(pauses):
            whole = min(0.1 * 2**tried, MAX_PAUSE)
            assert whole / 2 <= pause <= whole
    assert len({tuple(pauses) for pauses in many}) == 50
    assert all(5 <= pause <= 10 for pause in Retries(3, 10).pauses())
