"""Several small changes in one transaction: changes that arrive during a write join the next."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from sqlalchemy import Connection

from ragstone.core.errors import StateUnavailable

T = TypeVar("T")

Work = Callable[[Connection], T]

MOST = 64
"""Changes in one transaction, so that the first of them does not wait long for the last."""


Transaction = Callable[[Work[list[Any]], Callable[[list[Any]], None]], Awaitable[list[Any]]]
"""Runs work in a transaction, and what is to be done with its results once that is committed."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    work: Work[Any]
    committed: Callable[[Any], None] | None
    done: "asyncio.Future[Any]"


class GroupCommit:
    """Runs work by `transaction`, in the order in which it came, each of it once or not at all.

    The disk is waited for once per transaction, however many changes are in it. Work that fails
    harms no other: then nothing of the transaction is kept, and each is tried in one of its own.
    """

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._waiting: deque[_Waiting] = deque()
        self._writer: asyncio.Task[None] | None = None

    async def run(self, work: Work[T], committed: Callable[[T], None] | None = None) -> T:
        """What `work` returns, once that is committed and `commit_results` has it. A caller that is
        cancelled stops waiting, but the work is still done."""
        waiting = _Waiting(work, committed, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())
        return cast(T, await waiting.done)

    async def aclose(self) -> None:
        """Wait until all that came is written."""
        if self._writer is not None and not self._writer.done():
            await asyncio.wait([self._writer])

    async def _write(self) -> None:
        while self._waiting:
            many = min(MOST, len(self._waiting))
            await self._commit([self._waiting.popleft() for _ in range(many)])

    async def _commit(self, some: Sequence[_Waiting]) -> None:
        def commit_results(results: list[Any]) -> None:
            for waiting, result in zip(some, results, strict=True):
                if waiting.committed is not None:
                    waiting.committed(result)

        try:
            results = await self._transaction(
                lambda c: [waiting.work(c) for waiting in some], commit_results
            )
        except Exception as error:
            if len(some) == 1 or isinstance(error, StateUnavailable):
                _set_results(some, [error] * len(some))
                return
            for one in some:
                await self._commit([one])
        else:
            _set_results(some, results)


def _set_results(some: Sequence[_Waiting], results: Sequence[Any]) -> None:
    for waiting, result in zip(some, results, strict=True):
        if waiting.done.done():
            continue
        if isinstance(result, Exception):
            waiting.done.set_exception(result)
        else:
            waiting.done.set_result(result)
