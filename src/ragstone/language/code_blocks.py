"""Fences: blocks of code as CommonMark has them, code spans, and tags around what others wrote."""

import re
from collections.abc import Iterator

from ragstone.core.code_spans import CODE_SPAN, LONGEST_SPAN

_FENCE = re.compile(r"^ *(`{3,}|~{3,})([^`\n]*)$", re.MULTILINE)
_INDENT = 3
"""Spaces before a fence that begins a block; more make a line of code of it."""
_LETTER = re.compile(r"\S")
_RUN = re.compile(r"`+")
_PROSE = frozenset({"markdown", "md"})
"""Languages of a fence that some models put around an answer; what is in it is the answer."""


def find_fenced_blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each fenced block begins and ends, its fences included; one that is never closed
    goes to the end."""
    if "```" not in text and "~~~" not in text:
        return
    opened: re.Match[str] | None = None
    for match in _FENCE.finditer(text):
        if opened is None:
            opened = match if match.start(1) - match.start() <= _INDENT else None
        elif _closes(opened[1], match):
            if is_code(opened[2]):
                yield opened.start(), match.end()
            opened = None
    if opened is not None and is_code(opened[2]):
        yield opened.start(), len(text)


def mask_code(text: str) -> str:
    """The text with letters in the place of code, so that nothing in it is a marker or a link."""
    if "`" not in text and "~~~" not in text:
        return text
    parts, last = [], 0
    for start, end in find_fenced_blocks(text):
        parts += [CODE_SPAN.sub(_letters, text[last:start]), _LETTER.sub("x", text[start:end])]
        last = end
    return "".join([*parts, CODE_SPAN.sub(_letters, text[last:])])


def _letters(match: re.Match[str]) -> str:
    return "x" * len(match[0])


def is_code(info: str) -> bool:
    """Tell whether a fence with these words behind it is around code."""
    return info.strip().casefold() not in _PROSE


def ends_fence(opening: str, line: str) -> bool:
    """Tell whether a line ends the block that the fence `opening` began."""
    match = _FENCE.fullmatch(line.rstrip("\n"))
    return match is not None and _closes(opening, match)


def _closes(opening: str, match: re.Match[str]) -> bool:
    return match[1].startswith(opening) and not match[2].strip()


def block_code(block: str) -> str:
    """Return the code of a fenced block."""
    lines = block.strip("\n").split("\n")
    ends = len(lines) > 1 and _FENCE.fullmatch(lines[-1]) is not None
    return "\n".join(lines[1 : len(lines) - ends])


def fence_around(code: str, language: str = "") -> str:
    """Return the code as a fenced block that nothing in it can close."""
    longest = max((len(run) for run in _RUN.findall(code)), default=0)
    fence = "`" * max(3, longest + 1)
    name = language if re.fullmatch(r"[\w+#.-]{1,30}", language) else ""
    return f"{fence}{name}\n{code}\n{fence}"


def span_end(text: str, start: int, final: bool) -> int | None:
    """Return the end of the code span that the backticks at `start` begin: `start` if they begin
    none, None if more has to be seen to know that."""
    run = _RUN.match(text, start)
    if run is None:
        return start
    for match in _RUN.finditer(text, run.end(), start + LONGEST_SPAN):
        if "\n" in text[run.end() : match.start()]:
            return start
        if len(match[0]) == len(run[0]) and (final or match.end() < len(text)):
            return match.end()
    whole = final or "\n" in text[run.end() : start + LONGEST_SPAN]
    return start if whole or len(text) - start >= LONGEST_SPAN else None


TOOL_OUTPUT = "tool_output"


def fence_text(name: str, text: str, tool: str = "") -> str:
    """Put `text` between <name> and </name>, so that a chat model tells it from orders.

    Args:
        name: The tag, in small letters.
        text: What somebody else wrote; a tag of that name inside it is made harmless.
        tool: The tool that returned it, empty for none.
    """
    # Models also take "< / name >" for the end.
    like = re.compile(rf"<(?=\s{{0,9}}/?\s{{0,9}}{re.escape(name)}\b)", re.IGNORECASE)
    by = f' tool="{tool}"' if tool else ""
    return f"<{name}{by}>\n{like.sub('‹', text)}\n</{name}>"
