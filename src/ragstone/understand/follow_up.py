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
from ragstone.language.word_lists import word_lists
from ragstone.language.words import content_words
from ragstone.understand.antecedents import Entity, Salience
from ragstone.understand.mentions import mentions, names
from ragstone.understand.politeness import plain, refusal, social
from ragstone.understand.pronouns import resolved

_YEAR = re.compile(r"\b(?:1[0-9]{3}|20[0-9]{2})\b")
_ABOUT = re.compile(
    r"^(?:and |but |so )?(?:what|how) about (?P<what>[^?.!]{2,80})[?.!\s]*$|"
    r"^and (?P<rest>(?:in |for |of |with |on |the |an? )?[^?.!]{2,60})[?.!\s]*$",
    re.IGNORECASE,
)
_PLACED = re.compile(r"(?P<at>in|on|for|with|at|from|under|during|by)\s", re.IGNORECASE)
_AT_THE_END = re.compile(
    r"\b(?:of|in|for|from|at|by|with|on)\s(?:the\s|a\s)?(?P<old>[^\W\d_][\w'’-]*(?:\s\w+)?)$",
    re.IGNORECASE,
)
_BARE = re.compile(
    r"^(?P<wh>why|how|when|where|who)(?: (?:so|not|is that|was that|then|exactly))?[?.!\s]*$",
    re.IGNORECASE,
)
_OPENED = re.compile(
    r"^(?:(?:what|which)(?: \w+)?|why|how|when|where|who) "
    r"(?P<rest>(?:do|does|did|can|could|will|would|should)\b.*)$",
    re.IGNORECASE,
)
_YES_NO = re.compile(
    r"^(?:do|does|did|is|are|was|were|can|could|will|would|should|has|have|had)\b", re.IGNORECASE
)
_HAPPENED = re.compile(r"\bhappen(?:ed|s|ing)?\b(?! to\b| with\b)", re.IGNORECASE)
_GROUP = re.compile(
    r"\bthe (?:band|group|team|company|duo|club|organi[sz]ation|agency)\b(?!['’]s)", re.IGNORECASE
)
_THE = re.compile(r"\bthe\b", re.IGNORECASE)
_VERB = re.compile(
    r"\b(?:is|are|am|was|were|be|do|does|did|has|have|had|can|could|will|would|should|must)\b",
    re.IGNORECASE,
)

MOST_EXCHANGED = 4
"""Words of a substitute."""

FRAGMENT = 3
"""Words of a question without a verb that are only a part of one."""

SHORT_REMARK = 8
"""Words of a question whose `the` points at the topic."""

CERTAIN = 5.0
"""Weight from which the topic of a conversation is added to a question that does not name it."""


def framed(question: str, before: str) -> str:
    """`question` in the frame of the one before, if it is only a part of one; else empty.

    `And in 2019?` after `Who won the cup in 2018?` gives `Who won the cup in 2019?`.
    """
    if not before or len(before) > 200:
        return ""
    bare = _BARE.match(question)
    if bare:
        return _asked_why(bare.group("wh"), before)
    about = _ABOUT.match(question)
    if not about:
        return ""
    what = (about.group("what") or about.group("rest")).strip()
    return _substitute_similar(what, before)


def _asked_why(wh: str, before: str) -> str:
    opened = _OPENED.match(before)
    if opened:
        return f"{wh.capitalize()} {opened.group('rest')}"
    if _YES_NO.match(before):
        return f"{wh.capitalize()} {before[0].lower()}{before[1:]}"
    return ""


def _substitute_similar(what: str, before: str) -> str:
    """`before` with `what` in place of its like: a year for a year, a name for a name, a phrase for
    the phrase after the same preposition, or at its end."""
    body = before.rstrip("?!. ")
    year, years = _YEAR.search(what), _YEAR.findall(before)
    if year and len(what.split()) <= 2 and len(years) == 1:
        return _YEAR.sub(year.group(), before, count=1)
    if placed := _PLACED.match(what):
        start = re.search(rf"\s{placed.group('at')}\s[^?.!]{{2,40}}$", body, re.IGNORECASE)
        return f"{body[: start.start()] if start else body} {what}?"
    if len(what.split()) > MOST_EXCHANGED:
        return ""
    if what[0].isupper() and (named := names(before)):
        old = named[-1]
    elif ended := _AT_THE_END.search(body):
        return f"{body[: ended.start('old')]}{what}?"
    else:
        return ""
    return before[: old.start] + what + before[old.start + len(old.text) :]


def about_topic(question: str, topic: Entity | None) -> str:
    """The question with the topic that it leaves out; empty if it names one or the topic is not
    certain enough."""
    if topic is None or not topic.proper or names(question):
        return ""
    if not topic.subject and topic.weight < CERTAIN:
        return ""
    words = len(question.split())
    if happened := _HAPPENED.search(question):
        return f"{question[: happened.end()]} to {topic.name}{question[happened.end() :]}"
    if group := _GROUP.search(question):
        return f"{question[: group.end()]} {topic.name}{question[group.end() :]}"
    if words <= FRAGMENT and not _VERB.search(question):
        return f"{topic.name}: {question}"
    if words <= SHORT_REMARK and _THE.search(question):
        return f"{question.rstrip('?!. ')} of {topic.name}?"
    return ""


