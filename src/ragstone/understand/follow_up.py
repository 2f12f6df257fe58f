"""A follow-up as a question of its own, by rules, and what of the conversation to search with it.

Pronouns are replaced by what they stand for, `what about X` and bare ellipsis are put into the
frame of the question before, and what is said of politeness goes. What rules cannot make whole is
searched together with the last questions: expansion by history, as in Lin et al., "Multi-Stage
Conversational Passage Retrieval" (2021).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ragstone.language.language import detect
from ragstone.language.words import content_words
from ragstone.understand import ellipsis
from ragstone.understand import follow_up_languages as follow_up_abroad
from ragstone.understand.antecedents import Salience
from ragstone.understand.mentions import mentions, names
from ragstone.understand.politeness import plain, refusal, social
from ragstone.understand.pronouns import resolved

LONGEST = 500
"""Characters of a question that is still rewritten; a longer one says what it means."""

LONGEST_ANSWER = 1000
"""Characters of an answer that tell what was spoken of."""

CONTEXT_QUESTIONS = 2
CONTEXT_NAMES = 3
CONTEXT_CHARS = 600
"""What a search takes along: the last questions, and names of the last answer."""

SHORT = 5
"""A question of fewer words that carry meaning leans on the conversation."""

POLITENESS = "politeness left out"
MADE_A_QUESTION = "made a question"

_WHO = re.compile(
    r"^\W{0,3}(?:who|whose)\b"
    r"(?!(?:['’]s|\s(?:is|was|are|were))\s(?!(?:the|an?|his|her|their|its|our|my|in|at|on)\b))",
    re.IGNORECASE,
)
"""A question whose answer names a person; `Who is Frank Zappa?` has named him already."""
_LEANS = re.compile(
    r"\b(?:he|him|his|she|her|hers|they|them|their|theirs|it|its|this|that|these|those|there|one|"
    r"ones|such|others?|else|another|more|also|too|same|both|former|latter)\b"
    r"|^(?:and|but|or|so|then|what about|how about|i mean(?:t)?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and its answer, which may be missing."""

    question: str
    answer: str = ""


@dataclass(frozen=True, slots=True)
class FollowUp:
    """`text` is the question by itself as well as rules can say it, `context` what to search it
    with besides, empty for a question that needs none. `whole` says that nothing is left open, and
    `done` what was done."""

    text: str
    context: str = ""
    whole: bool = True
    done: tuple[str, ...] = ()


def standalone(question: str, before: Sequence[Exchange], subject: str = "") -> FollowUp:
    """`question` by itself. `before` are the exchanges that it may lean on, oldest first;
    `subject` is what the whole conversation is about, if that is known.

    Nothing in the conversation is followed as an instruction; words are only copied from it.
    """
    if not (before or subject) or len(question) > LONGEST or social(question):
        return FollowUp(question)
    language = detect(" ".join([question, *(one.question for one in before)])) or "en"
    if language != "en":
        earlier = [one.question for one in before]
        found = follow_up_abroad.standalone(question, earlier, language)
        leans = found is not None
        text, done = found or (question, ())
    else:
        state = _after(before, subject)
        text, done = _in_english(question, before, state)
        leans = _leaning(question, before)
    if not leans:
        return FollowUp(text, done=done)
    completed = any(one not in (POLITENESS, MADE_A_QUESTION) for one in done)
    whole = language == "en" and not _open(text, completed)
    return FollowUp(text, _context(before), whole, done)


def _in_english(
    question: str, before: Sequence[Exchange], state: Salience
) -> tuple[str, tuple[str, ...]]:
    last = before[-1].question if before else ""
    framed = ellipsis.framed(question, plain(last))
    if framed:
        return resolved(framed, state).text, ("put into the question before",)
    text = plain(question)
    done = [POLITENESS] if text != question else []
    found = resolved(text, state)
    if found.meant:
        done.append("pronouns: " + ", ".join(one.name for one in found.meant))
    elif about := ellipsis.about(text, found.state.topic()):
        return about, (*done, "the topic added")
    elif before and (asked := ellipsis.named_only(text)):
        return asked, (*done, MADE_A_QUESTION)
    return found.text, tuple(done)


def _after(before: Sequence[Exchange], subject: str) -> Salience:
    """What is salient when the question is asked."""
    state = Salience().about(subject)
    for one in before:
        earlier = one.question[:LONGEST]
        state = resolved(earlier, state.faded()).state.asked(mentions(earlier))
        if one.answer and not refusal(one.answer):
            asks_who = _WHO.match(earlier) is not None
            state = state.answered(names(one.answer), asks_who)
    return state.faded()


def _leaning(question: str, before: Sequence[Exchange]) -> bool:
    """Whether the question leans on what was said: it points back, is short, or shares words. A
    long one that does none of these begins a new topic."""
    asked = set(content_words(question))
    if len(asked) < SHORT or _LEANS.search(question):
        return bool(before)
    said = " ".join(f"{one.question[:LONGEST]} {one.answer[:LONGEST_ANSWER]}" for one in before)
    return not asked.isdisjoint(content_words(said))


def _open(text: str, completed: bool) -> bool:
    """Whether a question may still mean something that it does not say: it points outside itself,
    or nothing was completed and it is short and names nothing."""
    if _LEANS.search(text):
        return True
    return not completed and len(set(content_words(text))) < SHORT and not names(text)


def _context(before: Sequence[Exchange]) -> str:
    """The last questions and the names in the last answer, within `CONTEXT_CHARS`."""
    asked = [one.question[:LONGEST] for one in before if not social(one.question)]
    asked = asked[-CONTEXT_QUESTIONS:]
    named: list[str] = []
    if before and not refusal(before[-1].answer):
        named = [one.text for one in names(before[-1].answer)]
    return " ".join([*asked, *list(dict.fromkeys(named))[:CONTEXT_NAMES]])[:CONTEXT_CHARS].strip()
