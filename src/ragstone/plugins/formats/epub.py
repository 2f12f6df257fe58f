"""EPUB books: the chapters in reading order, each read as a page of HTML."""

import posixpath
import zipfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from lxml import etree  # type: ignore[import-untyped]

from ragstone.core.errors import EncryptedDocument, UnreadableDocument, WrongType
from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.embedded import Pictures, read_package_picture, read_package_pictures
from ragstone.ingest.formats.html import page_blocks
from ragstone.ingest.formats.metadata import flatten_values
from ragstone.ingest.formats.package import bomb_error, open_archive, unpack_entry
from ragstone.ingest.formats.page_pictures import Signs, resolve_in_book
from ragstone.ingest.formats.types import ZIP, Format

_CONTAINER = "META-INF/container.xml"

_FACTS = {
    "creator": "author",
    "language": "language",
    "publisher": "publisher",
    "description": "description",
    "subject": "keywords",
    "date": "created",
    "identifier": "identifier",
}


def parse_epub(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Return the chapters of a book, one in memory at a time; its pages are not known.

    Raises UnreadableDocument, WrongType, EncryptedDocument or ArchiveBomb.
    """
    with open_archive(path, None) as book:
        folder = _find_folder(path, book.namelist())
        package = _package_name(path, book, folder, max_bytes)
        tree = _xml(path, _member(path, book, package, max_bytes))
        chapters = _chapters(tree, posixpath.dirname(package), set(book.namelist()))
    facts = _facts(tree)
    title = str(facts.pop("title", ""))
    pictures = read_package_pictures(path, None, anywhere=True)
    return Parsed(
        title,
        _blocks(path, chapters, max_bytes, pictures),
        metadata=flatten_values(facts) | pictures.metadata,
        recognised=pictures.recognition_count,
        notes=pictures.notes,
        last_notes=pictures.last_notes,
    )


def _blocks(path: Path, chapters: list[str], max_bytes: int, pictures: Pictures) -> Iterator[Block]:
    room = max_bytes
    with open_archive(path, None) as book:
        for name in chapters:
            data = _member(path, book, name, room)
            room -= len(data)
            signs = Signs(pictures)
            blocks = page_blocks(data, partial(signs.put, named=partial(resolve_in_book, name)))
            yield from signs.replace_signs(blocks)


def _find_folder(path: Path, names: Sequence[str]) -> str:
    """Return the folder that holds the book, "" or "name/": who packs an unpacked book again often
    packs the folder that it is in."""
    tops = {name.partition("/")[0] for name in names}
    folder = f"{tops.pop()}/" if len(tops) == 1 else ""
    folder = folder if f"{folder}{_CONTAINER}" in names else ""
    if f"{folder}META-INF/rights.xml" in names:
        raise EncryptedDocument(f"{path.name} is protected against copying.")
    if f"{folder}{_CONTAINER}" not in names:
        raise WrongType(f"{path.name} ends in .epub, but by its content it is another ZIP archive.")
    return folder


def _member(path: Path, book: zipfile.ZipFile, name: str, room: int) -> bytes:
    data = unpack_entry(book, book.getinfo(name), room)
    if data is None:
        raise bomb_error(path, room)
    return data


def _package_name(path: Path, book: zipfile.ZipFile, folder: str, max_bytes: int) -> str:
    container = _xml(path, _member(path, book, f"{folder}{_CONTAINER}", max_bytes))
    names = container.xpath("//*[local-name()='rootfile']/@full-path")
    if not names or f"{folder}{names[0]}" not in book.namelist():
        raise _damage_error(path)
    return f"{folder}{names[0]}"


def _xml(path: Path, data: bytes) -> Any:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
    try:
        tree = etree.fromstring(data, parser)
    except etree.LxmlError as error:
        raise _damage_error(path) from error
    if tree is None:
        raise _damage_error(path)
    return tree


def _chapters(package: Any, folder: str, known: set[str]) -> list[str]:
    """Return the names of the chapters in reading order, without the table of contents."""
    items = {item.get("id"): item for item in package.xpath("//*[local-name()='item']")}
    names = []
    for reference in package.xpath("//*[local-name()='itemref']"):
        item = items.get(reference.get("idref"))
        if item is None or "nav" in (item.get("properties") or "").split():
            continue
        name = posixpath.normpath(posixpath.join(folder, unquote(item.get("href") or "")))
        if name in known and "html" in (item.get("media-type") or "html"):
            names.append(name)
    return list(dict.fromkeys(names))


def _facts(package: Any) -> dict[str, Any]:
    """Title, author, language and the like; several authors are a list."""
    facts: dict[str, Any] = {}
    for element in package.xpath("//*[local-name()='metadata']/*"):
        name = etree.QName(element).localname
        value = " ".join("".join(element.itertext()).split())
        if not value:
            continue
        if name == "title":
            facts.setdefault("title", value)
        elif name == "meta" and element.get("property") == "dcterms:modified":
            facts["modified"] = value
        elif known := _FACTS.get(name):
            facts.setdefault(known, []).append(value)
    single = {
        key: value[0] for key, value in facts.items() if isinstance(value, list) and len(value) == 1
    }
    return {**facts, **{key: value for key, value in single.items() if key != "keywords"}}


def _damage_error(path: Path) -> UnreadableDocument:
    return UnreadableDocument(f"{path.name} is damaged or incomplete: it is not a whole EPUB book.")


EPUB = Format("application/epub+zip", parse_epub, magic=ZIP, picture=read_package_picture)
