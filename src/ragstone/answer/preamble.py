"""Openings that announce an answer, such as "Sure, I'd be happy to help you with that."."""

import re

MAX_OPENING_CHARS = 160
"""Characters of an opening that are taken out; so many are held back while it may be one."""

_OPENINGS = (
    r"sure(?: thing)?|certainly|of course|absolutely|great question|good question|okay|ok|"
    r"gladly|natürlich|gerne?|klar|bien sûr|certainement|claro(?: que sí)?|por supuesto|"
    r"好的|当然(?:可以)?|當然|もちろん(?:です)?|はい|물론(?:입니다|이죠)?|네"
)
_ANSWER = r"(?:answer|the answer|antwort|réponse|respuesta|答案|回答|답변)"
_PREAMBLE = re.compile(
    rf"\s*(?:(?:{_OPENINGS})\s?[.!:。！：]|(?:(?:{_OPENINGS})[,，]? ?)?{_ANSWER}\s?[:：])\s*",
    re.IGNORECASE,
)
_ANNOUNCED = re.compile(
    rf"\s*(?:(?:{_OPENINGS})[,，]? ?)?here(?:['’]s| is| are)\b[^\n.!?:：\[]*[:：]\s*", re.IGNORECASE
)
_MAY_ANNOUNCE = re.compile(
    rf"\s*(?:(?:{_OPENINGS})[,，]? ?)?here(?:['’]s| is| are)\b[^\n.!?:：\[]*", re.IGNORECASE
)
"""A line that says what follows, with a colon at its end."""

_SENTENCE = re.compile(r"\s*([^\n.!:]*)(?:[.!:]+(?=\s|\Z)|\n)\s*")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")

_FIRST_WORDS = (
    "sure certainly of absolutely great good ok gladly natürlich gern klar bien certainement claro "
    "por 好的 当然 當然 もちろん はい 물론 네 here answer the antwort réponse respuesta 答案 回答 "
    "답변 definitely excellent thank i based let"
)
_FIRST = tuple(_FIRST_WORDS.split())
_ANNOUNCING_WORDS = (
    "help assist answer answers here here's summary list explanation overview asking response "
    "breakdown following explain summarize summarise let's"
)
_ANNOUNCING = frozenset(_ANNOUNCING_WORDS.split())
"""One of these is in a sentence that announces; the others only go along."""

_GOING_ALONG = (
    "sure thing certainly of course absolutely definitely great good excellent question okay ok "
    "gladly i i'd i'll i'm can could will would be am is are happy glad delighted pleased to "
    "provide give you your with that this these the a an my let me us what found find from in on "
    "for about regarding based according provided given available context documents document "
    "sources source information passages text above below detailed brief short quick complete "
    "concise details thank thanks and please do so"
)
_PLAIN = _ANNOUNCING | frozenset(_GOING_ALONG.split())
_SHORT = 26
"""Characters within which an opening in another language than English ends."""


def may_be_preamble(text: str) -> bool:
    """Tell whether the beginning of an answer may be such an opening, or become one."""
    begun = text.lstrip().casefold()
    if not any(begun.startswith(first) or first.startswith(begun) for first in _FIRST):
        return False
    if len(text) <= _SHORT or _MAY_ANNOUNCE.fullmatch(text):
        return True
    whole = text[: len(text) - len(_last_word(text))]
    return _SENTENCE.match(whole) is None and _words(whole) <= _PLAIN


def preamble_end(text: str) -> int:
    """Where the answer begins after an opening at the start of `text`; 0 if there is none."""
    text = text[:MAX_OPENING_CHARS]
    match = _PREAMBLE.match(text) or _ANNOUNCED.match(text)
    if match:
        return match.end()
    match = _SENTENCE.match(text)
    if match is None or not text.lstrip().casefold().startswith(_FIRST):
        return 0
    said = _words(match[1])
    return match.end() if said <= _PLAIN and said & _ANNOUNCING else 0


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold().replace("’", "'") for word in _WORD.findall(text))


def _last_word(text: str) -> str:
    """Return the word that the text ends with, which may go on; empty if it ends with none."""
    found = re.search(r"[^\s.!:]*\Z", text)
    return found[0] if found else ""
