"""Rich text: what is shown, in the characters it is meant in."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.errors import DocumentError, UnreadableDocument
from ragstone.ingest.document import Block
from ragstone.ingest.parse import parse
from ragstone.plugins.formats.rtf import parse_rtf
from ragstone.settings import IngestSettings


def read(path: Path, inside: str) -> list[Block]:
    (path / "a.rtf").write_bytes(b"{\\rtf1\\ansi\\ansicpg1252 " + inside.encode("cp1252") + b"}")
    return list(parse(path / "a.rtf", IngestSettings()).blocks)


def test_given_headings_lists_and_tables_when_read_then_they_are_known(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        r"{\stylesheet{\s0 Normal;}{\s1 heading 1;}}{\info{\title Rules}{\author Ann}}"
        r"\pard\s1 Leave\par \pard\plain Text {\b bold}.\par "
        r"\pard\ilvl1{\listtext 1.\tab}One\par\pard "
        r"\trowd\intbl Ward\cell Bed\cell\row\trowd\intbl S1\cell 7\cell\row\pard End\par",
    )
    assert found == [
        Block("Leave", "heading", 1),
        Block("Text bold."),
        Block("1. One", "item", 2, label="1."),
        Block("Ward: S1; Bed: 7", "table"),
        Block("End"),
    ]
    parsed = parse(tmp_path / "a.rtf", IngestSettings())
    assert (parsed.title, parsed.metadata) == ("Rules", {"author": "Ann"})


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        (r"Gr\'fc\'dfe", "Grüße"),
        (r"\u8364?5 \u-10179?\u-8704?", "€5 😀"),
        (r"{\fonttbl{\f1\fcharset204 A;}}\f1\'cf\'ee", "По"),
        (r"a{\*\unknown b}c{\pict 00ff}d{\v hidden}e", "acde"),
        (r"a\{b\}\\c\~d", r"a{b}\c d"),
        (r"see {\field{\*\fldinst HYPERLINK x}{\fldrslt here}}", "see here"),
        ("wrap\r\nped", "wrapped"),
        (r"{\header 1}body{\footer 1}", "body"),
        (r"\bin5 }}}}}after", "after"),
    ],
)
def test_given_signs_and_groups_when_read_then_a_reader_sees_the_same(
    tmp_path: Path, inside: str, text: str
) -> None:
    assert [block.text for block in read(tmp_path, inside)] == [text]


def test_given_a_footnote_when_read_then_it_follows_its_paragraph(tmp_path: Path) -> None:
    found = read(tmp_path, r"Sales rose{\footnote See annex.}.\par Costs fell.\par")
    assert [block.text for block in found] == ["Sales rose.", "Footnote: See annex.", "Costs fell."]


def test_headers_and_footers_stand_once_behind_the_first_block(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        r"{\header\pard Order {\b QM-4471}\par\trowd\cell}{\headerl Order QM-4471}"
        r"{\footer Page {\field{\*\fldinst PAGE}{\fldrslt 1}}}Scales\par Text.\par",
    )
    assert [block.text for block in found] == ["Scales", "Header: Order QM-4471", "Text."]


def test_given_groups_without_end_when_read_then_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableDocument, match="too deep"):
        read(tmp_path, "{" * 5000 + "x")


@given(st.lists(st.sampled_from([*r"{}\a'1 u*", r"\par", r"\cell", r"\row", r"\u99999 "])))
def test_any_bytes_are_read_or_refused(parts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.rtf"
        path.write_bytes(b"{\\rtf1 " + "".join(parts).encode())
        try:
            parsed = parse_rtf(path, ".rtf", 1 << 20)
        except DocumentError:
            return
    assert all(block.text.strip() for block in parsed.blocks)
