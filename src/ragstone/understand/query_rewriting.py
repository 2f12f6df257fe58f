"""Asks the chat model for other words to search a question in, by the `rules` of a prompt."""

import re
from collections.abc import Sequence

from ragstone.core.answer import Usage
from ragstone.language.fences import fenced
from ragstone.language.model_lists import lines, listed
from ragstone.ports import Completer

LINE_TOKENS = 200
PASSAGE_TOKENS = 300
"""Most tokens of an answer."""

LONGEST = 400
"""Characters of a query; what is longer is chatter."""

SHORTEST_PASSAGE = 20
LONGEST_PASSAGE = 2000
MOST_PARTS = 4
MOST_TERMS = 12


async def alternatives(
    completer: Completer, rules: str, question: str, count: int
) -> tuple[list[str], Usage]:
    """At most `count` other ways to ask the same; raises ModelUnavailable."""
    said = await completer.complete(rules, _asked(question), LINE_TOKENS)
    return _usable(lines(said.text), question)[:count], said.usage


async def passage(completer: Completer, rules: str, question: str) -> tuple[list[str], Usage]:
    """A passage that could answer (Gao et al., "Precise Zero-Shot Dense Retrieval without Relevance
    Labels", 2022); raises ModelUnavailable."""
    said = await completer.complete(rules, _asked(question), PASSAGE_TOKENS)
    text = " ".join(said.text.split())[:LONGEST_PASSAGE]
    return [text] if len(text) >= SHORTEST_PASSAGE else [], said.usage


async def broader(completer: Completer, rules: str, question: str) -> tuple[list[str], Usage]:
    """A question about the background (Zheng et al., "Take a Step Back", 2023); raises
    ModelUnavailable."""
    said = await completer.complete(rules, _asked(question), LINE_TOKENS)
    return _usable(lines(said.text), question)[:1], said.usage


async def parts(completer: Completer, rules: str, question: str) -> tuple[list[str], Usage]:
    """2 to 4 simpler questions; raises ModelUnavailable."""
    said = await completer.complete(rules, _asked(question), LINE_TOKENS)
    found = listed(said.text, "queries") or [one for one in lines(said.text) if one[-1] in "?？"]
    usable = _usable(found, question)[:MOST_PARTS]
    return usable if len(usable) > 1 else [], said.usage


async def terms(completer: Completer, rules: str, question: str) -> tuple[list[str], Usage]:
    """Key terms with synonyms, as one query; raises ModelUnavailable."""
    said = await completer.complete(rules, _asked(question), LINE_TOKENS)
    found = [one.strip() for line in lines(said.text) for one in re.split(r"[,;，、]", line)]
    short = [one for one in dict.fromkeys(found) if one and len(one.split()) <= 5]
    query = " ".join(short[:MOST_TERMS])
    return ([query[:LONGEST]] if query else []), said.usage


def _asked(question: str) -> str:
    return fenced("question", question)


def _usable(found: Sequence[str], question: str) -> list[str]:
    """Queries that are short enough and are not the question again."""
    same = question.casefold().strip(" ?？.")
    return [
        one
        for one in found
        if 1 < len(one) <= LONGEST and one.casefold().strip(" ?？.") != same and one[0] not in "{[<"
    ]
