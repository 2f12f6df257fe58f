"""Code inside a line of text: between backticks, as CommonMark has it.

Texts keep these marks, so that code stays exactly as it is on its way into an answer; what is
searched and embedded is without them.
"""

import re
from collections.abc import Iterator

LONGEST_SPAN = 500
"""Characters of code inside a line; after more, a backtick is one like any other."""

MAX_BACKTICKS = 8

CODE_SPAN = re.compile(r"(?<!`)(`{1,8})(?!`)[^\n]{1,500}?(?<!`)\1(?!`)")
_RUN = re.compile(r"`+")


def code_span(code: str) -> str:
    """Return the code with as many backticks around it as it needs; as it is where it is too long
    or has runs of all lengths."""
    code = code.replace("\n", " ")
    if not code.strip(" "):
        return code
    runs = {len(run) for run in _RUN.findall(code)}
    length = next((item for item in range(1, MAX_BACKTICKS + 1) if item not in runs), 0)
    padded = code[0] == "`" or code[-1] == "`" or code[0] == code[-1] == " "
    space = " " if padded else ""
    marks = "`" * length
    span = f"{marks}{space}{code}{space}{marks}"
    return span if length and len(span) <= LONGEST_SPAN else code


def span_marks(text: str, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
    """Yield where the marks of code spans stand in a part of a text, in order."""
    if "`" not in text:
        return
    for match in CODE_SPAN.finditer(text, start, len(text) if end is None else end):
        length = len(match[1])
        code = match[0][length:-length]
        if code[0] == code[-1] == " " and code.strip(" "):
            length += 1
        yield match.start(), match.start() + length
        yield match.end() - length, match.end()


def without_spans(text: str) -> str:
    """Return the text without the marks of its code spans."""
    return delete_spans(text, span_marks(text))


def delete_spans(text: str, cuts: Iterator[tuple[int, int]]) -> str:
    """Return the text without some stretches, which are in order."""
    parts, last = list[str](), 0
    for start, end in cuts:
        parts.append(text[last:start])
        last = end
    return "".join([*parts, text[last:]]) if last else text


def by_code(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the text in parts, each with whether it is a code span."""
    last = 0
    for match in CODE_SPAN.finditer(text) if "`" in text else ():
        if match.start() > last:
            yield text[last : match.start()], False
        yield match[0], True
        last = match.end()
    if last < len(text):
        yield text[last:], False
