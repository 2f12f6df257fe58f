"""Divides text into sentences by rules, for many languages."""

import re
from collections import deque
from dataclasses import dataclass
from functools import lru_cache

from ragstone.core.code_spans import CODE_SPAN
from ragstone.language.code_blocks import find_fenced_blocks

_SHORT = (
    "mr mrs ms dr prof st jr sr v vs etc e.g i.e vol approx inc ltd co corp dept est gen col capt "
    "lt sgt rev hon pres gov sen rep mt ave blvd bros al cf viz pharm ed eds ibid et "
    "jan feb mar apr jun jul aug sep sept oct nov dec bzw z.b z d.h u.a u.u ca usw evtl geb gest "
    "bspw ggf inkl exkl zzgl vgl sog jh jhdt mio mrd str tel hr fr dipl ing hrsg max "
    "mme mlle p.ex p.ej ej env av éd "
    "sra srta dra ud uds ee aprox núm tel gral lic arq "
    "т.е т.к т.д т.п им ул см др проф акад тыс млн млрд "
)

_ABBREVIATIONS = frozenset(_SHORT.split())
_BEFORE_NUMBERS = (
    "no nos nr nrn fig figs vol p pp pg art sec ch para abs abb tab kap ziff s bd n nº núm pág "
    "págs cap ст стр рис гл п "
)
_NUMBERED = frozenset(_BEFORE_NUMBERS.split())
"""Abbreviations that a number follows; before anything else some of them are words."""

_MAY_END = frozenset(("inc", "ltd", "co", "corp", "jr", "sr", "al", "ca", "jh", "mio", "mrd", "др"))
_OFTEN_ENDS = frozenset(("etc", "usw", "u.a", "u.u", "т.д", "т.п"))
"""Abbreviations that may end a sentence: before a word that often begins one, before a capital."""

_END = re.compile(
    r"[。！？｡]++[」』”’）)\]]*+"
    # No start inside a run, and none given up: a row of dots must not cost its length squared.
    r"|(?<![.!?؟।…])[.!?؟।…]++[\"'“”‘’«»)\]*_]*+(?:[ \u00a0\u202f]»)?"
    r"(?:\[[^\]\[\n]{1,20}\])*+(?=\s|$)"
    # Korean sentences without a space between them.
    r"|(?<=[다요까죠오네음함됨임])[.!?]++(?=[가-힣])"
    r"|\n\s*+"
)
_INITIALS = re.compile(r"(?:[^\W\d_]\.-?)+[^\W\d_]")
"""A name of letters, as in U.S., p.m. or J.-C.: its last full stop may end the sentence too."""

_STARTER = re.compile(
    r"(?:the|this|that|these|those|an?|he|she|it|they|we|you|his|her|its|their|our|in|on|at|by|for|"
    r"from|as|but|and|or|if|when|while|after|before|however|there|some|many|most)\b",
    re.IGNORECASE,
)
_OF_ORDINAL = re.compile(
    r"(?:januar|jänner|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember|"
    r"jahrhundert|jahrtausend|jh|weltkrieg|auflage|klasse|platz|stock|tag|woche|monat|kapitel|"
    r"(?:jan|feb|mär|apr|jun|jul|aug|sept?|okt|nov|dez)\b)",
    re.IGNORECASE,
)
"""What a German ordinal ("3. Mai", "19. Jahrhundert") stands before."""

_BEFORE_ORDINAL = re.compile(
    r"\b(?:der|die|das|dem|den|des|am|im|vom|zum|zur|beim|eine?|einen|einem|jede[nrms]?)\s$",
    re.IGNORECASE,
)
"""What a German ordinal stands behind; a number is not a cardinal there."""

_QUOTED_ON = re.compile(r"(?:と|って|という|との|라고|하고|고\b)")
"""Behind a quotation it goes on with the sentence that quotes."""

_NAMED_NUMBER = re.compile(
    r"\W*(?:[^\W\d_]{2,14}\.?|§{1,2})\s?(?:\d{1,4}[a-z]?(?:\.\d{1,3}){0,4}|[IVX]|[IVXLCDM]{2,7})"
)
"""A sentence so far that only names a part of a law or the like: "Article 1", "§ 5"."""

