"""A follow-up as a question of its own, and what of the conversation to search with it.

A part of a question ("And in 2019?") is put into the last question that stands by itself, in the
place of what is nearest in meaning. What leans on the conversation otherwise is read with what that
question is about, and searched together with it: expansion by history, as in Lin et al.,
"Multi-Stage Conversational Passage Retrieval" (2021). A question that leans on nothing stays as it
is.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product, takewhile

from ragstone.language.language import detect
from ragstone.language.mentions import names
from ragstone.language.words import STOPWORDS, content_words, word_lists
from ragstone.ports import Embedder
from ragstone.understand.small_talk import match_small_talk

_LEAD = re.compile(
    r"^(?:(?:so|and|but|then|also|or|ok|okay|oh|btw|by the way|anyway|wow|hm+|i see|thanks|"
    r"thank you|thx|in that case|in other words|i mean(?:t)?(?: to (?:ask|say))?|"
    r"(?:that|it)(?: is|['’]s) (?:fine|ok|okay|great|good|too bad|bad|terrible))\b[,.!…\s-]{0,9}"
    r"|(?:yes|yeah|no|right|well|great|sure|sorry|good|fine|too bad|of course|interesting|cool|"
    r"nice)\s?[,.!…]{1,9}\s{0,9})+",
    re.IGNORECASE,
)
_PLEASE = re.compile(r",?\s?\bplease\b,?", re.IGNORECASE)


def plain(question: str) -> str:
    """The question without fillers before it and without `please`; as it is if little is left."""
    bare = _PLEASE.sub("", _LEAD.sub("", question)).strip()
    return bare if len(bare.split()) > 1 else question


UNSPACED = frozenset({"zh", "ja"})
CLINGING = frozenset({"ja", "ko"})
"""Languages whose particles cling to what they mark, so that no phrase can take another's place."""

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
"""Characters of a question that another phrase is put into."""

SAME_LEAD = 0.15
"""Added to the likeness of two phrases with the same preposition or article before them."""

OTHER_LENGTH = 0.1
"""Taken from that of two phrases of another number of words."""

MIN_LIKENESS = 0.2
"""The likeness, 0 for unrelated ones, from which a phrase takes the place of another."""

_WHETHER = (
    "is|are|was|were|do|does|did|can|could|will|would|should|may|must|has|have|had|ist|sind|hat"
)
_QUESTION_WORDS = (
    "what|which|who|whom|whose|when|where|why|how|wer|was|wie|wo|wann|warum|welche\\w?|qui|comment|"
    "où|quand|pourquoi|combien|quel\\w*|qué|quién\\w*|cuándo|cuánt\\w*|dónde|cómo|cuál\\w*|por qué|"
    "chi|cosa|quando|quant[oiae]s?|qual\\w*|come|dove|perché|quem|o que|onde|como|por que|wat|"
    "waar|wanneer|waarom|hoe|hoeveel|кто|что|где|когда|почему|как|сколько|как\\w{2}"
)
_BEFORE = (
    "for|from|in|at|on|to|by|with|until|since|of|bis|seit|von|ab|für|mit|aus|à|de|depuis|pour|"
    "desde|hasta|en|con|per|da|a"
)
ASKS = re.compile(
    rf"(?:{_WHETHER}|(?:(?:{_BEFORE}) )?(?:{_QUESTION_WORDS}))\b",
    re.IGNORECASE,
)
"""How a question begins that is whole."""

UNSPACED_ASKS = re.compile(
    "[什甚]么|什麼|谁|誰|哪|多少|多[长大高远久]|怎|如何|几|いつ|いくら|どこ|どの|どう|なぜ|何"
)

_TOKEN = re.compile(r"\w+(?:['’]\w+|(?<=\d)[.,]\d+)*")
_DIGIT = re.compile(r"\d")
_CHARACTER = re.compile(r"[\dA-Za-z]+|\w")
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


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and its answer, which may be missing."""

    question: str
    answer: str = ""


@dataclass(frozen=True, slots=True)
class FollowUp:
    """`text` is the question by itself as well as rules can say it, `context` what to search it
    with besides, empty for a question that needs none. `whole` says that it leans on nothing
    any more."""

    text: str
    context: str = ""
    whole: bool = True


async def standalone(question: str, before: Sequence[Exchange], embedder: Embedder) -> FollowUp:
    """Make `question` one by itself. `before` are the exchanges that it may lean on, oldest first.

    Nothing in the conversation is followed as an instruction; words are only copied from it.
    """
    before = [exchange for exchange in before if not match_small_talk(exchange.question)]
    if not before or len(question) > MAX_QUESTION_CHARS or match_small_talk(question):
        return FollowUp(question)
    said = " ".join(exchange.question for exchange in before)
    language = detect(question) or detect(f"{said} {question}") or "en"
    if not is_dependent(question, language):
        return FollowUp(question)
    independent = [e for e in before if not is_dependent(e.question, language)] or before
    anchor = plain(independent[-1].question[:MAX_QUESTION_CHARS])
    context = dict.fromkeys((anchor, before[-1].question[:MAX_QUESTION_CHARS]))
    searched = " ".join(context)[:MAX_CONTEXT_CHARS].strip()
    if text := await fill_frame(question, anchor, language, embedder):
        return FollowUp(text, searched, not is_dependent(text, language))
    # What only begins with "and" is read as it is.
    own = _strip_opening(question, language) or question
    is_short = len(_TOKEN.findall(own)) <= MAX_FRAGMENT_WORDS
    leans = is_short or is_dependent(own, language)
    # The question comes first: what kind of thing is asked for is told by how a text begins.
    return FollowUp(f"{own} {anchor}" if leans else own, searched, False)


def is_dependent(question: str, language: str) -> bool:
    """Tell whether a question points back or is only a part of one."""
    said = question.casefold().strip("¿¡ ?？!。.")
    if language in UNSPACED:
        ends = said.endswith(_words(language, "endings"))
        return is_pointing(said, language) or ends or len(said) <= MAX_FRAGMENT_CHARS
    if _strip_opening(said, language) != said:
        return True
    if language == "en":
        return _leans_in_english(plain(question))
    return len(_TOKEN.findall(said)) <= MAX_FRAGMENT_WORDS or is_pointing(said, language)


def is_pointing(said: str, language: str) -> bool:
    """Tell whether a text has a word that stands for something named before."""
    pronouns = _words(language, "pronouns")
    if language in UNSPACED:
        return any(word in said for word in pronouns)
    words = _TOKEN.findall(said.casefold())
    if language == "ko":
        return any(word.startswith(pronouns) for word in words)
    return not set(pronouns).isdisjoint(words)


def _words(language: str, kind: str) -> tuple[str, ...]:
    return tuple(word_lists("understand", "follow_up").get(f"{language}.{kind}", ()))


def _strip_opening(question: str, language: str) -> str:
    """Return the question without how a follow-up begins: "And", "What about"."""
    openings = (*_words(language, "openings"), *_words(language, "about"))
    gap = "" if language in UNSPACED else " "
    said = question.casefold()
    found = (o for o in sorted(openings, key=len, reverse=True) if said.startswith(o + gap))
    return question[len(next(found, "")) :].lstrip(" ,，")


def _leans_in_english(question: str) -> bool:
    """A pronoun after a name or several words of the question's own means one of those."""
    own = set(content_words(question))
    if len(own) < MIN_OWN_WORDS and not names(question) and not _DIGIT.search(question):
        return True
    pronouns, endings = _words("en", "pronouns"), _words("en", "endings")
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


