"""The sentences of an answer, and which of them claim something that sources can support.

Greetings, questions, headings and "According to the sources:" claim nothing. What only says where a
statement is from ("The passage says that ...") is not a part of the claim. That the sources lack
something is recognised by reading (`reading_judge`), not here.
"""

import re
from dataclasses import dataclass
from functools import cache

from ragstone.language.code_blocks import block_code, find_fenced_blocks
from ragstone.language.markers import find_cited_spans, strip_markers
from ragstone.language.words import is_paired, word_lists, words

_ITEM = re.compile(r"^\s*(?:[-*+•·▪>|#]+\s+|#+\s*|\(?\d{1,3}[.)]\s+|\(?[a-zA-Z]\)\s+)")
_MARKUP = re.compile(r"\*\*|__|`|(?<!\w)[*_](?=\w)|(?<=[\w.,])[*_](?!\w)")
_QUESTION = re.compile(r"[?？؟][\"'”’»)\s]*$|か。?$|니까[.?]?$")
_HEADING = re.compile(r"^\s*(?:#+\s|\*\*[^*]{1,80}\*\*:?\s*$|[^.!?。！？]{1,80}[:：]\s*$)")
_OPENS_LIST = re.compile(r"[:：]\s*$")
MIN_CLAIM_WORDS = 2
"""Words that a claim has, or one that is written in pairs of characters."""

_SOURCE = r"(?:passage|text|document|article|source|context|report|summary|excerpt|study|page)s?"
_SAYS = (
    r"(?:(?:also|briefly|further|then|mainly)\s)?(?:says?|states?|mentions?|describes?|reports?|"
    r"explains?|notes?|discuss(?:es)?|provides?(?:\sinformation)?|contains?(?:\sinformation)?|"
    r"indicates?|covers?|outlines?|concludes?|highlights?|is\sabout|are\sabout|focuses|refers?)"
)
_FRAMES = re.compile(
    rf"^(?:(?:the|this|these|both|provided|given|first|second|following|above)\s){{1,3}}"
    rf"{_SOURCE}\s{_SAYS}\b(?:\s(?:that|about|on|with|to|how)\b)?[,:]?\s*"
    rf"|^(?:according\sto|based\son|as\sstated\sin|in)\s(?:the|this|these)\s"
    rf"(?:(?:provided|given|above|following)\s)?{_SOURCE}(?:\sprovided)?,\s*"
    r"|^(?:laut|gemäß|nach)\s(?:dem|den|der)\s(?:text|dokument|dokumenten|quellen?|abschnitt),?\s*"
    r"|^(?:selon|d['’]après)\s(?:le|la|les)\s(?:texte|documents?|sources?|passages?),?\s*"
    r"|^según\s(?:el|la|los|las)\s(?:textos?|documentos?|fuentes?|pasajes?),?\s*"
    r"|^(?:根据|根據|依据|按照)(?:[^,，。]{0,8})(?:文档|文件|资料|文本|来源|上下文|内容)[^,，。]{0,6}[,，：:]"
    r"|^(?:in\s)?(?:summary|short|conclusion|brief)[,:]\s*|^(?:summary|answer)\s?:\s*",
    re.IGNORECASE,
)
"""What says that a source says something: at the beginning of a sentence."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an answer: its place in it, its text without markers and layout, the numbers
    of the sources it cites, and whether it claims something. A block of code is one, as it is.
    `statement` is what it claims where its text does not say that by itself."""

    start: int
    end: int
    text: str
    cited: tuple[int, ...]
    claims: bool
    statement: str = ""


def answer_sentences(answer: str) -> list[Sentence]:
    """Return every sentence of an answer, in order."""
    found = []
    for span, cited in find_cited_spans(answer):
        shown = answer[span.start : span.end]
        if block := next(find_fenced_blocks(shown), None):
            code = block_code(shown[slice(*block)])
            found.append(Sentence(span.start, span.end, code, tuple(cited), bool(code.strip())))
            continue
        text = strip_layout(shown)
        start = span.start + len(shown) - len(shown.lstrip())
        found.append(Sentence(start, span.end, text, tuple(cited), _claims(shown, text)))
    return found


def strip_layout(sentence: str) -> str:
    """Return the sentence without markers, list signs, emphasis and reporting frames."""
    text = _ITEM.sub("", strip_markers(sentence), count=1)
    text = _MARKUP.sub("", text).strip()
    unframed = _FRAMES.sub("", text, count=1)
    return unframed if len(words(unframed)) >= MIN_CLAIM_WORDS else text


def _claims(shown: str, text: str) -> bool:
    if _QUESTION.search(text) or _HEADING.match(strip_markers(shown)) or _OPENS_LIST.search(text):
        return False
    said = words(text)
    if len(said) < (1 if is_paired(text) else MIN_CLAIM_WORDS):
        return False
    lower = text.casefold().replace("’", "'")
    return not (len(text) < _MAX_COURTESY_CHARS and _courtesy().search(lower))


@cache
def _courtesy() -> re.Pattern[str]:
    """Return a pattern of courtesies, at the start of a clause."""
    phrases = "|".join(map(_word_pattern, word_lists("verify", "courtesy")["courtesy"]))
    return re.compile(rf"(?:^|[,;，、] ?)(?:{phrases})")


def _word_pattern(phrase: str) -> str:
    """Return a phrase as a pattern that does not end inside a word, where words have spaces."""
    before, after = (
        r"\b" if char.isalnum() and not is_paired(char) else "" for char in (phrase[0], phrase[-1])
    )
    return f"{before}{re.escape(phrase)}{after}"


_MAX_COURTESY_CHARS = 80
"""A longer sentence with a greeting or an offer in it may claim something too."""
