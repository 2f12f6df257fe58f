"""Citation markers in an answer: [1], [1, 2], [1-3], [^1], [Source 1, Source 2], 【1】, [来源1],
(Source 1)."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from ragstone.core.code_spans import CODE_SPAN
from ragstone.language.code_blocks import mask_code
from ragstone.language.sentences import Span, sentences

MAX_RANGE = 20
"""A range of more numbers than this is none: [1990-2020] are years."""

# Space is bounded everywhere: text with long gaps must not cost the square of its length.
_NAMES = ("sources", "quellen", "fuentes", "источники", "来源", "來源", "出典", "출처")
_NAMED = r"(?:sources?|quellen?|fuentes?|источники?|来源|來源|出典|출처)\s{0,3}(?::\s{0,3})?"
_LABEL = rf"(?:{_NAMED})?"
_ITEM = rf"{_LABEL}[#^]?\d{{1,4}}(?:\s?[-–]\s?\d{{1,4}})?"
# The 3 of \sqrt[3]{x} is the degree of a root.
_MORE = rf"(?:\s{{0,3}}(?:[,;、，&]|and|und|et|y|和)\s{{0,3}}{_ITEM})*+"
_MARKER = re.compile(
    rf"(?<!\\sqrt)\s{{0,3}}(?:[\[【［]\s{{0,3}}({_ITEM}{_MORE})\s{{0,3}}[\]】］]"
    rf"|[(（]\s{{0,3}}({_NAMED}{_ITEM}{_MORE})\s{{0,3}}[)）])",
    re.IGNORECASE,
)
_PLAIN_MARKER = re.compile(r"\[(\d{1,3})\]")
OPENING_BRACKETS = "[【［(（"
_BEGUN = re.compile(r"[\[【［][\w\s:#^,;、，&–-]*")
_BEGUN_ROUND = re.compile(rf"[(（]\s{{0,3}}{_NAMED}[\w\s:#^,;、，&–-]*", re.IGNORECASE)
MAX_NUMBER = 999
"""No answer has so many sources: [1990] is a year."""

_NUMBERS = re.compile(r"(\d+)(?:\s?[-–]\s?(\d+))?")
_ROUND = str.maketrans("[]【】［］", "()()()")
_ANGLED = str.maketrans("[]【】［］()（）", "‹›‹›‹›‹›‹›")


def citation_numbers(text: str) -> list[int]:
    """Return every cited number in order of first appearance; code cites nothing."""
    found = [n for match in _MARKER.finditer(mask_code(text)) for n in _numbers(match)]
    return list(dict.fromkeys(found))


def find_markers(text: str, start: int = 0) -> Iterator[re.Match[str]]:
    """Return the markers `[n]` behind `start` that are not code; group 1 is the number."""
    return _PLAIN_MARKER.finditer(mask_code(text), start)


def match_marker(text: str) -> tuple[list[int], int] | None:
    """Return the numbers that a marker at the very beginning of `text` cites, and its length; None
    if there is no marker."""
    match = _MARKER.match(text)
    if match is None:
        return None
    cited = _numbers(match)
    return (list(dict.fromkeys(cited)), match.end()) if max(cited) <= MAX_NUMBER else None


def may_be_marker(tail: str) -> bool:
    """Tell whether `tail` is the beginning of a marker, or nearly that."""
    if tail[:1] in "(（":
        name = tail[1:].lstrip().casefold()
        named = any(item.startswith(name) for item in _NAMES)
        return named or _BEGUN_ROUND.fullmatch(tail) is not None
    return _BEGUN.fullmatch(tail) is not None


def renumber_markers(text: str, new: Mapping[int, int]) -> str:
    """The text with every marker as ` [n]` of the new number, without those that have none."""

    def replace(match: re.Match[str]) -> str:
        kept = dict.fromkeys(new[n] for n in _numbers(match) if n in new)
        space = " " if kept and match.start() else ""
        return space + "".join(f"[{n}]" for n in kept)

    return _MARKER.sub(replace, text)


def normalise_markers(text: str, valid: Callable[[int], bool]) -> str:
    """Return the text with every marker as ` [n]`, without those that `valid` refuses."""

    def replace(match: re.Match[str]) -> str:
        kept = [n for n in _numbers(match) if valid(n)]
        space = " " if kept and match.start() else ""
        return space + "".join(f"[{n}]" for n in kept)

    return _MARKER.sub(replace, text)


def strip_markers(text: str) -> str:
    """Return the text without markers."""
    parts, last = [], 0
    for match in _MARKER.finditer(mask_code(text)):
        parts.append(text[last : match.start()])
        last = match.end()
    return "".join([*parts, text[last:]]).strip()


def sentences_with_citations(text: str) -> list[tuple[str, list[int]]]:
    """Each sentence without markers, with the numbers it cites: those in it or right after it."""
    return [
        (strip_markers(text[span.start : span.end]), cited)
        for span, cited in find_cited_spans(text)
    ]


def find_cited_spans(text: str) -> list[tuple[Span, list[int]]]:
    """Return each sentence's place, its markers included, with the numbers it cites."""
    result: list[tuple[Span, list[int]]] = []
    for span in _attach_markers(text, sentences(text)):
        sentence = text[span.start : span.end]
        cited = citation_numbers(sentence)
        if strip_markers(sentence).strip(" .。") or not result:
            result.append((span, cited))
        else:
            last, before = result[-1]
            result[-1] = (Span(last.start, span.end), [*before, *cited])
    return result


def _attach_markers(text: str, spans: Sequence[Span]) -> list[Span]:
    """Return sentences, with markers that follow the full stop moved into the sentence before."""
    moved: list[Span] = []
    for span in spans:
        lead = _MARKER.match(text, span.start)
        if lead and moved and lead.end() <= span.end:
            end = lead.end()
            while (more := _MARKER.match(text, end)) and more.end() <= span.end:
                end = more.end()
            moved[-1] = Span(moved[-1].start, end)
            span = Span(end, span.end)
        if text[span.start : span.end].strip():
            moved.append(span)
    return moved


def neutralize_markers(text: str) -> str:
    """Return a document's text with brackets around numbers made round, and those around named
    sources angled, so that none is a marker; those in code spans are none."""
    parts, last = list[str](), 0
    for match in _MARKER.finditer(CODE_SPAN.sub(lambda code: "x" * len(code[0]), text)):
        marker = text[match.start() : match.end()]
        named = re.search(_NAMED, marker, re.IGNORECASE)
        parts += [text[last : match.start()], marker.translate(_ANGLED if named else _ROUND)]
        last = match.end()
    return "".join([*parts, text[last:]])


def _numbers(match: re.Match[str]) -> list[int]:
    found: list[int] = []
    for first, last in _NUMBERS.findall(match[1] or match[2]):
        low, high = int(first), int(last or first)
        found += range(low, high + 1) if 0 <= high - low < MAX_RANGE else (low, high)
    return found
