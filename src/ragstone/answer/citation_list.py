"""The list of cited sources below an answer: as Markdown, HTML or plain text."""

import html
import re
from collections.abc import Sequence
from typing import Literal

from ragstone.core.answer import Citation

ListFormat = Literal["markdown", "html", "plain"]

_WEB = re.compile(r"https?://[^\s<>\"'()]+", re.IGNORECASE)
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|])")


def citation_list(citations: Sequence[Citation], form: ListFormat = "markdown") -> str:
    """One line for every source, by its number; only addresses of the web become links."""
    first = {citation.number: citation for citation in reversed(citations)}
    lines = [_LINES[form](first[number]) for number in sorted(first)]
    return f"<ol>{''.join(lines)}</ol>" if form == "html" else "\n".join(lines)


def _markdown(citation: Citation) -> str:
    link = f" - [View]({citation.path})" if _WEB.fullmatch(citation.path) else ""
    name = _MARKDOWN.sub(r"\\\1", _name(citation))
    return f"**[{citation.number}]** {name}{link}"


def _html(citation: Citation) -> str:
    place = html.escape(citation.path, quote=True)
    link = f' <a href="{place}">View</a>' if _WEB.fullmatch(citation.path) else ""
    return f'<li value="{citation.number}">{html.escape(_name(citation))}{link}</li>'


def _plain(citation: Citation) -> str:
    return f"[{citation.number}] {_name(citation)}"


def _name(citation: Citation) -> str:
    """What a reader calls the source: its file or title, and the page."""
    name = " ".join((citation.title or citation.path.rpartition("/")[2]).split())
    return f"{name} (Page {citation.page})" if citation.page else name


_LINES = {"markdown": _markdown, "html": _html, "plain": _plain}
