"""`ragstone document show`: what was read, for a person."""

from dataclasses import replace

from ragstone.cli.document import page, tree
from ragstone.core.document import BlockSpan, Place
from ragstone.core.records import Document
from ragstone.service.reading import ChunkPlace, DocumentText

TEXT = "Sizes\n\nSee:\n\n1. Small\n2. <b>Large\n\nName: A & B; Days: 12\n\nls -l\n  x"
BLOCKS = (
    BlockSpan("heading", 0, 5, 1, "", (Place(0, 1),)),
    BlockSpan("paragraph", 7, 11, 0, "", (Place(7, 1),)),
    BlockSpan("item", 13, 21, 1, "1.", (Place(13, 2),)),
    BlockSpan("item", 22, 33, 1, "2.", (Place(22, 2),)),
    BlockSpan("table", 35, 56, 0, "In days", (Place(35, 2),)),
    BlockSpan("code", 58, 67, 0, "sh", (Place(58, 2),)),
)
FOUND = DocumentText(
    Document("d", "default", "notes", "/a.md", title="A <title>", pages=2, media_type="text/x"),
    TEXT,
    0,
    len(TEXT),
    BLOCKS,
    (ChunkPlace("c0", 0, 33, 1, "normal", "en"), ChunkPlace("c1", 35, 67, 2, "table", "")),
)


def test_the_tree_shows_blocks_below_headings_with_chunks_and_pages() -> None:
    assert list(tree(FOUND))[2:] == [
        "── chunk 0, page 1, normal, en",
        "══ page 1",
        "[heading] Sizes",
        "  [paragraph] See:",
        "══ page 2",
        "  [item (1.)] 1. Small",
        "  [item (2.)] 2. <b>Large",
        "── chunk 1, page 2, table, language unknown",
        "  [table (In days)] Name: A & B; Days: 12",
        "  [code (sh)] ls -l",
        "        x",
    ]


def test_the_page_shows_text_of_documents_as_text() -> None:
    shown = "\n".join(page(FOUND))
    assert "<b>Large" not in shown
    assert "2. &lt;b&gt;Large" in shown
    assert "<td>Name: A &amp; B</td><td>Days: 12</td>" in shown
    assert "<title>A &lt;title&gt;</title>" in shown
    assert "http" not in shown


def test_what_was_left_out_is_told_before_the_text() -> None:
    note = 'Hidden text is left out: "<i>secret</i>".'
    found = replace(FOUND, document=replace(FOUND.document, left_out=(note,)))

    assert list(tree(found))[2] == note
    assert "&lt;i&gt;secret" in "\n".join(page(found))


def test_a_document_of_an_earlier_version_says_what_to_do() -> None:
    old = DocumentText(FOUND.document, "Text.", 0, 9)
    assert list(tree(old))[2:] == [
        "Its blocks are not known: it was indexed by an earlier version. Ingest it again.",
        "Text.",
        "… 4 more characters",
    ]
