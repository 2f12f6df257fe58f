"""Reading EPUB books."""

import zipfile
from pathlib import Path

import pytest

from ragstone.core.errors import (
    ArchiveBomb,
    EmptyDocument,
    EncryptedDocument,
    UnreadableDocument,
    WrongType,
)
from ragstone.ingest.document import Block
from ragstone.ingest.parse import parse
from ragstone.plugins.formats.epub import parse_epub
from ragstone.settings import IngestSettings

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OPS/book.opf"/></rootfiles></container>'
)
PACKAGE = """<package xmlns="http://www.idpf.org/2007/opf"><metadata
 xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The &amp; book</dc:title>
<dc:creator>Ann</dc:creator><dc:language>en</dc:language><dc:subject>doors</dc:subject>
<dc:date>2024-03-01</dc:date></metadata><manifest>
<item id="n" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>
<item id="b" href="two%20b.xhtml" media-type="application/xhtml+xml"/>
<item id="a" href="text/a.xhtml" media-type="application/xhtml+xml"/>
<item id="x" href="gone.xhtml" media-type="application/xhtml+xml"/></manifest>
<spine><itemref idref="n"/><itemref idref="b"/><itemref idref="a"/><itemref idref="x"/></spine>
</package>"""
PAGE = (
    '<?xml version="1.0" encoding="utf-8"?><html><head><title>x</title></head>'
    "<body>{}</body></html>"
)


def book(folder: Path, **changes: str | bytes) -> Path:
    files = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": CONTAINER,
        "OPS/book.opf": PACKAGE,
        "OPS/nav.xhtml": PAGE.format("<p>Contents</p>"),
        "OPS/two b.xhtml": PAGE.format("<h1>One</h1><p>Größe &amp; <b>more</b>.</p>"),
        "OPS/text/a.xhtml": PAGE.format("<h1>Two</h1><ol><li>First</li></ol>"),
        **changes,
    }
    path = folder / "a.epub"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name, data in files.items():
            target.writestr(name, data)
    return path


def test_given_a_book_when_read_then_its_chapters_come_in_order_without_pages(
    tmp_path: Path,
) -> None:
    parsed = parse(book(tmp_path), IngestSettings())
    assert (parsed.title, parsed.pages) == ("The & book", None)
    assert parsed.metadata == {
        "author": "Ann",
        "language": "en",
        "keywords": ["doors"],
        "created": "2024-03-01",
    }
    assert list(parsed.blocks) == [
        Block("One", "heading", 1),
        Block("Größe & more."),
        Block("Two", "heading", 1),
        Block("1. First", "item", 1, label="1."),
    ]


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"META-INF/container.xml": "<container/>"}, UnreadableDocument),
        ({"META-INF/container.xml": ""}, UnreadableDocument),
        ({"OPS/book.opf": "<package/>"}, EmptyDocument),
        ({"META-INF/rights.xml": "<x/>"}, EncryptedDocument),
    ],
)
def test_given_a_book_that_cannot_be_read_when_read_then_it_says_why(
    tmp_path: Path, changes: dict[str, str], error: type[Exception]
) -> None:
    with pytest.raises(error):
        list(parse(book(tmp_path, **changes), IngestSettings()).blocks)


def pack_in_folder(source: Path, folder: str) -> Path:
    path = source.with_name("packed again.epub")
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            new.writestr(f"{folder}/{name}", old.read(name))
    return path


def test_given_a_book_whose_folder_was_packed_when_read_then_it_is_the_same_book(
    tmp_path: Path,
) -> None:
    plain = book(tmp_path)

    packed = parse(pack_in_folder(plain, "The book"), IngestSettings())

    expected = parse(plain, IngestSettings())
    assert packed.title == expected.title
    assert list(packed.blocks) == list(expected.blocks)


def test_given_a_protected_book_whose_folder_was_packed_when_read_then_it_is_protected(
    tmp_path: Path,
) -> None:
    plain = book(tmp_path, **{"META-INF/rights.xml": "<rights/>"})

    with pytest.raises(EncryptedDocument):
        parse(pack_in_folder(plain, "book"), IngestSettings())


def test_given_another_archive_when_read_then_it_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.epub", "w") as target:
        target.writestr("a.txt", "x")
    with pytest.raises(WrongType, match="another ZIP archive"):
        parse(tmp_path / "a.epub", IngestSettings())


def test_given_half_a_book_when_read_then_it_is_damaged(tmp_path: Path) -> None:
    path = book(tmp_path)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(UnreadableDocument, match="damaged"):
        parse(path, IngestSettings())


def test_given_chapters_that_grow_when_read_then_they_are_not_unpacked(tmp_path: Path) -> None:
    path = book(tmp_path, **{"OPS/two b.xhtml": b"<p>" + b"a" * (3 << 20)})
    with pytest.raises(ArchiveBomb):
        list(parse_epub(path, ".epub", 1 << 20).blocks)
