"""The list of cited sources below an answer: as Markdown, HTML or plain text."""

import html
import re
from collections.abc import Sequence
from typing import Literal

from ragstone.core.source import Source

_MARKER = re.compile(r"\[([1-9]\d{0,2})\]")
_BEGUN = re.compile(r"\[(?:[1-9]\d{0,2})?\Z")


def spell_out_markers(text: str) -> str:
    """Return the text with every `[n]` as `[Source n]`."""
    return _MARKER.sub(r"[Source \1]", text)


class SpeltOut:
    """The same for a text that comes in pieces, which may cut a marker."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """Return the text that can be sent now: all but the beginning of a marker at the end."""
        text = self._held + piece
        begun = _BEGUN.search(text)
        end = begun.start() if begun else len(text)
        self._held = text[end:]
        return spell_out_markers(text[:end])

    def end(self) -> str:
        """Return the text that was held back."""
        held, self._held = self._held, ""
        return held


ListFormat = Literal["markdown", "html", "plain"]

_WEB = re.compile(r"https?://[^\s<>\"'()]+", re.IGNORECASE)
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|])")


def citation_list(sources: Sequence[Source], form: ListFormat = "markdown") -> str:
    """Return one line for every source; only addresses of the web become links."""
    lines = [_LINES[form](source) for source in sources]
    return f"<ol>{''.join(lines)}</ol>" if form == "html" else "\n".join(lines)


def _markdown(source: Source) -> str:
    url = _url(source)
    link = f" - [View]({url})" if url else ""
    name = _MARKDOWN.sub(r"\\\1", _name(source))
    return f"**[{source.number}]** {name}{link}"


def _html(source: Source) -> str:
    url = html.escape(_url(source), quote=True)
    link = f' <a href="{url}">View</a>' if url else ""
    return f'<li value="{source.number}">{html.escape(_name(source))}{link}</li>'


def _plain_text(source: Source) -> str:
    return f"[{source.number}] {_name(source)}"


def _url(source: Source) -> str:
    """Return the address, if no character of it could end the link."""
    return source.url if source.url and _WEB.fullmatch(source.url) else ""


def _name(source: Source) -> str:
    """Return what a reader calls the source: its file or title, and the page."""
    name = " ".join((source.title or source.filename).split())
    return f"{name} (Page {source.page})" if source.page else name


_LINES = {"markdown": _markdown, "html": _html, "plain": _plain_text}
