"""Citation markers in an answer: [1], [1, 2], [Source 1], 【1】, [来源1]."""

import re
from collections.abc import Callable, Sequence

from ragstone.text.sentences import Span, sentences

_MARKER = re.compile(
    r"\s*(?:\[|【)\s*(?:sources?|quellen?|来源|출처)?\s*:?\s*"
    r"(\d{1,4}(?:\s*[,;、]\s*\d{1,4})*)\s*(?:\]|】)",
    re.IGNORECASE,
)


def numbers(text: str) -> list[int]:
    """Every cited number in order of first appearance."""
    found = [n for match in _MARKER.finditer(text) for n in _numbers(match)]
    return list(dict.fromkeys(found))


def normalised(text: str, valid: Callable[[int], bool]) -> str:
    """The text with every marker as ` [n]`, without those that `valid` refuses."""

    def replace(match: re.Match[str]) -> str:
        kept = [n for n in _numbers(match) if valid(n)]
        space = " " if kept and match.start() else ""
        return space + "".join(f"[{n}]" for n in kept)

    return _MARKER.sub(replace, text)


def cited_sentences(text: str) -> list[tuple[str, list[int]]]:
    """Each sentence without markers, with the numbers it cites: those in it or right after it."""
    result: list[tuple[str, list[int]]] = []
    for span in _whole(text, sentences(text)):
        sentence = text[span.start : span.end]
        bare = _MARKER.sub("", sentence).strip()
        cited = numbers(sentence)
        if bare.strip(" .。") or not result:
            result.append((bare, cited))
        else:
            result[-1] = (result[-1][0], [*result[-1][1], *cited])
    return result


def _whole(text: str, spans: Sequence[Span]) -> list[Span]:
    """Sentences, with markers that follow the full stop moved into the sentence before."""
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


def neutral(text: str) -> str:
    """A document's text with brackets around numbers made round, so that none is a marker."""
    return _MARKER.sub(lambda m: m.group().translate(str.maketrans("[]【】", "()()")), text)


def _numbers(match: re.Match[str]) -> list[int]:
    return [int(n) for n in re.findall(r"\d+", match.group(1))]
