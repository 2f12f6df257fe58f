"""Openings by which a chat model announces its answer instead of giving it."""

import re

LONGEST = 26
"""Characters of an opening that are taken out; so many are held back while it may be one."""

_OPENINGS = (
    r"sure(?: thing)?|certainly|of course|absolutely|great question|good question|okay|ok|"
    r"gladly|natürlich|gerne?|klar|bien sûr|certainement|claro(?: que sí)?|por supuesto|"
    r"好的|当然(?:可以)?|當然|もちろん(?:です)?|はい|물론(?:입니다|이죠)?|네"
)
_HELP = (
    r"(?:i(?:['’]ll| will|['’]d be| can| am|['’]m)? ?(?:be )?(?:happy|glad)?(?: to)? ?help"
    r"(?: you)?(?: with that)?|(?:happy|glad) to help|let me (?:help|explain|answer)"
    r"(?: that)?)"
)
_HERE = (
    r"(?:here(?:['’]s| is) (?:the|your|an|my) (?:answer|summary|list)|answer|the answer|"
    r"antwort|réponse|respuesta|答案|回答|답변)"
)
_PREAMBLE = re.compile(
    rf"\s*(?:(?:{_OPENINGS})(?:[,，]? ?{_HELP})?\s?[.!:。！：]"
    rf"|(?:(?:{_OPENINGS})[,，]? ?)?{_HERE}\s?[:：])\s*",
    re.IGNORECASE,
)

_WORDS = (
    "sure certainly of absolutely great good ok gladly natürlich gern klar bien certainement claro "
    "por 好的 当然 當然 もちろん はい 물론 네 here answer antwort réponse respuesta 答案 回答 답변"
)
_FIRST = tuple(_WORDS.split())


def may_be_preamble(text: str) -> bool:
    """Whether the beginning of an answer may be such an opening, or become one."""
    begun = text.lstrip().casefold()
    return any(begun.startswith(first) or first.startswith(begun) for first in _FIRST)


def preamble_end(text: str) -> int:
    """Where the answer begins after an opening at the start of `text`; 0 if there is none."""
    match = _PREAMBLE.match(text[:LONGEST])
    return match.end() if match else 0
