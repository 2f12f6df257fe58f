"""Asks the chat model to say a follow-up as a question of its own."""

from collections.abc import Sequence

from ragstone.core.answer import Usage
from ragstone.language.fences import fenced
from ragstone.language.model_lists import listed
from ragstone.language.words import STOPWORDS, content_words, words
from ragstone.ports import Completer
from ragstone.understand.follow_up import Exchange

QUESTION_CHARS = 500
ANSWER_CHARS = 700
"""Characters of an earlier message that the model is shown."""

ANSWER_TOKENS = 300
MOST_QUERIES = 4

LONGEST = 400
LONGER = 3
"""A rewrite may have so many characters, or so many times those of the question."""


async def asked(
    completer: Completer, rules: str, question: str, before: Sequence[Exchange]
) -> tuple[list[str], Usage]:
    """The questions that the model makes of `question`, those that can be true to it; and the cost.

    `rules` are the prompt `rewrite_query`.

    Raises ModelUnavailable.
    """
    said = await completer.complete(rules, prompt(question, before), ANSWER_TOKENS)
    context = " ".join(f"{one.question} {one.answer}" for one in before)
    found = [one for one in listed(said.text, "queries") if faithful(one, question, context)]
    return found[:MOST_QUERIES], said.usage


def prompt(question: str, before: Sequence[Exchange]) -> str:
    """The conversation and the message, each in a fence."""
    told = [
        f"user: {one.question[:QUESTION_CHARS]}\nassistant: {one.answer[:ANSWER_CHARS]}"
        for one in before
    ]
    return f"{fenced('conversation', chr(10).join(told))}\n\n{fenced('message', question)}"


def faithful(rewrite: str, question: str, context: str) -> bool:
    """Whether a rewrite can mean what was asked: not absurdly long, about words that were said, and
    about some of the question's own where it has several."""
    if len(rewrite) > max(LONGEST, LONGER * len(question)):
        return False
    said = set(content_words(rewrite))
    own = {word for word in words(question) if word not in STOPWORDS}
    if len(own) > 1:
        return not said.isdisjoint(own)
    return not said.isdisjoint([*content_words(context), *words(question)])
