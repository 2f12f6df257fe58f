"""What chat programs ask beside their users: titles, tags and further questions for a conversation.

These are recognized by how the programs word them, as their requests say nothing else. They are no
questions to the documents: they are not searched, and nothing of them is kept or counted. A chat
model answers them; without one, or where it fails, a few words of the conversation do.
"""

import json
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Literal

from ragstone.core.answer import GeneratedAnswer
from ragstone.core.errors import ModelUnavailable, QuestionBlocked
from ragstone.core.events import Done, Event, Failed, Token
from ragstone.core.turn import Ask, Turn
from ragstone.service import Service

Kind = Literal["title", "tags", "follow_ups", "queries", "text", "prompt"]

TITLE_WORDS = 6
LONGEST_TITLE = 60
HEAD = 600
"""Characters at a prompt's beginning that say what it is for; only these are looked at."""

_OPEN_WEBUI = re.compile(r"\s*### Task:\n")
_WANTED = re.compile(r'\{\s*"(title|tags|follow_ups|queries|text|prompt)"\s*:')
_HISTORY = re.compile(r"<chat_history>(.*?)</chat_history>", re.DOTALL)
_TITLES = (
    # LibreChat, LobeChat, Jan, Chatbox, in this order.
    re.compile(
        r"(?:please )?(?:generate|provide|write) a concise,? (?:\S{1,20} ){0,3}title for "
        r"(?:the|this) conversation",
        re.IGNORECASE,
    ),
    re.compile(
        r"you are a (?:professional )?conversation (?:summari[sz]er|assistant)[^\n]{0,200}"
        r"\btitle",
        re.IGNORECASE,
    ),
    re.compile(r"summari[sz]e in an? [^\n]{1,20}-word title\b", re.IGNORECASE),
    re.compile(r"based on the chat history, give this conversation a name\b", re.IGNORECASE),
)
_USER = re.compile(r"^\W{0,4}user\W{0,4}:\W{0,4}([^\n]{1,500})", re.IGNORECASE | re.MULTILINE)
_QUOTED = re.compile(r"[\"'“”`]")


@dataclass(frozen=True, slots=True)
class Chore:
    """What is wanted for a conversation, whether as JSON, and what its user said first."""

    kind: Kind
    as_json: bool
    said: str


def find_chore(ask: Ask) -> Chore | None:
    """Return the chore that a request is; None for a question to the documents."""
    if ask.tools or ask.pictures or ask.json is not None:
        return None
    text = ask.question
    if _OPEN_WEBUI.match(text) and (history := _HISTORY.search(text)):
        found = _WANTED.search(text)
        kinds: tuple[Kind, ...] = ("title", "tags", "follow_ups", "queries", "text", "prompt")
        named = found[1] if found else "title"
        kind = next(item for item in kinds if item == named)
        return Chore(kind, found is not None, _first_words(history[1]))
    told = (text[:HEAD], ask.guidance[:HEAD])
    if any(item.match(head.lstrip("\"'“ \n")) for item in _TITLES for head in told):
        earlier = next((item.text for item in ask.history if item.role == "user"), "")
        return Chore("title", False, _first_words(text) or earlier)
    return None


async def do_chore(chore: Chore, ask: Ask, service: Service) -> AsyncGenerator[Event, None]:
    """Yield the chore's answer as events: the chat model's, else a few words."""
    plain = Ask(
        ask.question,
        principal=ask.principal,
        collection=ask.collection,
        search_type="gpt",
        history=ask.history,
        temperature=ask.temperature,
        max_tokens=ask.max_tokens,
        stop=ask.stop,
        guidance=ask.guidance,
        sampling=replace(ask.sampling, parallel_tool_calls=None),
        cache=False,
        keeps=False,
        id=ask.id,
    )
    turn = await _by_model(plain, service)
    answer = turn.answer or GeneratedAnswer()
    if not answer.text.strip() or answer.finish != "stop":
        turn = replace(turn, answer=GeneratedAnswer(_few_words(chore), model="ragstone"))
        answer = turn.answer or answer
    yield Token(answer.text)
    yield Done(turn)


async def _by_model(ask: Ask, service: Service) -> Turn:
    """Return the turn in which the chat model answered; one without an answer if none could."""
    turn = Turn(ask)
    try:
        async with aclosing(service.ask(ask)) as events:
            async for event in events:
                if isinstance(event, Done):
                    return event.turn
                if isinstance(event, Failed):
                    if not isinstance(event.error, ModelUnavailable | QuestionBlocked):
                        raise event.error
                    return replace(turn, usage=event.turn.usage)
    except (ModelUnavailable, QuestionBlocked):
        pass
    return turn


def _few_words(chore: Chore) -> str:
    title = " ".join(_QUOTED.sub("", chore.said).split()[:TITLE_WORDS])[:LONGEST_TITLE]
    title = title.rstrip(" .,;:?!") or "Conversation"
    values: dict[Kind, object] = {
        "title": title,
        "tags": ["General"],
        "follow_ups": [],
        "queries": [],
        "text": "",
        "prompt": title,
    }
    value = values[chore.kind]
    return json.dumps({chore.kind: value}, ensure_ascii=False) if chore.as_json else str(value)


def _first_words(conversation: str) -> str:
    found = _USER.search(conversation)
    return found[1].strip() if found else ""
