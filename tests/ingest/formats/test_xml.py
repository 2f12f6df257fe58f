"""XML: texts and data, and what is no XML."""

from pathlib import Path

import pytest

from ragstone.core.errors import DocumentError, UnreadableDocument
from ragstone.ingest.parse import parse
from ragstone.settings import IngestSettings
from tests.ingest.formats.reading import opened, read

DOCBOOK = """<article xmlns="http://docbook.org/ns/docbook">
<title>Pump manual</title>
<section><title>Starting</title>
  <para>Press the <emphasis>green</emphasis> button for 3 seconds.</para>
  <itemizedlist><listitem><para>Open valve A.</para></listitem></itemizedlist>
  <programlisting>pump --start
pump --check</programlisting>
</section></article>"""
CATALOG = """<?xml version="1.0"?><catalog>
<book id="b1"><title>Quarry guide</title><price>12.50</price></book>
<book id="b2"><title>Lift manual</title><price>8.00</price></book>
</catalog>"""


def test_given_a_text_when_read_then_titles_paragraphs_and_items_are_known(tmp_path: Path) -> None:
    parsed = opened(tmp_path, "a.xml", DOCBOOK)

    assert parsed.title == "Pump manual"
    assert [(block.kind, block.level, block.text) for block in parsed.blocks] == [
        ("heading", 1, "Pump manual"),
        ("heading", 2, "Starting"),
        ("paragraph", 0, "Press the green button for 3 seconds."),
        ("item", 1, "- Open valve A."),
        ("code", 0, "pump --start\npump --check"),
    ]


def test_given_data_when_read_then_each_record_keeps_its_values_together(tmp_path: Path) -> None:
    blocks = read(tmp_path, "a.xml", CATALOG)

    assert [(block.kind, block.text) for block in blocks] == [
        ("heading", "book"),
        (
            "table",
            "id: b1; title: Quarry guide; price: 12.50\nid: b2; title: Lift manual; price: 8.00",
        ),
    ]


def test_given_another_encoding_when_read_then_the_declaration_counts(tmp_path: Path) -> None:
    text = '<?xml version="1.0" encoding="windows-1252"?><places><name>Köln</name></places>'
    (tmp_path / "a.xml").write_bytes(text.encode("cp1252"))

    blocks = parse(tmp_path / "a.xml", IngestSettings()).blocks

    assert [block.text for block in blocks] == ["name: Köln"]


def test_given_an_entity_of_a_file_when_read_then_it_is_not_expanded(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("the secret")
    declared = f'<!ENTITY f SYSTEM "file://{tmp_path}/secret.txt">'
    blocks = read(tmp_path, "a.xml", f"<!DOCTYPE a [{declared}]><a><b>&f; told</b></a>")

    text = "".join(block.text for block in blocks)
    assert "told" in text
    assert "secret" not in text


def test_given_entities_that_hold_each_other_when_read_then_the_file_is_refused(
    tmp_path: Path,
) -> None:
    declared = '<!ENTITY a0 "ha">' + "".join(
        f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12)
    )
    with pytest.raises(UnreadableDocument, match="amplification"):
        read(tmp_path, "a.xml", f"<!DOCTYPE a [{declared}]><a><b>&a11;</b></a>")


@pytest.mark.parametrize("text", ["<a><b></a>", "<a>", "plain", "<a>&nbsp;</a>"])
def test_given_no_valid_xml_when_read_then_it_says_so(tmp_path: Path, text: str) -> None:
    with pytest.raises(UnreadableDocument, match=r"a\.xml is not valid XML"):
        read(tmp_path, "a.xml", text)


def test_given_elements_without_end_when_read_then_the_document_alone_fails(tmp_path: Path) -> None:
    with pytest.raises(DocumentError):
        read(tmp_path, "a.xml", "<a>" * 100_000 + "</a>" * 100_000)
