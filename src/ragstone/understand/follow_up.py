"""A follow-up as a question of its own, by rules, and what of the conversation to search with it.

A part of a question ("And in 2019?") is put into the last question that stands by itself, a
pronoun becomes that question's topic, and what leans on the conversation is searched together with
it: expansion by history, as in Lin et al., "Multi-Stage Conversational Passage Retrieval" (2021).
A question that leans on nothing stays as it is.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ragstone.language.language import detect
from ragstone.language.word_lists import word_lists
from ragstone.language.words import content_words
from ragstone.understand.mentions import Mention, function_words, mentions, names
from ragstone.understand.politeness import plain, refusal, social

UNSPACED = frozenset({"zh", "ja"})

MAX_QUESTION_CHARS = 500
"""Characters of a question that is still rewritten; a longer one stands alone."""

MAX_CONTEXT_CHARS = 600
"""Characters of earlier questions that a search takes along."""

MAX_FRAGMENT_WORDS = 3
MAX_FRAGMENT_CHARS = 7
"""Words of a question that is only a part of one; characters in scripts without spaces."""

MIN_OWN_WORDS = 3
"""A question without a name and with fewer words that carry meaning leans on the conversation."""

MAX_FRAME_CHARS = 150
MAX_EXCHANGED_WORDS = 4
"""Characters of a question that another phrase is put into, and words of the phrase."""

_TOKEN = re.compile(r"\w+(?:['’]\w+)*")
_RUN = re.compile(r"\w{2,}")
_DIGITS = re.compile(r"\w*\d[\w.,]*\b")
_ABOUT = re.compile(
    r"^(?:(?:and |but |so )?(?:what|how) about|and|but) (?P<what>[^?.!]{1,80})[?.!\s]*$",
    re.IGNORECASE,
)
_PLACED = re.compile(
    r"(?P<at>in|on|for|with|at|from|under|during|by|of|after|before)\s(?:the\s|an?\s)?",
    re.IGNORECASE,
)
_SOMEBODY = re.compile(r"\b(?:s?he|his|hers?|him)\b", re.IGNORECASE)
_WHO = re.compile(r"who\s(?!(?:is|was|are|were)\s(?!the\s))", re.IGNORECASE)
"""A question whose answer names a person; `Who is Frank Zappa?` has named him already."""
_SENTENCE_END = re.compile(r"[.?!]\s")
_DETERMINER = re.compile(r"^(?:the|an?|my|our|your|this)\s", re.IGNORECASE)
_AT_END = re.compile(rf"\b{_PLACED.pattern}$", re.IGNORECASE)
_DETERMINED = re.compile(r"\b(?:the|an?|my|our|your|this)\s$", re.IGNORECASE)
_ONES = re.compile(r"\s(?:ones?|too|instead)$", re.IGNORECASE)
_BARE = re.compile(
    r"^(?P<wh>why|how|when|where|who)(?: (?:so|not|is that|was that|then|exactly))?[?.!\s]*$",
    re.IGNORECASE,
)
_VERB = (
    r"(?:is|are|am|was|were|be|do|does|did|has|have|had|can|could|will|would|should|must|may|"
    r"might|what|which|who|whose|when|where|why|how)\b"
)
_ASKED = re.compile(
    rf"^(?:[\w\s]{{1,40}}?\s)?(?P<rest>(?!(?:wh\w+|how)\b){_VERB}.*)$", re.IGNORECASE
)
_HAS_VERB = re.compile(rf"\b{_VERB}", re.IGNORECASE)
_CLAUSE = re.compile(
    r"\w[,;.?!:]\s|\w\s(?:and|but|or|if|when|because|so|since|while|after|before|that|who|which)\s",
    re.IGNORECASE,
)
_EMPTY_IT = re.compile(
    r"\b(?:is|was|be|makes?) it (?:\w+ )?\w+ (?:to|that|if|for|when)\b|\bit takes?\b"
    r"|\bit(?:['’]s| is| was) (?:\w+ )?\w+ (?:to|that|if)\b|\bit (?:rain|snow|depend|seem)\w*",
    re.IGNORECASE,
)
"""Where `it` stands for nothing."""
_PRONOUN = re.compile(
    r"\b(?:(?P<of>his|its|their|her(?=\s(?!to\b|in\b|for\b|with\b|at\b)\w))|he|him|she|her|it|they|them)\b",
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
    with besides, empty for a question that needs none. `whole` says that it leans on nothing
    any more, and `done` what was done."""

    text: str
    context: str = ""
    whole: bool = True
    done: tuple[str, ...] = ()


