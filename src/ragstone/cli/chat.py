"""`ragstone chat`: one question after another, in a conversation that is kept."""

import asyncio
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from ragstone.cli import show
from ragstone.cli.commands import stream_answer
from ragstone.cli.printing import err, print_text, table
from ragstone.core.answer import GeneratedAnswer
from ragstone.core.conversation import conversation_key
from ragstone.core.errors import RagstoneError, UnknownRoom
from ragstone.core.events import Failed
from ragstone.core.source import Source, citation_sources
from ragstone.core.turn import LEVELS, Ask
from ragstone.service import Service

T = TypeVar("T")

COMMANDS = {
    "/sources": "show the text behind the last answer",
    "/level": f"how much work to spend: {', '.join(LEVELS)}",
    "/collection": "ask another collection: /collection NAME",
    "/new": "begin another conversation",
    "/help": "show this",
    "/quit": "end the conversation, as Ctrl-D does",
}

REMEMBERED = 100
"""Questions of a conversation that is gone on with, which the up arrow brings back."""


def new_room() -> str:
    """Return the name of a conversation that nobody else has."""
    return f"chat-{secrets.token_hex(4)}"


async def chat(service: Service, asked: Ask) -> int:
    """Answer what is typed at the terminal, or else each line of standard input.

    Args:
        asked: How to ask and in which room; its question is not used.

    Returns:
        The exit status: 1 if a question of standard input had no answer because of an error.
    """
    talk = Chat(service, asked)
    if not sys.stdin.isatty():
        async for line in _input_lines():
            await talk.take(line)
        return int(talk.failed)
    print_text("Ask a question; /help shows what else can be typed. Ctrl-C stops an answer.")
    async for line in _terminal_lines(service, asked):
        if line == "/quit":
            break
        await talk.take(line)
    print_text(f"'ragstone chat --room {talk.asked.room}' goes on with this conversation.")
    return 0


class Chat:
    """Where a conversation stands: how to ask, the last sources, whether an answer failed."""

    def __init__(self, service: Service, asked: Ask) -> None:
        self.asked = asked
        self.sources: tuple[Source, ...] = ()
        self.failed = False
        self._service = service

    async def take(self, line: str) -> None:
        """Carry out a command, or answer a question."""
        command, _, argument = line.partition(" ")
        match command, argument.strip():
            case "/help", "":
                table(("", ""), list(COMMANDS.items()))
            case "/sources", "":
                show.show_sources(self.sources)
                if not self.sources:
                    err("The last answer has no sources.")
            case "/new", "":
                self.asked = replace(self.asked, room=new_room())
                print_text("A new conversation begins.")
            case "/collection", name if name:
                self.asked = replace(self.asked, collection=name)
            case "/level", level if level in LEVELS:
                self.asked = replace(self.asked, level=level)
            case name, text if name in COMMANDS or (name.startswith("/") and not text):
                err(f"Not a valid command: {line}. /help shows the commands.")
            case _:
                await self._answer(line)

    async def _answer(self, question: str) -> None:
        try:
            end = await _stop_on_interrupt(
                stream_answer(self._service, replace(self.asked, question=question))
            )
            if isinstance(end, Failed):
                raise end.error
        except RagstoneError as error:
            err(f"ragstone: {error.message}")
            self.failed = True
            return
        if end is None:
            err("Stopped.")
            return
        answer = end.turn.answer or GeneratedAnswer()
        self.sources = citation_sources(answer.citations, end.turn.passages)
        show.show_sources(self.sources, texts=False)
        show.show_checked(answer, end.turn.verdicts)
        print_text()


async def _stop_on_interrupt(answer: Coroutine[Any, Any, T]) -> T | None:
    """Return what `answer` returns, or None if Ctrl-C stopped it."""
    answering = asyncio.create_task(answer)
    if sys.platform == "win32":  # There a loop takes no signals: Ctrl-C ends the command.
        return await answering
    loop, handler = asyncio.get_running_loop(), signal.getsignal(signal.SIGINT)
    loop.add_signal_handler(signal.SIGINT, answering.cancel)
    try:
        return await answering
    except asyncio.CancelledError:
        if (command := asyncio.current_task()) and command.cancelling():
            raise
        return None
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, handler)


async def _terminal_lines(service: Service, asked: Ask) -> AsyncIterator[str]:
    """Yield what is typed, with the questions that were asked in the room in reach."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import WordCompleter
    from prompt_toolkit.history import InMemoryHistory

    key = conversation_key(asked.principal, asked.room or "", asked.user_id)
    history = InMemoryHistory()
    with suppress(UnknownRoom):
        for turn in reversed(await service.conversations.entries(key, REMEMBERED)):
            history.append_string(turn.question)
    completer = WordCompleter(list(COMMANDS), meta_dict=COMMANDS, sentence=True)
    session = PromptSession[str](history=history, completer=completer)
    while True:
        try:
            line = (await session.prompt_async("> ")).strip()
        except KeyboardInterrupt:  # What is typed is thrown away, as in a shell.
            continue
        except EOFError:
            return
        if line:
            yield line


async def _input_lines() -> AsyncIterator[str]:
    """Yield the lines of standard input that are not empty."""
    while line := await asyncio.to_thread(sys.stdin.readline):
        if line := line.strip():
            yield line