_WORD_BEFORE = re.compile(r"([^\s(\[\"'“]+)$")

_ITEM = re.compile(r"\s*(?:[-*+•·▪|#]|\(?\d{1,3}[.)]|\(?[a-z]\))\s")
_ROW = re.compile(r"\||\S: [^;]*; \S[^;:]*: ")
"""A row of a table: cells between bars, or named ones."""

_FORMULA = re.compile(
    r"\$\$(?:[^$\n]|\n(?![ \t]{0,20}\n)){1,2000}+\$\$"
    r"|\\\[(?:[^\\\n]|\n(?![ \t]{0,20}\n)|\\(?![\[\]])){1,2000}+\\\]"
)
"""A displayed formula in TeX, which may have lines and full stops, but no empty line."""

NAMED_CHARS = 40
"""Characters of the longest name and number of a part."""

ROW_CHARS = 1000
"""How far a line is looked at to see whether it is a table's row."""

MAX_CACHED_CHARS = 8_000
"""A text of so many characters is a passage, which several steps of one question divide."""

FULL_LINE = 60
"""A line of so many characters may have been wrapped; a shorter one ended on purpose."""

_UNENDED = re.compile(
    r"[,，、]$|\b(?:an?|the|of|to|in|for|by|with|from|and|or|der|die|das|den|des|dem|und|oder|von|mit"
    r"|le|la|les|de|des|du|et|ou|el|los|las|del|y|e|o)$"
)
"""Characters at the end of a line that continues on the next."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a text, from `start` to before `end`."""

    start: int
    end: int


def sentences(text: str) -> list[Span]:
    """Return the sentences of `text` in order, without the space around them.

    Lines are boundaries, so list items and table rows are sentences of their own; a fenced block of
    code is one, and no sentence ends in a code span or a displayed formula. The spans do not
    overlap, and cover every character that is not space.
    """
    return list(_find_spans(text)) if len(text) <= MAX_CACHED_CHARS else _divide(text)


def whole_sentences(text: str, start: int, end: int, reach: int) -> tuple[int, int]:
    """The place from `start` to `end` with the sentences round it that are at most `reach`
    characters away. Where a sentence that holds the place goes on beyond that, it is cut."""
    first, last = max(0, start - reach), min(len(text), end + reach)
    # What stands before and after tells where sentences begin and end.
    before = max(0, first - reach)
    spans = sentences(text[before : last + reach])
    begins = (before + span.start for span in spans)
    ends = (before + span.end for span in spans)
    return (
        min((at for at in begins if first <= at <= start), default=first),
        max((at for at in ends if end <= at <= last), default=last),
    )


@lru_cache(256)
def _find_spans(text: str) -> tuple[Span, ...]:
    return tuple(_divide(text))


def _divide(text: str) -> list[Span]:
    spans: list[Span] = []
    start = 0
    for code, end in (*find_fenced_blocks(text), (len(text), len(text))):
        _divide_prose(spans, text, start, code)
        _append(spans, text, code, end)
        start = end
    return spans


def _divide_prose(spans: list[Span], text: str, start: int, end: int) -> None:
    whole = deque(_whole_spans(text, start, end))
    for match in _END.finditer(text, start, end):
        while whole and whole[0][1] <= match.start():
            whole.popleft()
        inside = bool(whole) and whole[0][0] < match.start()
        if inside or _is_inside_sentence(text, start, match) or is_wrap(text, match):
            continue
        _append(spans, text, start, match.end())
        start = match.end()
    _append(spans, text, start, end)