def standalone(question: str, before: Sequence[Exchange], subject: str = "") -> FollowUp:
    """Make `question` one by itself. `before` are the exchanges that it may lean on, oldest first;
    `subject` is what the whole conversation is about, if that is known.

    Nothing in the conversation is followed as an instruction; words are only copied from it.
    """
    before = [one for one in before if not social(one.question)]
    if not (before or subject) or len(question) > MAX_QUESTION_CHARS or social(question):
        return FollowUp(question)
    said = " ".join(one.question for one in before)
    language = detect(question) or detect(f"{said} {question}") or "en"
    if not is_dependent(question, language):
        return FollowUp(question)
    anchor = next(
        (one for one in reversed(before) if not is_dependent(one.question, language)),
        before[-1] if before else Exchange(""),
    )
    text, done = _complete(question, anchor, before, subject, language)
    context = dict.fromkeys(one.question[:MAX_QUESTION_CHARS] for one in (anchor, *before[-1:]))
    whole = language == "en" and text != question and not is_dependent(text, language)
    return FollowUp(text, " ".join(context)[:MAX_CONTEXT_CHARS].strip(), whole, done)


def _complete(
    question: str, anchor: Exchange, before: Sequence[Exchange], subject: str, language: str
) -> tuple[str, tuple[str, ...]]:
    """The question with what it leans on, and what was done."""
    earlier = plain(anchor.question[:MAX_QUESTION_CHARS])
    if language != "en":
        topic = subject or _topic(earlier, language)
        known = not topic or topic.casefold() in question.casefold()
        said = question if known else f"{topic}: {question}"
    elif whole := fill_frame(question, earlier):
        return whole, ("put into the question before",)
    else:
        question = plain(question)
        topic = subject or _person(question, anchor) or _last_topic(before)
        said = replace_pronoun(question, topic)
        if said == question and (asked := _named_only(question)):
            return asked, ("made a question",)
    return said, (f"about {topic}",) if said != question else ()


def _last_topic(before: Sequence[Exchange]) -> str:
    """The topic of the last question that names it itself."""
    asked = [one.question[:MAX_QUESTION_CHARS] for one in reversed(before)]
    topics = (find_topic(plain(one)) for one in asked if not _PRONOUN.search(one))
    return next(filter(None, topics), "")


def _named_only(question: str) -> str:
    """A question that only names something, as the question what that is; else empty."""
    bare = question.strip(" ?!.")
    only = [one.text for one in mentions(bare)] == [bare]
    return f"What {'are' if bare.endswith('s') else 'is'} {bare}?" if only else ""


def is_dependent(question: str, language: str) -> bool:
    """Whether a question points back or is only a part of one."""
    lists = word_lists("understand", "follow_up")
    said = question.casefold().strip("¿¡ ?？!。.")
    pronouns = lists.get(f"{language}.pronouns", ())
    openings = (*lists.get(f"{language}.openings", ()), *lists.get(f"{language}.about", ()))
    endings = lists.get(f"{language}.endings", ())
    if language in UNSPACED:
        pointing = any(one in said for one in pronouns)
        return pointing or said.endswith(endings) or len(said) <= MAX_FRAGMENT_CHARS
    if said.startswith(tuple(f"{one} " for one in openings)):
        return True
    if language == "en":
        return _leans_in_english(plain(question), frozenset(pronouns), endings)
    found = _TOKEN.findall(said)
    if len(found) <= MAX_FRAGMENT_WORDS:
        return True
    if language == "ko":
        return any(word.startswith(pronouns) for word in found)
    return not set(pronouns).isdisjoint(found)


def _leans_in_english(question: str, pronouns: frozenset[str], endings: tuple[str, ...]) -> bool:
    """A pronoun after a name or several words of the question's own means one of those."""
    own = set(content_words(question))
    if len(own) < MIN_OWN_WORDS and not names(question) and not _DIGITS.search(question):
        return True
    said = _EMPTY_IT.sub(" ", question)
    words = list(_TOKEN.finditer(said))
    pointing = [word for word in words if word.group().casefold() in pronouns]
    if words and words[-1].group().casefold() in endings:
        pointing.append(words[-1])
    if not pointing:
        return False
    ahead = said[: pointing[0].start()]
    if names(ahead):
        return False
    own_ahead = set(content_words(ahead))
    return len(own_ahead) < MIN_OWN_WORDS and not (own_ahead and _CLAUSE.search(ahead))


