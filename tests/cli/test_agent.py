"""`ragstone ask --agent`: the calls on standard error, and whoever sits there decides."""

from collections.abc import AsyncGenerator
from typing import Any, cast

import pytest

from ragstone.cli import commands
from ragstone.core.answer import GeneratedAnswer
from ragstone.core.errors import UnknownApproval
from ragstone.core.events import AgentStep, Done, Event, Token
from ragstone.core.turn import Ask, Principal, Turn
from ragstone.service import Service

WAITS = AgentStep("a1", "file_ticket", "waiting", '{"text": "x\x1b[2J"}', "It waits.", 120.0)


class Asking:
    """A service whose answer waits for an approval."""

    def __init__(self, late: bool = False) -> None:
        self.late = late
        self.decided: list[tuple[str, bool]] = []

    async def ask(self, ask: Ask) -> AsyncGenerator[Event, None]:
        yield AgentStep("a1", "file_ticket", "calling", "{}")
        yield WAITS
        yield Token("Done.")
        yield Done(Turn(ask, answer=GeneratedAnswer("Done.")))

    async def approve(self, principal: Principal, step: str, approved: bool) -> None:
        if self.late:
            raise UnknownApproval
        self.decided.append((step, approved))


async def asked(service: Asking) -> int:
    question = Ask("q", search_type="pa", approves=True)
    made: Any = service
    return await commands.ask(cast(Service, made), question, under=(), as_json=False, trace=False)


@pytest.mark.parametrize(
    ("said", "approved"), [("y", True), ("YES", True), ("", False), ("n", False), (None, False)]
)
async def test_given_a_call_that_waits_then_only_a_yes_approves_it(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    said: str | None,
    approved: bool,
) -> None:
    shown: list[str] = []

    def answer(prompt: str) -> str:
        shown.append(prompt)
        if said is None:
            raise EOFError
        return said

    monkeypatch.setattr("builtins.input", answer)
    service = Asking()
    assert await asked(service) == 0
    assert service.decided == [("a1", approved)]
    assert "file_ticket" in shown[0]
    assert "\x1b" not in shown[0]
    written = capsys.readouterr()
    assert written.out == "Done.\n"
    assert "Calling file_ticket..." in written.err


async def test_given_a_yes_that_comes_too_late_then_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("builtins.input", lambda prompt: "y")
    assert await asked(Asking(late=True)) == 0
    assert "waited too long" in capsys.readouterr().err
