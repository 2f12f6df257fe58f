"""The list of sources at the end of an answer, for clients that show no annotations."""

import re
from collections.abc import Sequence

from ragstone.core.source import Source

_LINE = re.compile(r"- \\\[\d{1,3}\\\] \[")
_MARKUP = re.compile(r"([\\`*_\[\]<>|])")


def source_list(sources: Sequence[Source], addresses: Sequence[str]) -> str:
    """Return a line of Markdown for each source, behind an empty one; nothing without sources."""
    lines = [_line(source, url) for source, url in zip(sources, addresses, strict=True)]
    return "\n\n" + "\n".join(lines) if lines else ""


def without_source_list(text: str) -> str:
    """Return an answer as it was before its sources were listed: clients send it back whole."""
    said, _, end = text.rstrip("\n").rpartition("\n\n")
    lines = end.split("\n")
    listed = all(_LINE.match(line) and line.endswith(")") for line in lines)
    return said if listed else text


def _line(source: Source, url: str) -> str:
    name = " ".join((source.title or source.filename or source.path).split())
    printable = "".join(item for item in name if item.isprintable())
    page = f", p. {source.page}" if source.page else ""
    target = url.replace("(", "%28").replace(")", "%29").replace(" ", "%20")
    safe = _MARKUP.sub(r"\\\1", printable)
    return f"- \\[{source.number}\\] [{safe}{page}]({target})"