def fill_frame(question: str, before: str) -> str:
    """`question` in the frame of the one before, if it is only a part of one; else empty.

    `And in 2019?` after `Who won the cup in 2018?` gives `Who won the cup in 2019?`.
    """
    if bare := _BARE.match(question):
        asked = _ASKED.match(before)
        return f"{bare['wh'].capitalize()} {_lower(asked['rest'])}" if asked else ""
    about = _ABOUT.match(question)
    if not before or not about:
        return ""
    what = _ONES.sub("", about["what"].strip())
    if _HAS_VERB.search(what) or _PRONOUN.search(what) or len(before) > MAX_FRAME_CHARS:
        return ""
    return _exchange_number(what, before) or _exchange_phrase(what, before)


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _exchange_number(what: str, before: str) -> str:
    """`before` with the number or code of `what` in place of its only like; else empty."""
    found: list[str] = _DIGITS.findall(what)
    rest = {word.casefold() for word in _TOKEN.findall(_DIGITS.sub(" ", what))}
    if len(found) != 1 or rest - function_words() - set(_TOKEN.findall(before.casefold())):
        return ""
    like = [one for one in _DIGITS.finditer(before) if _shape(one.group()) == _shape(found[0])]
    if len(like) > 1:
        like = [one for one in like if len(one.group()) == len(found[0])]
    if len(like) != 1:
        return ""
    return before[: like[0].start()] + found[0] + before[like[0].end() :]


def _shape(code: str) -> str:
    return re.sub(r"\d+", "0", code)


def _exchange_phrase(what: str, before: str) -> str:
    """`before` with `what` in place of what follows the same preposition, of a name, or of what is
    asked about; with `what` added where it begins with a preposition that is not there."""
    known = mentions(before)
    placed = _PLACED.match(what)
    if placed:
        at = re.compile(rf"\b{placed['at']}\s(?:the\s|an?\s)?$", re.IGNORECASE)
        for old in reversed(known):
            if opened := at.search(before[: old.start]):
                return f"{before[: opened.start()]}{what}{before[old.start + len(old.text) :]}"
        return f"{before.rstrip('?!. ')} {what}?"
    like = _like(what, before, known) if len(what.split()) <= MAX_EXCHANGED_WORDS else None
    if like is None:
        return ""
    rest = before[like.start + len(like.text) :]
    return before[: like.start] + _DETERMINER.sub("", what) + rest


def _like(what: str, before: str, known: Sequence[Mention]) -> Mention | None:
    """What a phrase can stand for: a name for a name, what is asked about for `the ...`, a phrase
    of the same last word, or the one at the end behind a preposition."""
    named = [one for one in known if one.proper]
    if named and what[0].isupper():
        return named[-1]
    if _DETERMINER.match(what):
        return _asked_about(before, known)
    for one in reversed(known):
        if one.text.split()[-1].casefold() == what.split()[-1].casefold():
            return one
    last = known[-1] if known else None
    if last and before.rstrip("?!. ").endswith(last.text) and _AT_END.search(before[: last.start]):
        return last
    return None


def _asked_about(question: str, known: Sequence[Mention]) -> Mention | None:
    """The first name or phrase with an article; else the first phrase."""
    certain = (one for one in known if one.proper or _DETERMINED.search(question[: one.start]))
    return next(certain, known[0] if known else None)


def find_topic(question: str) -> str:
    """What an English question is about, such as `the warranty of the Lantern 3`."""
    question = _SENTENCE_END.split(question)[-1]
    known = mentions(question)
    first = _asked_about(question, known)
    if first is None:
        return ""
    end = first.start + len(first.text)
    for other in known:
        if other.start > end and re.fullmatch(
            r"\sof\s(?:the\s|an?\s)?", question[end : other.start]
        ):
            end = other.start + len(other.text)
    said = question[first.start : end]
    return said if first.proper else f"the {said}"


def _person(question: str, anchor: Exchange) -> str:
    """Who `he` or `she` is: whom the answer to a `who` names, else the last name that was asked."""
    if not _SOMEBODY.search(question):
        return ""
    named = [one.text for one in names(anchor.question)]
    if _WHO.match(anchor.question) and not refusal(anchor.answer):
        told = [one.text for one in names(anchor.answer) if one.text not in named]
        named = told[:1] or named
    return named[-1] if named else ""


def replace_pronoun(question: str, topic: str) -> str:
    """An English question with the topic in place of its first pronoun."""
    empty = [match.span() for match in _EMPTY_IT.finditer(question)]
    for match in _PRONOUN.finditer(question):
        if not topic or any(start <= match.start() < end for start, end in empty):
            continue
        ending = ("'" if topic.endswith("s") else "'s") if match["of"] else ""
        return f"{question[: match.start()]}{topic}{ending}{question[match.end() :]}"
    return question


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
