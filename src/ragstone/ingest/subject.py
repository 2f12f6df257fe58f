"""What a document is about where its title does not say it: product, version, company, year.

It is read from the path, the metadata and the beginning of the text, and indexed with each chunk,
so that a passage of page 80 is found by the name that stands on page 1.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from ragstone.language.named import find_names

MAX_SUBJECT_CHARS = 120
"""Of a subject: it takes room in what the embedder reads."""

OPENING_CHARS = 1500
"""Of the text that are read: about a title page."""

KEYS = ("product", "version", "company", "organization", "organisation", "model", "year")
"""Names in the metadata whose values are a subject."""

_MEANINGLESS = re.compile(r"\d{7,}|(?<![^\W_])(?=[a-f]*\d)[0-9a-f]{8,}(?![^\W_])", re.IGNORECASE)
"""Counters, times and hashes in the names of files."""

_LEGAL = (
    r"Inc|Incorporated|Corp|Corporation|Ltd|Limited|LLC|PLC|plc|GmbH|AG|SE|KGaA|e\.V|S\.A|SAS|SARL|"
    r"S\.p\.A|S\.r\.l|B\.V|N\.V|Oy|AB|ASA|A/S|Pty"
)
_COMPANY = re.compile(
    rf"(?P<name>[A-Z][\w&.'’-]*(?:[ ][A-Z&][\w&.'’-]*){{0,4}})[ ]?,?[ ](?:{_LEGAL})\b",
    re.IGNORECASE,
)
_LEGAL_FORM = re.compile(rf"[ ](?:{_LEGAL})\b", re.IGNORECASE)
"""What a company's name ends in. Few texts have any, and to look for names takes a millisecond."""

_COMPANY_CHINESE = re.compile(r"[\u4e00-\u9fff]{2,20}(?:有限公司|株式会社|集团|集團)")
_YEAR = re.compile(
    r"(?:year\s+ended|fiscal\s+year|geschäftsjahr|exercice|ejercicio|esercizio)\D{0,20}"
    r"(?:\d{1,2}\D{1,12})?((?:19|20)\d\d)|((?:19|20)\d\d)\s*年{1,2}(?:度|报)",
    re.IGNORECASE,
)
_VERSION = re.compile(r"\b(?:version|release|revision|v\.?)\s?(\d+(?:\.\d+)+)", re.IGNORECASE)


def find_subject(title: str, path: str, metadata: Mapping[str, Any], opening: str) -> str:
    """Return the names that `title` lacks, at most MAX_SUBJECT_CHARS, most telling first; empty if
    there are none."""
    known = find_names(title)
    words, numbers = {*known.words, *known.years}, {item.number for item in known.numbered}
    parts: list[str] = []
    for part in (*_of_path(path), *_of_metadata(metadata), *_of_text(opening[:OPENING_CHARS])):
        own = find_names(part)
        fresh = {*own.words, *own.years} - words or {item.number for item in own.numbered} - numbers
        # Only what the title does not say: each chunk has the title before its text already.
        if fresh and len(" ".join((*parts, part))) <= MAX_SUBJECT_CHARS:
            parts.append(part)
            words |= {*own.words, *own.years}
            numbers |= {item.number for item in own.numbered}
    return " ".join(parts)


def _of_path(path: str) -> Iterator[str]:
    """Yield the file's name, and the folders that have a number."""
    *folders, file = path.strip("/").split("/")
    yield from _readable_name(PurePosixPath(file).stem)
    for folder in reversed(folders):
        own = find_names(folder)
        if own.numbered or own.years:
            yield from _readable_name(folder)


def _readable_name(name: str) -> Iterator[str]:
    if not _MEANINGLESS.search(name):
        yield re.sub(r"[\W_]*_[\W_]*|\s+|(?<=\D)-|-(?=\D)", " ", name).strip()


def _of_metadata(metadata: Mapping[str, Any]) -> Iterator[str]:
    for key in KEYS:
        value = metadata.get(key)
        if isinstance(value, str | int | float) and not isinstance(value, bool) and value:
            yield f"version {value}" if key == "version" else str(value)


def _of_text(opening: str) -> Iterator[str]:
    """Yield the first company, the year of the report, and the version."""
    company = _LEGAL_FORM.search(opening) and _COMPANY.search(opening)
    company = company or _COMPANY_CHINESE.search(opening)
    if company:
        yield company.groupdict().get("name") or company.group()
    if year := _YEAR.search(opening):
        yield year[1] or year[2]
    if version := _VERSION.search(opening):
        yield f"version {version[1]}"