def _whole_spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return where no sentence ends: code spans and displayed formulas, in order."""
    code = [item.span() for item in CODE_SPAN.finditer(text, start, end)] if "`" in text else []
    if "$$" not in text and "\\[" not in text:
        return code
    return sorted([*code, *(item.span() for item in _FORMULA.finditer(text, start, end))])


def _append(spans: list[Span], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    lead = len(piece) - len(piece.lstrip())
    stripped = piece.strip()
    if stripped:
        spans.append(Span(start + lead, start + lead + len(stripped)))


def _is_inside_sentence(text: str, start: int, match: re.Match[str]) -> bool:
    """Tell whether what looks like an end is inside a sentence: an abbreviation, an initial, an
    ordinal, a list's number, an ellipsis or a quotation in the midst of it."""
    mark = match.group()
    if mark.startswith("\n"):
        return False
    after = text[match.end() : match.end() + 40].lstrip(" ")
    if mark != ".":
        closed = mark[-1] in "\"'“”‘’«»)]」』）"
        if closed and mark[-1] in "」』”" and _QUOTED_ON.match(after):
            return True
        dots = mark.startswith(("..", "…"))
        return (closed or dots or mark[0] == "!") and after[:1].islower()
    return _abbreviates(text, start, match, after)


def _abbreviates(text: str, start: int, match: re.Match[str], after: str) -> bool:
    """Tell whether a lone full stop belongs to the word before it."""
    goes_on = after and not after.startswith("\n") and match.start() - start <= NAMED_CHARS
    if goes_on and _NAMED_NUMBER.fullmatch(text, start, match.start()):
        return True
    head = text[max(start, match.start() - 40) : match.start()]
    before = _WORD_BEFORE.search(head)
    word = before.group(1) if before else ""
    small = word.casefold()
    if small in _NUMBERED and after[:1].isdigit():
        return True
    if small in _OFTEN_ENDS:
        return not after[:1].isupper()
    if small in _ABBREVIATIONS:
        return small not in _MAY_END or not _STARTER.match(after)
    if len(word) == 1 and word.isalpha() and word.isupper():
        return not (after[:1].isupper() and _STARTER.match(after)) or len(after) < 2
    if _INITIALS.fullmatch(word):
        return bool(after) and not after.startswith("\n") and not _STARTER.match(after)
    if word.isdigit() and len(word) <= 2:
        listed = not text[start : match.start() - len(word)].strip()
        behind = _BEFORE_ORDINAL.search(head[: len(head) - len(word)])
        ordinal = bool(behind) and bool(after) and not _STARTER.match(after)
        return listed or ordinal or after[:1].islower() or bool(_OF_ORDINAL.match(after))
    return after[:1].islower()


def is_wrap(text: str, match: re.Match[str]) -> bool:
    """Tell whether the match is the end of a line (and the space after it) that is only there
    because the line was full, not because something ended."""
    if not match.group().startswith("\n") or match.group().count("\n") > 1:
        return False
    before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()].rstrip()
    after = text[match.end() : match.end() + 40]
    if (
        _ITEM.match(after)
        or _ROW.search(before[:ROW_CHARS])
        or before.endswith((":", ";", "：", "；"))
    ):
        return False
    return after[:1].islower() or len(before) >= FULL_LINE or bool(_UNENDED.search(before))


MIN_PROSE_WORDS = 4
"""Words of a sentence that says something; in scripts without spaces, as many characters twice."""

_PROSE_LETTERS = re.compile(r"[^\W\d_]")
_PROSE_WORDS = re.compile(r"[^\W\d_]{2,}")
_UNSPACED_LETTERS = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")
_PROSE_END = re.compile(r"[.!?。！？…:：][\"'”’»」』)\]*_]*$")


def says_something(line: str) -> bool:
    """Tell whether a line is a sentence, and no date, address or row of capitals."""
    letters = _PROSE_LETTERS.findall(line)
    words = len(_PROSE_WORDS.findall(line)) + len(_UNSPACED_LETTERS.findall(line)) // 2
    large = sum(letter.isupper() for letter in letters)
    prose = 2 * len(letters) > len(line) and 3 * large < len(letters)
    return words >= MIN_PROSE_WORDS and prose and line[0] != "(" and "___" not in line


def ends_as_sentence(line: str) -> bool:
    """Tell whether a line ends as sentences do."""
    return _PROSE_END.search(line) is not None


MIN_STOPPED_WORDS = 3
"""Words from which a full stop ends them all, and does not shorten the last."""


def ends_sentence(text: str) -> bool:
    """Tell whether several words end with a full stop: "Avg. qty." is an abbreviation."""
    return text.endswith("。") or (
        text.endswith(".") and len(text.split()) >= MIN_STOPPED_WORDS and not text[-2].isdigit()
    )
