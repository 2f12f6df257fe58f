"""What a chat model is told: rules, sources, history, question, in the order that lets a server
cache the longest prefix."""

import re
from collections.abc import Sequence
from dataclasses import replace

from ragstone.text.markers import neutral
from ragstone.text.tokens import Count, count, cut
from ragstone.turn import Ask, Message, Passage

FENCE = "source"
_FENCE_LIKE = re.compile(rf"<(?=\s{{0,9}}/?\s{{0,9}}{FENCE}\b)", re.IGNORECASE)

_LABEL_LIKE = re.compile(r"\b(SOURCES|SUGGESTED)_(USED|QUESTIONS)\b", re.IGNORECASE)
HISTORY_MESSAGES = 6
HISTORY_CHARS = 2000

SLACK = 0.95
"""Share of the window that is filled by our count, which may be 5 percent too low."""

LEAST_TOKENS = 50
"""A beginning of a source that is shorter than this is not worth sending."""


def system(passages: Sequence[Passage], rules: str) -> str:
    """The rules, then every source in a fence that its text cannot close."""
    return "\n\n".join((rules, *(_fenced(passage) for passage in passages)))


def fitting(
    ask: Ask,
    passages: Sequence[Passage],
    rules: str,
    window: int,
    answer_tokens: int,
    counted: Count = count,
) -> list[Passage]:
    """The best passages that leave room in a window of so many tokens for the rest and the answer.

    They keep their numbers. The first is cut rather than dropped.
    """
    rest = [rules, ask.question, *(message.text for message in history(ask))]
    left = int((window - answer_tokens) * SLACK) - sum(map(counted, rest))
    chosen: list[Passage] = []
    for passage in passages:
        needed = counted(_fenced(passage))
        if needed > left:
            if not chosen:
                around = needed - counted(passage.text)
                text = cut(passage.text, max(LEAST_TOKENS, left - around), counted)
                chosen.append(replace(passage, text=text))
            break
        chosen.append(passage)
        left -= needed
    return chosen


def _fenced(passage: Passage) -> str:
    chunk = passage.hit.chunk
    page = f", page {chunk.page}" if chunk.page else ""
    return fenced(passage.number, f"{chunk.heading or chunk.path}{page}", passage.text)


def fenced(number: int, title: str, text: str) -> str:
    """A text in a fence that it cannot close."""
    safe = _inside(title).replace('"', "'").replace("\n", " ")
    return f'<{FENCE} number="{number}" title="{safe}">\n{_inside(text)}\n</{FENCE}>'


def _inside(text: str) -> str:
    """A document's text so that neither fences nor markers in it can be taken for ours."""
    return _LABEL_LIKE.sub(r"\1 \2", neutral(_FENCE_LIKE.sub("‹", text)))


def history(ask: Ask) -> list[Message]:
    """The latest messages, each cut to a length that leaves room for the sources."""
    latest = [message for message in ask.history if message.role != "system"]
    return [Message(m.role, m.text[:HISTORY_CHARS]) for m in latest[-HISTORY_MESSAGES:]]