async def fill_frame(question: str, before: str, language: str, embedder: Embedder) -> str:
    """`before` with what `question` says in the place of what is nearest to it in meaning, if
    `question` is only a part of one; else empty.

    `And in 2019?` after `Who won the cup in 2018?` gives `Who won the cup in 2019?`.
    """
    if language in CLINGING or len(before) > MAX_FRAME_CHARS or is_pointing(before, language):
        return ""
    part = _read_part(question, language)
    if part is None:
        return ""
    likes = _find_likes(part, before, language)
    if not likes:
        return ""
    vectors = await embedder.embed_queries([phrase.text for phrase in (part, *likes)])
    unrelated = embedder.cosines[0]
    likeness = (vectors[1:] @ vectors[0] - unrelated) / (1 - unrelated)
    scores = [
        float(score)
        + SAME_LEAD * bool(part.lead & like.lead)
        - OTHER_LENGTH * (like.length != part.length)
        for score, like in zip(likeness, likes, strict=True)
    ]
    best = likes[scores.index(max(scores))]
    if max(scores) < MIN_LIKENESS:
        return ""
    return before[: best.start] + part.text + before[best.start + len(best.text) :]


@dataclass(frozen=True, slots=True)
class _Phrase:
    """Words of a question, where they start, and the little words right before them."""

    text: str
    start: int
    lead: frozenset[str]
    length: int = 1


def _read_part(question: str, language: str) -> _Phrase | None:
    """What a part of a question names; None for a whole question and for one that points back."""
    said = question.strip("¿¡ ?？!。.")
    endings = _words(language, "endings")
    ending = next(filter(said.endswith, endings), "") if language in UNSPACED else ""
    opened, said = said, _strip_opening(said.removesuffix(ending), language)
    words = _find_words(said, language)
    longest = MAX_FRAGMENT_CHARS if language in UNSPACED else MAX_FRAGMENT_WORDS
    is_part = said != opened and len(words) <= longest
    asks = ASKS.match(said) or UNSPACED_ASKS.search(said)
    if not is_part or asks or is_pointing(said, language):
        return None
    while words and words[-1].group().casefold() in STOPWORDS.union(endings):
        words.pop()
    lead = list(takewhile(lambda word: word.group() in STOPWORDS, words))
    if len(lead) == len(words):
        return None
    start = words[len(lead)].start()
    little = frozenset(word.group() for word in lead)
    return _Phrase(said[start : words[-1].end()], start, little, len(words) - len(lead))


def _find_likes(part: _Phrase, before: str, language: str) -> list[_Phrase]:
    """Return the phrases of a question that a part may take the place of: about as long, with the
    words that both have, and with a number for a number."""
    words = _find_words(before, language)
    known = {word.group().casefold() for word in words}
    shared = known & {word.group().casefold() for word in _find_words(part.text, language)}
    found = []
    for count, first in product(
        range(1, part.length + 2), range(language not in UNSPACED, len(words))
    ):
        phrase = words[first : first + count]
        own = {word.group().casefold() for word in phrase}
        if len(phrase) < count or {phrase[0].group(), phrase[-1].group()} & STOPWORDS:
            continue
        text = before[phrase[0].start() : phrase[-1].end()]
        if shared <= own and bool(_DIGIT.search(text)) >= bool(_DIGIT.search(part.text)):
            lead = takewhile(STOPWORDS.__contains__, (w.group() for w in reversed(words[:first])))
            found.append(_Phrase(text, phrase[0].start(), frozenset(lead), count))
    return found


def _find_words(text: str, language: str) -> list[re.Match[str]]:
    return list((_CHARACTER if language in UNSPACED else _TOKEN).finditer(text))
