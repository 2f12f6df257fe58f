"""What a page of a web site says of itself, and a sitemap of its pages."""

import os
import zlib
from collections.abc import Sequence
from email.message import Message
from io import BytesIO
from mimetypes import guess_extension
from urllib.parse import unquote, urljoin, urlsplit

from lxml import etree  # type: ignore[import-untyped]
from lxml import html as lxml_html

from ragstone.ingest.formats.types import list_endings
from ragstone.plugins.sources.site import AGENT, PAGE_TYPES, Site, is_utf8

MAX_LINKS = 10_000
"""Of a page."""

MAX_SITEMAP_BYTES, MAX_ENTRIES = 50 * 2**20, 50_000
"""Of a sitemap, as the protocol has it."""

_PAGE_ENDINGS = (".html", ".htm", ".xhtml")
_FEEDS = ("application/rss+xml", "application/atom+xml")


def parse_page(body: bytes, url: str, site: Site) -> tuple[list[str], str, set[str]]:
    """The links of a page to its site, where it says that it is, and what it asks of robots."""
    # Without it the parser goes by what the page says.
    encoding = "utf-8" if is_utf8(body) else None
    parser = lxml_html.HTMLParser(encoding=encoding, no_network=True, huge_tree=False)
    try:
        tree = lxml_html.document_fromstring(body, parser)
    except (etree.LxmlError, ValueError):
        return [], "", set()
    try:
        base = urljoin(url, next(iter(tree.xpath("//base/@href")), ""))
    except ValueError:
        base = url
    named, canonical, rules = [], "", set()
    for element in tree.iter("a", "area", "frame", "iframe", "link", "meta"):
        relation = (element.get("rel") or "").lower().split()
        content = element.get("content") or ""
        if element.tag == "link":
            if "canonical" in relation:
                canonical = canonical or element.get("href") or ""
        elif element.tag == "meta":
            if (element.get("name") or "").lower() in ("robots", AGENT):
                rules |= robots_rules([content])
            elif (element.get("http-equiv") or "").lower() == "refresh":
                named.append(content.partition("=")[2].strip("'\" "))
        elif "nofollow" not in relation:
            named.append(element.get("href") or element.get("src") or "")
    links = (site.locate(address, base) for address in named[:MAX_LINKS] if address)
    found = list(dict.fromkeys(link for link in links if link))
    return found, (site.locate(canonical, base) or "") if canonical else "", rules


def robots_rules(values: Sequence[str]) -> set[str]:
    """Which of `noindex` and `nofollow` are among what robots are told; other robots are not us."""
    rules = set()
    for value in values:
        agent, colon, rest = value.lower().partition(":")
        if not colon or agent.strip() == AGENT:
            rules |= {word.strip() for word in (rest if colon else agent).split(",")}
    return rules | ({"noindex", "nofollow"} if "none" in rules else set())


def parse_sitemap(body: bytes) -> tuple[list[tuple[str, str, str]], bool]:
    """Return the entries of a sitemap: `url` or `sitemap`, the address, and when it was changed;
    and whether it could be read to its end."""
    if body.startswith(b"\x1f\x8b"):
        unpacker = zlib.decompressobj(31)
        try:
            body = unpacker.decompress(body, MAX_SITEMAP_BYTES)
        except zlib.error:
            return [], False
    entries: list[tuple[str, str, str]] = []
    try:
        events = etree.iterparse(
            BytesIO(body),
            tag=("{*}url", "{*}sitemap"),
            resolve_entities=False,
            load_dtd=False,
            no_network=True,
            huge_tree=False,
        )
        for _, element in events:
            if address := (element.findtext("{*}loc") or "").strip():
                changed = (element.findtext("{*}lastmod") or "").strip()
                entries.append((etree.QName(element).localname, address, changed))
            element.clear()
            while element.getprevious() is not None:
                del element.getparent()[0]
            if len(entries) >= MAX_ENTRIES:
                break
    except etree.LxmlError:
        return entries, False
    return entries, True


def choose_ending(url: str, media: str, disposition: str) -> str:
    """Return the ending that the document of an address has, empty where nothing reads it."""
    message = Message()
    message["content-disposition"] = disposition
    own = os.path.splitext(urlsplit(url).path)[1].lower()
    if media in PAGE_TYPES:
        return own if own in _PAGE_ENDINGS else _PAGE_ENDINGS[0]
    if media in _FEEDS:
        return ""
    endings = list_endings()
    saved = os.path.splitext(message.get_filename() or "")[1].lower()
    guessed = guess_extension(media) or ""
    usable = (end for end in (own, saved, guessed) if end in endings and end not in _PAGE_ENDINGS)
    return next(usable, "")


def is_download(url: str) -> bool:
    ending = os.path.splitext(urlsplit(url).path)[1].lower()
    return ending in list_endings() and ending not in _PAGE_ENDINGS


def name_path(url: str, ending: str) -> str:
    """Return the place of a document below the source's folder: its address as people read it."""
    parts = urlsplit(url)
    names = [_write_plain(name) for name in parts.path.split("/") if name]
    if parts.path.endswith("/"):
        names.append("index")
    path = "/".join(names)
    if parts.query:
        path += f"?{_write_plain(parts.query.replace('/', '%2F'))}"
    return path if path.lower().endswith(ending) else path + ending


def _write_plain(name: str) -> str:
    """Return a part of an address without its percent signs, where that makes a name."""
    plain = unquote(name, errors="replace")
    fits = plain.isprintable() and "/" not in plain and "\ufffd" not in plain
    return plain if fits and plain.strip(".") else name
