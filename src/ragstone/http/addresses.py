"""Where people read the sources of an answer: an address of its own for each.

The list of sources at the end of an answer, for clients that show no annotations.
"""

import re
from collections.abc import Sequence
from urllib.parse import quote

from fastapi import Request

from ragstone.core.source import Source
from ragstone.settings.server import ServerSettings

QUOTED_WORDS = 8
"""Words of a snippet by which a browser finds the place on a web page."""


def base_address(request: Request, settings: ServerSettings) -> str:
    """Return the server's own address as its clients know it, without a slash at the end."""
    return settings.public_address or str(request.base_url).rstrip("/")


def source_addresses(sources: Sequence[Source], collection: str, base: str) -> list[str]:
    """Return the address of each source, no two of them equal: some clients take the n-th different
    address for source n. A document of the web has its own, at the page or words that are cited;
    every other one opens in the web app, at the sentence that is cited."""
    found: list[str] = []
    for source in sources:
        candidates = [*_on_the_web(source), _in_the_app(source, collection, base)]
        fresh = next((candidate for candidate in candidates if candidate not in found), None)
        found.append(fresh or f"{candidates[-1]}/{len(found) + 1}")
    return found


def _on_the_web(source: Source) -> list[str]:
    url = source.url
    if url is None:
        return []
    if source.page and "#" not in url and url.lower().partition("?")[0].endswith(".pdf"):
        return [f"{url}#page={source.page}"]
    words = " ".join(source.snippet.split()[:QUOTED_WORDS])
    # A dash or a comma would divide the words into parts that mean something.
    said = quote(words, safe="").replace("-", "%2D")
    return [url, f"{url}{'' if '#' in url else '#'}:~:text={said}"] if words else [url]


def _in_the_app(source: Source, collection: str, base: str) -> str:
    page = f"/page={source.page}" if source.page else ""
    place = f"{source.start}-{source.end}"
    document = f"{quote(collection, safe='')}/{quote(source.document_id, safe='')}"
    return f"{base}/#/documents/{document}/{place}{page}"


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
