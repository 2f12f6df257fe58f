"""Follow-ups in other languages than English: pronouns and ellipsis, and the topic put before."""

import re
from collections.abc import Sequence

from ragstone.language.word_lists import word_lists
from ragstone.understand.mentions import names

LANGUAGES = ("de", "es", "fr", "ru", "zh", "ja", "ko")
UNSPACED = frozenset({"zh", "ja"})

FRAGMENT = 3
"""Words of a question that is only a part of one."""

FRAGMENT_CHARS = 7
"""The same for scripts without spaces."""

_TOKEN = re.compile(r"\w+(?:['’]\w+)*")
_RUN = re.compile(r"\w{2,}")


def standalone(
    question: str, before: Sequence[str], language: str
) -> tuple[str, tuple[str, ...]] | None:
    """The question with what it leans on, and what was done; None for one that leans on nothing.

    `before` are the earlier questions, oldest first. A language without rules is told only by how
    short the question is.
    """
    if not before or not _leans(question, language):
        return None
    topic = next((found for one in reversed(before) if (found := _topic(one, language))), "")
    if not topic or topic.casefold() in question.casefold():
        return question, ()
    said = _replaced(question, topic, language)
    return said, (f"about {topic}",)


def _leans(question: str, language: str) -> bool:
    lists = word_lists("follow_up")
    said = question.casefold().strip("¿¡ ?？!。.")
    pronouns = lists.get(f"{language}.pronouns", ())
    openings = (*lists.get(f"{language}.openings", ()), *lists.get(f"{language}.about", ()))
    endings = lists.get(f"{language}.endings", ())
    if language in UNSPACED:
        pointing = any(one in said for one in pronouns)
        return pointing or said.endswith(endings) or len(said) <= FRAGMENT_CHARS
    words = _TOKEN.findall(said)
    if len(words) <= FRAGMENT or said.startswith(tuple(f"{one} " for one in openings)):
        return True
    if language == "ko":
        return any(word.startswith(pronouns) for word in words)
    return not set(pronouns).isdisjoint(words)


def _topic(question: str, language: str) -> str:
    """What an earlier question speaks of: its last name, or what is left of it."""
    lists = word_lists("follow_up")
    if language in ("zh", "ja", "ko"):
        left = question
        for word in sorted(lists.get(f"{language}.topicless", ()), key=len, reverse=True):
            left = left.replace(word, " ")
        runs = [_bare(run, language) for run in _RUN.findall(left)]
        return max(runs, key=len, default="")
    found = [one.text for one in names(question)]
    return found[-1] if found else ""


def _bare(word: str, language: str) -> str:
    """A Korean word without its particle."""
    if language != "ko":
        return word
    for particle in word_lists("follow_up")["ko.particles"]:
        if word.endswith(particle) and len(word) > len(particle) + 1:
            return word[: -len(particle)]
    return word


def _replaced(question: str, topic: str, language: str) -> str:
    """The topic in place of a pronoun where grammar does not mind, else before the question."""
    lists = word_lists("follow_up")
    pronouns = [*lists.get(f"{language}.he", ()), *lists.get(f"{language}.she", ())]
    for pronoun in pronouns:
        if language in UNSPACED and pronoun in question:
            return question.replace(pronoun, topic, 1)
        said, times = re.subn(
            rf"\b{pronoun}\b", lambda _: topic, question, count=1, flags=re.IGNORECASE
        )
        if times:
            return said
    return f"{topic}: {question}"
