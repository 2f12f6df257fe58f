"""Compound questions taken apart by rules: several questions in one, and comparisons."""

import re

from ragstone.language.words import STOPWORDS, words
from ragstone.understand.antecedents import Salience
from ragstone.understand.mentions import function_words, mentions
from ragstone.understand.pronouns import resolved

MOST = 4
LONGEST = 500
"""Characters of a question that is taken apart."""

_SENTENCE = re.compile(r"[^?？!！。\n]{1,400}[?？]")
_ASKS = (
    r"what|which|who|whom|whose|when|where|why|how|is|are|was|were|do|does|did|can|could|will|"
    r"would|should|has|have|had|wer|wie|wo|wann|warum|welche\w?|ist|sind|hat|qui|comment|quand|"
    r"pourquoi|combien|quel\w*|qué|quién|cuándo|dónde|cómo|cuál\w*|por qué"
)
_CLAUSES = re.compile(
    rf"(?:,\s?|\s)(?:and|und|et|y|e|or|as well as)(?: also)?\s(?=(?:{_ASKS})\s)"
    rf"|,\s(?=(?:{_ASKS})\s)",
    re.IGNORECASE,
)
_OPENS = re.compile(rf"^(?:{_ASKS})\b", re.IGNORECASE)
_ITEM = r"[^\s,;?.!](?:[^,;?.!]{0,58}?[^\s,;?.!])??"
_COMPARED = re.compile(
    r"^(?P<before>.{0,80}?)(?:\b(?:differences?|similarit(?:y|ies)|comparison|distinction|"
    r"relationship|choice|unterschiede?|diferencias?|différences?)\s(?:between|of|zwischen|entre)\s"
    r"|\b(?:compare|contrast|vergleiche|compara|comparez)\s)"
    rf"(?P<a>{_ITEM})\s(?:and|und|y|e|et|with|to|mit|con|avec|vs\.?|versus)\s(?P<b>{_ITEM})"
    r"(?P<after>\s(?:in|on|for|by|with respect to|regarding|in terms of)\s[^?.!]{1,80})?[?.!\s]*$",
    re.IGNORECASE,
)
_VERSUS = re.compile(rf"^(?P<a>{_ITEM})\s(?:vs\.?|versus)\s(?P<b>{_ITEM})[?.!\s]*$", re.IGNORECASE)
_CHOICE = re.compile(
    rf"^(?P<aspect>.{{0,120}}?)[,:]\s(?P<a>{_ITEM})\s(?:or|oder|o|ou)\s(?P<b>{_ITEM})\s*\?",
    re.IGNORECASE,
)
_CHINESE = re.compile(
    r"(?:比较|对比|比較)?(?P<a>[^\s，。？和与跟]{1,30})[和与跟](?P<b>[^\s，。？]{1,30}?)"
    r"(?:之间)?(?:的|有什么|有何)(?:区别|不同|差异|差別|异同|关系|优缺点)"
)
_HEAD = re.compile(r"^[^\n]{1,50}?\s(?:of|for|in|von|de)\s(?:the\s)?", re.IGNORECASE)
"""What two things that are compared have in common: `the revenue of`."""
_LEAD = re.compile(r"^(?:what|which|who|is|are|the|between|please|can you)\s", re.IGNORECASE)


def subquestions(question: str) -> list[str]:
    """2 to `MOST` questions that `question` is made of; none if it is one question."""
    question = question.strip()
    if len(question) > LONGEST:
        return []
    for parts in (_sentences(question), _clauses(question), _comparison_parts(question)):
        parts = list(dict.fromkeys(part for part in parts if part))
        if len(parts) > 1:
            return parts[:MOST]
    return []


def keywords(question: str) -> str:
    """The words of the question that carry meaning, as they are written, in order."""
    kept = [
        token
        for token in re.findall(r"[^\W_][\w'’\-+#./]*", question)
        if token.casefold() not in function_words()
        and any(word not in STOPWORDS for word in words(token))
    ]
    return " ".join(dict.fromkeys(kept))


def _sentences(question: str) -> list[str]:
    found = [match.group().strip() for match in _SENTENCE.finditer(question)]
    return _resolve_pronouns([one for one in found if len(words(one)) > 1])


def _clauses(question: str) -> list[str]:
    if not _OPENS.match(question):
        return []
    parts = [part.strip(" ,?.!") for part in _CLAUSES.split(question)]
    if any(len(part.split()) < 3 for part in parts):
        return []
    return _resolve_pronouns([f"{part}?" for part in parts])


def _resolve_pronouns(parts: list[str]) -> list[str]:
    """The parts with pronouns that point at what an earlier part names."""
    state = Salience()
    said: list[str] = []
    for part in parts:
        found = resolved(part, state)
        said.append(found.text)
        state = found.state.asked(mentions(part)).faded()
    return said


def _comparison_parts(question: str) -> list[str]:
    for pattern in (_COMPARED, _VERSUS, _CHOICE, _CHINESE):
        match = pattern.search(question)
        if match:
            groups = match.groupdict()
            first, second = (_LEAD.sub("", groups[name]).strip() for name in ("a", "b"))
            head = _HEAD.match(first)
            if head and not _HEAD.match(second):
                second = head.group() + second
            rest = groups.get("after") or f" {keywords(groups.get('aspect') or '')}"
            return [f"{one}{rest}".strip() for one in (first, second)]
    return []