def named_only(question: str) -> str:
    """A question that only names something, as the question what that is; else empty."""
    bare = question.strip(" ?!.")
    found = mentions(bare)
    if len(found) != 1 or found[0].text != bare:
        return ""
    return f"What {'are' if found[0].kind == 'many' else 'is'} {bare}?"


LANGUAGES = ("de", "es", "fr", "ru", "zh", "ja", "ko")
UNSPACED = frozenset({"zh", "ja"})

FEW_WORDS = 3
"""Words of a question that is only a part of one."""

FRAGMENT_CHARS = 7
"""The same for scripts without spaces."""

_TOKEN = re.compile(r"\w+(?:['’]\w+)*")
_RUN = re.compile(r"\w{2,}")


def _standalone_elsewhere(
    question: str, before: Sequence[str], language: str
) -> tuple[str, tuple[str, ...]] | None:
    """The question with what it leans on, and what was done; None for one that leans on nothing.

    `before` are the earlier questions, oldest first. A language without rules is told only by how
    short the question is.
    """
    if not before or not _is_dependent(question, language):
        return None
    topic = next((found for one in reversed(before) if (found := _topic(one, language))), "")
    if not topic or topic.casefold() in question.casefold():
        return question, ()
    said = _replace_pronoun(question, topic, language)
    return said, (f"about {topic}",)


def _is_dependent(question: str, language: str) -> bool:
    lists = word_lists("understand", "follow_up")
    said = question.casefold().strip("¿¡ ?？!。.")
    pronouns = lists.get(f"{language}.pronouns", ())
    openings = (*lists.get(f"{language}.openings", ()), *lists.get(f"{language}.about", ()))
    endings = lists.get(f"{language}.endings", ())
    if language in UNSPACED:
        pointing = any(one in said for one in pronouns)
        return pointing or said.endswith(endings) or len(said) <= FRAGMENT_CHARS
    words = _TOKEN.findall(said)
    if len(words) <= FEW_WORDS or said.startswith(tuple(f"{one} " for one in openings)):
        return True
    if language == "ko":
        return any(word.startswith(pronouns) for word in words)
    return not set(pronouns).isdisjoint(words)


def _topic(question: str, language: str) -> str:
    """The topic of an earlier question: its last name, or its remaining words."""
    lists = word_lists("understand", "follow_up")
    if language in ("zh", "ja", "ko"):
        left = question
        for word in sorted(lists.get(f"{language}.topicless", ()), key=len, reverse=True):
            left = left.replace(word, " ")
        runs = [_without_particle(run, language) for run in _RUN.findall(left)]
        return max(runs, key=len, default="")
    found = [one.text for one in names(question)]
    return found[-1] if found else ""


def _without_particle(word: str, language: str) -> str:
    """A Korean word without its particle."""
    if language != "ko":
        return word
    for particle in word_lists("understand", "follow_up")["ko.particles"]:
        if word.endswith(particle) and len(word) > len(particle) + 1:
            return word[: -len(particle)]
    return word


def _replace_pronoun(question: str, topic: str, language: str) -> str:
    """The topic in place of a pronoun where grammar does not mind, else before the question."""
    lists = word_lists("understand", "follow_up")
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


LONGEST = 500
"""Characters of a question that is still rewritten; a longer one stands alone."""

LONGEST_ANSWER = 1000
"""Characters of an answer that are read for its topic."""

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
        found = _standalone_elsewhere(question, earlier, language)
        leans = found is not None
        text, done = found or (question, ())
    else:
        state = _salience_after(before, subject)
        text, done = _english_standalone(question, before, state)
        leans = _is_english_dependent(question, before)
    if not leans:
        return FollowUp(text, done=done)
    completed = any(one not in (POLITENESS, MADE_A_QUESTION) for one in done)
    whole = language == "en" and not _is_ambiguous(text, completed)
    return FollowUp(text, _context(before), whole, done)


def _english_standalone(
    question: str, before: Sequence[Exchange], state: Salience
) -> tuple[str, tuple[str, ...]]:
    last = before[-1].question if before else ""
    whole = framed(question, plain(last))
    if whole:
        return resolved(whole, state).text, ("put into the question before",)
    text = plain(question)
    done = [POLITENESS] if text != question else []
    found = resolved(text, state)
    if found.meant:
        done.append("pronouns: " + ", ".join(one.name for one in found.meant))
    elif about := about_topic(text, found.state.topic()):
        return about, (*done, "the topic added")
    elif before and (asked := named_only(text)):
        return asked, (*done, MADE_A_QUESTION)
    return found.text, tuple(done)


def _salience_after(before: Sequence[Exchange], subject: str) -> Salience:
    """The salience before the question."""
    state = Salience().about(subject)
    for one in before:
        earlier = one.question[:LONGEST]
        state = resolved(earlier, state.faded()).state.asked(mentions(earlier))
        if one.answer and not refusal(one.answer):
            asks_who = _WHO.match(earlier) is not None
            state = state.answered(names(one.answer), asks_who)
    return state.faded()


def _is_english_dependent(question: str, before: Sequence[Exchange]) -> bool:
    """Whether the question depends on the conversation: it points back, is short, or shares words.
    A long one that does none of these begins a new topic."""
    asked = set(content_words(question))
    if len(asked) < SHORT or _LEANS.search(question):
        return bool(before)
    said = " ".join(f"{one.question[:LONGEST]} {one.answer[:LONGEST_ANSWER]}" for one in before)
    return not asked.isdisjoint(content_words(said))


def _is_ambiguous(text: str, completed: bool) -> bool:
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
