"""Whether an output is the one that the documentation shows."""

import re

_PART = re.compile(
    r"(?P<rest>\.\.\.)"
    r"|(?P<day>\d{4}-\d\d-\d\d)"
    r"|(?P<clock>\d\d:\d\d(?::\d\d)?)"
    r"|(?P<id>\b(?:[0-9a-f]{32}|[0-9a-f]{16})\b)"
    r"|(?P<time>\d[\d,.]*(?= ?(?:s|ms|seconds|minutes|MB|KB|pages/s|chunks/s)\b))"
    r"|(?P<likelihood>(?<=\()\.\d\d(?=\)))"
    r"|(?P<gap> +)"
)
_MEANS = {
    "rest": ".*",
    "day": r"\d{4}-\d\d-\d\d",
    "clock": r"\d\d:\d\d(?::\d\d)?",
    "id": r"[0-9a-f]+",
    "time": r"\d[\d,.]*",
    "likelihood": r"\.\d\d",
    "gap": " +",
}


def fits(shown: str, written: str) -> bool:
    """Whether they are equal but for times, sizes, dates, ids, the width of gaps and likelihoods in
    brackets, whose last digit is another on another processor.

    `...` in a line stands for anything, and as a line for any number of lines.
    """
    lines = [line.rstrip() for line in shown.strip("\n").splitlines()]
    pattern = "".join(r"(?:.*\n)*?" if line == "..." else f"{_line(line)}\n" for line in lines)
    text = "".join(f"{line.rstrip()}\n" for line in written.strip("\n").splitlines())
    return re.fullmatch(pattern, text) is not None


def _line(line: str) -> str:
    made, end = "", 0
    for part in _PART.finditer(line):
        made += re.escape(line[end : part.start()]) + _MEANS[str(part.lastgroup)]
        end = part.end()
    return made + re.escape(line[end:])
