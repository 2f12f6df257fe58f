"""Approvals: only who asked decides, once, and in time."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ragstone.core.errors import UnknownApproval
from ragstone.core.turn import Principal
from ragstone.plugins.agent import approvals as agent_approvals
from ragstone.plugins.agent.approvals import SqlApprovals, WaitingApprovals
from ragstone.ports import Approvals
from ragstone.store.sql.database import open_database

EVA = Principal(user="eva")


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
async def approvals(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Approvals]:
    if request.param == "memory":
        yield WaitingApprovals()
    elif request.param == "sqlite":
        async with open_database(tmp_path / "state.sqlite") as database:
            yield SqlApprovals(database)
    else:
        async with request.getfixturevalue("postgres_databases").open(tmp_path) as database:
            yield SqlApprovals(database)


async def nothing() -> None:
    """Ask nobody."""


@pytest.mark.parametrize("approved", [True, False])
async def test_given_a_decision_then_it_is_told_and_nothing_waits_any_more(
    approvals: Approvals, approved: bool
) -> None:
    async def ask() -> None:
        await approvals.decide(EVA, "a", approved)
        with pytest.raises(UnknownApproval):
            await approvals.decide(EVA, "a", not approved)

    assert await approvals.decision(EVA, "a", 60.0, ask) is approved
    with pytest.raises(UnknownApproval):
        await approvals.decide(EVA, "a", True)


async def test_given_a_decision_in_the_last_moment_then_it_counts(approvals: Approvals) -> None:
    async def ask() -> None:
        await approvals.decide(EVA, "a", True)

    assert await approvals.decision(EVA, "a", 0.1, ask) is True


@pytest.mark.parametrize(
    "other", [Principal(user="mallory"), Principal("acme", "eva"), Principal(user="")]
)
async def test_given_somebody_else_then_there_is_nothing_to_decide(
    approvals: Approvals, other: Principal
) -> None:
    asked = 0

    async def ask() -> None:
        nonlocal asked
        with pytest.raises(UnknownApproval):
            await approvals.decide(other, "a", True)
        asked += 1

    assert await approvals.decision(EVA, "a", 0.05, ask) is None
    assert asked == 1


async def test_given_a_question_that_is_left_then_nothing_waits_any_more(
    approvals: Approvals,
) -> None:
    waits = asyncio.Event()

    async def ask() -> None:
        waits.set()

    asked = asyncio.create_task(approvals.decision(EVA, "a", 60.0, ask))
    await waits.wait()
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    with pytest.raises(UnknownApproval):
        await approvals.decide(EVA, "a", True)


async def test_given_a_call_that_waits_already_then_another_of_its_id_is_declined(
    approvals: Approvals,
) -> None:
    async def ask() -> None:
        assert await approvals.decision(EVA, "a", 60.0, nothing) is None
        await approvals.decide(EVA, "a", True)

    assert await approvals.decision(EVA, "a", 60.0, ask) is True


async def test_given_too_many_that_wait_then_the_next_is_declined(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(agent_approvals, "MAX_WAITING", 1)
    approvals = WaitingApprovals()

    async def ask() -> None:
        assert await approvals.decision(EVA, "b", 60.0, nothing) is None
        await approvals.decide(EVA, "a", True)

    assert await approvals.decision(EVA, "a", 60.0, ask) is True
