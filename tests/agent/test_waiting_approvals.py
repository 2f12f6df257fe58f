"""Approvals: only who asked decides, once, and in time."""

import asyncio

import pytest

from ragstone.agent import waiting_approvals
from ragstone.agent.waiting_approvals import WaitingApprovals
from ragstone.core.errors import UnknownApproval
from ragstone.core.turn import Principal

EVA = Principal(user="eva")


async def nothing() -> None:
    """Ask nobody."""


@pytest.mark.parametrize("approved", [True, False])
async def test_given_a_decision_then_it_is_told_and_nothing_waits_any_more(approved: bool) -> None:
    approvals = WaitingApprovals()

    async def ask() -> None:
        approvals.decide(EVA, "a", approved)
        with pytest.raises(UnknownApproval):
            approvals.decide(EVA, "a", not approved)

    assert await approvals.decision(EVA, "a", 60.0, ask) is approved
    with pytest.raises(UnknownApproval):
        approvals.decide(EVA, "a", True)


@pytest.mark.parametrize(
    "other", [Principal(user="mallory"), Principal("acme", "eva"), Principal(user="")]
)
async def test_given_somebody_else_then_there_is_nothing_to_decide(other: Principal) -> None:
    approvals = WaitingApprovals()

    async def ask() -> None:
        with pytest.raises(UnknownApproval):
            approvals.decide(other, "a", True)

    assert await approvals.decision(EVA, "a", 0.05, ask) is None


async def test_given_a_question_that_is_left_then_nothing_waits_any_more() -> None:
    approvals = WaitingApprovals()
    asked = asyncio.create_task(approvals.decision(EVA, "a", 60.0, nothing))
    await asyncio.sleep(0)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    with pytest.raises(UnknownApproval):
        approvals.decide(EVA, "a", True)


async def test_given_too_many_that_wait_then_the_next_is_declined(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waiting_approvals, "MOST_WAITING", 1)
    approvals = WaitingApprovals()

    async def ask() -> None:
        assert await approvals.decision(EVA, "b", 60.0, nothing) is None
        approvals.decide(EVA, "a", True)

    assert await approvals.decision(EVA, "a", 60.0, ask) is True
