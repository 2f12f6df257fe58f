"""`ragstone chat`: questions from a terminal or from standard input, in one conversation."""

import asyncio
import io
import os
import signal
import sys
from collections.abc import AsyncGenerator
from typing import Any, cast

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from ragstone.cli.chat import chat
from ragstone.core.answer import Citation, GeneratedAnswer
from ragstone.core.conversation import (
    ConversationKey,
    ConversationTurn,
    StoredTurn,
    TurnMessage,
)
from ragstone.core.errors import UnknownCollection, UnknownRoom
from ragstone.core.events import Done, Event, Failed, Token
from ragstone.core.turn import Ask, Turn
from ragstone.service import Service

CITED = Citation(1, "d1", "c1", "A", "/a.txt", None, (), 0, 11, "It is blue.", 1.0)


class Answering:
    """A service that says which question it answers, and hangs at `hang`."""

    def __init__(self) -> None:
        self.asked: list[Ask] = []
        self.rooms: dict[str, list[StoredTurn]] = {}
        self.hangs = asyncio.Event()
        self.conversations = self

    async def ask(self, ask: Ask) -> AsyncGenerator[Event, None]:
        self.asked.append(ask)
        yield Token(f"About {ask.question}")
        if ask.question == "hang":
            self.hangs.set()
            await asyncio.Event().wait()
        turn = Turn(ask, answer=GeneratedAnswer(f"About {ask.question}", citations=(CITED,)))
        if ask.collection == "gone":
            yield Failed(UnknownCollection("gone"), turn)
        else:
            yield Done(turn)

    async def entries(self, key: ConversationKey, limit: int = 50) -> list[StoredTurn]:
        if key.room not in self.rooms:
            raise UnknownRoom(key.room)
        return self.rooms[key.room][:limit]


async def converse(service: Answering, room: str = "r") -> int:
    made: Any = service
    return await chat(cast(Service, made), Ask("", room=room))


@pytest.fixture
def service() -> Answering:
    return Answering()


async def test_each_line_of_standard_input_is_a_question_of_one_conversation(
    service: Answering, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("one\n\n  /two is a path\nthree"))
    assert await converse(service) == 0
    assert [ask.question for ask in service.asked] == ["one", "/two is a path", "three"]
    assert {ask.room for ask in service.asked} == {"r"}
    written = capsys.readouterr().out
    assert "About one\n" in written
    assert "[1] A, /a.txt" in written
    assert "It is blue." not in written
    assert "--room" not in written


async def test_commands_change_how_is_asked(
    service: Answering, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = "/level basic\n/collection other\nfirst\n/sources\n/new\nsecond\n/help\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    assert await converse(service) == 0
    first, second = service.asked
    assert (first.level, first.collection, first.room) == ("basic", "other", "r")
    assert (second.level, second.collection) == ("basic", "other")
    assert second.room != "r"
    written = capsys.readouterr().out
    assert "It is blue." in written
    assert "/collection" in written


@pytest.mark.parametrize("line", ["/level much", "/level", "/collection", "/foo", "/sources now"])
async def test_given_no_valid_command_then_it_is_said_and_nothing_is_asked(
    service: Answering,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    line: str,
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(line))
    assert await converse(service) == 0
    assert service.asked == []
    assert capsys.readouterr().err == f"Not a valid command: {line}. /help shows the commands.\n"


async def test_given_an_answer_that_fails_then_the_next_question_is_answered(
    service: Answering, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("/collection gone\na\n/collection there\nb"))
    assert await converse(service) == 1
    written = capsys.readouterr()
    assert "'gone'" in written.err
    assert "About b" in written.out


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


async def type_keys(service: Answering, keys: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr("sys.stdin", Terminal())
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        pipe.send_text(keys)
        return await converse(service)


async def test_what_is_typed_is_answered_until_the_end_of_input(
    service: Answering, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await type_keys(service, "thrown away\x03one\rtwo\r\x04", monkeypatch) == 0
    assert [ask.question for ask in service.asked] == ["one", "two"]
    assert "'ragstone chat --room r' goes on" in capsys.readouterr().out


async def test_quit_ends_the_conversation(
    service: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await type_keys(service, "/quit\rone\r", monkeypatch) == 0
    assert service.asked == []


async def test_the_up_arrow_brings_back_what_was_asked_in_the_room(
    service: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.rooms["r"] = [
        StoredTurn(ConversationTurn(conversations=(TurnMessage("user", question),)))
        for question in ("newer", "older")
    ]
    assert await type_keys(service, "\x1b[A\r/quit\r", monkeypatch) == 0
    assert [ask.question for ask in service.asked] == ["newer"]


@pytest.mark.skipif(sys.platform == "win32", reason="there Ctrl-C ends the command")
async def test_ctrl_c_stops_the_answer_and_not_the_conversation(
    service: Answering, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(signal.SIGINT)
    typing = asyncio.create_task(type_keys(service, "hang\rone\r\x04", monkeypatch))
    await service.hangs.wait()
    os.kill(os.getpid(), signal.SIGINT)
    assert await typing == 0
    assert [ask.question for ask in service.asked] == ["hang", "one"]
    assert "Stopped." in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) is before
