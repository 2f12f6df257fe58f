"""Word documents: numbers, notes, changes and merged cells, as Word shows them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import docx
import pytest
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls, qn
from docx.shared import Pt
from hypothesis import given
from hypothesis import strategies as st

from ragstone.ingest.document import Block
from ragstone.ingest.formats.numbering import Numbering, numeral
from ragstone.ingest.parse import parse
from ragstone.settings import IngestSettings

Make = Callable[[Any], None]
LISTS = f"""
<w:numbering {nsdecls("w")}>
  <w:abstractNum w:abstractNumId="1">
    <w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/>
    </w:lvl>
    <w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="%2)"/>
    </w:lvl>
    <w:lvl w:ilvl="2"><w:start w:val="1"/><w:numFmt w:val="upperRoman"/><w:isLgl/>
      <w:lvlText w:val="%1.%2.%3"/></w:lvl>
  </w:abstractNum>
  <w:abstractNum w:abstractNumId="2">
    <w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="upperRoman"/>
      <w:lvlText w:val="Article %1"/></w:lvl>
  </w:abstractNum>
  <w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num>
  <w:num w:numId="2"><w:abstractNumId w:val="1"/>
    <w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride></w:num>
  <w:num w:numId="3"><w:abstractNumId w:val="2"/></w:num>
</w:numbering>"""


def read(path: Path, make: Make) -> list[Block]:
    document = docx.Document()
    numbering = document.part.numbering_part.element
    for old in list(numbering):
        numbering.remove(old)
    numbering.extend(parse_xml(LISTS))
    make(document)
    document.save(str(path / "a.docx"))
    return list(parse(path / "a.docx", IngestSettings()).blocks)


def add(document: Any, inside: str) -> Any:
    """Append a paragraph of raw XML."""
    paragraph = parse_xml(f"<w:p {nsdecls('w')}>{inside}</w:p>")
    document.element.body.insert(len(document.element.body) - 1, paragraph)
    return paragraph


def item(document: Any, text: str, level: int, number: int) -> None:
    add(
        document,
        f'<w:pPr><w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr></w:pPr>'
        f"<w:r><w:t>{text}</w:t></w:r>",
    )


def test_given_lists_when_read_then_each_item_has_its_number_and_depth(tmp_path: Path) -> None:
    def make(document: Any) -> None:
        for text, level, number in (
            ("Open", 0, 1), ("left", 1, 1), ("right", 1, 1), ("deep", 2, 1), ("Close", 0, 1),
            ("again", 1, 1), ("New list", 0, 2), ("Scope", 0, 3),
        ):  # fmt: skip
            item(document, text, level, number)

    assert [(block.text, block.level, block.label) for block in read(tmp_path, make)] == [
        ("1. Open", 1, "1."),
        ("a) left", 2, "a)"),
        ("b) right", 2, "b)"),
        ("1.2.1 deep", 3, "1.2.1"),
        ("2. Close", 1, "2."),
        ("a) again", 2, "a)"),
        ("1. New list", 1, "1."),
        ("Article I Scope", 1, "Article I"),
    ]


def test_given_a_style_with_an_outline_level_when_read_then_it_is_a_heading(tmp_path: Path) -> None:
    def make(document: Any) -> None:
        own = document.styles.add_style("Kapitel", 1)
        own.element.get_or_add_pPr().append(parse_xml(f'<w:outlineLvl {nsdecls("w")} w:val="1"/>'))
        derived = document.styles.add_style("Abschnitt", 1)
        derived.base_style = document.styles["Heading 3"]
        document.add_paragraph("Rechte", style="Kapitel")
        document.add_paragraph("Pflichten", style="Abschnitt")
        document.add_paragraph("Text")

    assert [(block.kind, block.level) for block in read(tmp_path, make)] == [
        ("heading", 2),
        ("heading", 3),
        ("paragraph", 0),
    ]


def test_given_tracked_changes_when_read_then_the_new_text_is_there_alone(tmp_path: Path) -> None:
    def make(document: Any) -> None:
        add(
            document,
            '<w:r><w:t xml:space="preserve">Pay </w:t></w:r>'
            '<w:del w:id="1" w:author="a"><w:r><w:delText>10</w:delText></w:r></w:del>'
            '<w:ins w:id="2" w:author="a"><w:r><w:t>20</w:t></w:r></w:ins>'
            "<w:r><w:t>.</w:t></w:r><w:r><w:rPr><w:vanish/></w:rPr><w:t>secret</w:t></w:r>",
        )

    assert [block.text for block in read(tmp_path, make)] == [
        "Pay 20.",
        "Struck-out text",
        'Pay [formerly "10", struck out] 20.',
    ]


def test_given_fields_and_links_when_read_then_their_result_is_shown(tmp_path: Path) -> None:
    def make(document: Any) -> None:
        add(
            document,
            '<w:r><w:fldChar w:fldCharType="begin"/></w:r>'
            "<w:r><w:instrText>REF x</w:instrText><w:t>not shown</w:t></w:r>"
            '<w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>Section 4</w:t></w:r>'
            '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
            '<w:hyperlink w:anchor="y"><w:r><w:t xml:space="preserve"> and here</w:t></w:r>'
            "</w:hyperlink>",
        )

    assert [block.text for block in read(tmp_path, make)] == ["Section 4 and here"]


def test_given_merged_cells_when_read_then_each_record_has_their_value(tmp_path: Path) -> None:
    def make(document: Any) -> None:
        table = document.add_table(4, 3)
        rows = [["", "2024", ""], ["Ward", "Plan", "Actual"], ["S1", "10", "12"], ["", "7", "8"]]
        for row, texts in enumerate(rows):
            for column, text in enumerate(texts):
                table.cell(row, column).text = text
        table.cell(0, 1).merge(table.cell(0, 2))
        table.cell(2, 0).merge(table.cell(3, 0))

    assert [block.text for block in read(tmp_path, make)] == [
        "Ward: S1; 2024 Plan: 10; 2024 Actual: 12\nWard: S1; 2024 Plan: 7; 2024 Actual: 8"
    ]


def test_given_a_title_above_a_table_when_read_then_it_is_the_tables_label(tmp_path: Path) -> None:
    def make(document: Any) -> None:
        document.add_paragraph("Table 1: Leave", style="Caption")
        table = document.add_table(2, 2)
        for column, texts in enumerate((("Years", "0 to 2"), ("Days", "27"))):
            for row, text in enumerate(texts):
                table.cell(row, column).text = text

    assert read(tmp_path, make) == [
        Block("Table 1: Leave", "caption"),
        Block("Years: 0 to 2; Days: 27", "table", label="Table 1: Leave"),
    ]


def test_given_a_box_when_read_then_its_text_follows_its_paragraph_once(tmp_path: Path) -> None:
    def make(document: Any) -> None:
        box = "<w:txbxContent><w:p><w:r><w:t>In the box</w:t></w:r></w:p></w:txbxContent>"
        add(
            document,
            "<w:r><w:t>Beside</w:t></w:r><w:r>"
            '<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/'
            f'2006"><mc:Choice Requires="wps"><w:drawing>{box}</w:drawing></mc:Choice>'
            f"<mc:Fallback><w:pict>{box}</w:pict></mc:Fallback></mc:AlternateContent></w:r>",
        )

    assert [block.text for block in read(tmp_path, make)] == ["Beside", "In the box"]


def test_given_a_table_that_arranges_a_page_when_read_then_its_cells_are_blocks(
    tmp_path: Path,
) -> None:
    def make(document: Any) -> None:
        table = document.add_table(1, 2)
        table.cell(0, 0).paragraphs[0].text = "Contact"
        table.cell(0, 0).paragraphs[0].style = "Heading 2"
        table.cell(0, 0).add_paragraph("Call 2222.")
        table.cell(0, 1).text = "Right side"

    assert [(block.kind, block.text) for block in read(tmp_path, make)] == [
        ("heading", "Contact"),
        ("paragraph", "Call 2222."),
        ("paragraph", "Right side"),
    ]


def test_given_a_table_of_contents_when_read_then_it_is_left_out(tmp_path: Path) -> None:
    def make(document: Any) -> None:
        document.styles.add_style("toc 1", 1)
        document.add_paragraph("Scope ........ 3", style="toc 1")
        document.add_paragraph("Scope", style="Heading 1")

    assert [block.text for block in read(tmp_path, make)] == ["Scope"]


def test_given_properties_when_read_then_they_are_metadata(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_paragraph("Text")
    document.core_properties.author = "Ann Lee"
    document.core_properties.keywords = "leave, pay; night"
    document.core_properties.title = "Handbook"
    document.save(str(tmp_path / "a.docx"))
    parsed = parse(tmp_path / "a.docx", IngestSettings())
    assert parsed.title == "Handbook"
    assert parsed.metadata == {"author": "Ann Lee", "keywords": ["leave", "pay", "night"]}


def test_given_tables_in_tables_without_end_when_read_then_nothing_breaks(tmp_path: Path) -> None:
    def make(document: Any) -> None:
        inner = "<w:p><w:r><w:t>deep</w:t></w:r></w:p>"
        for _ in range(60):
            inner = f"<w:tbl><w:tr><w:tc>{inner}<w:p/></w:tc></w:tr></w:tbl>"
        add(document, "<w:r><w:t>shallow</w:t></w:r>").addnext(
            parse_xml(inner.replace("<w:tbl>", f"<w:tbl {nsdecls('w')}>", 1))
        )

    assert [block.text for block in read(tmp_path, make)] == ["shallow"]


@pytest.mark.parametrize(
    ("number", "kind", "text"),
    [
        (27, "lowerLetter", "aa"),
        (4, "upperRoman", "IV"),
        (1994, "lowerRoman", "mcmxciv"),
        (12, "ordinal", "12th"),
        (3, "decimalZero", "03"),
        (5, "aiueo", "5"),
    ],
)
def test_numbers_are_written_as_word_does(number: int, kind: str, text: str) -> None:
    assert numeral(number, kind) == text


@given(st.lists(st.integers(0, 2), min_size=1, max_size=30))
def test_a_number_is_one_more_than_the_last_one_of_its_level(levels: list[int]) -> None:
    numbering = Numbering(parse_xml(LISTS))
    counts = [0, 0, 0]
    for level in levels:
        label = numbering.label("1", level)
        counts[level] += 1
        counts[level + 1 :] = [0] * (2 - level)
        shown = {0: f"{counts[0]}.", 1: f"{numeral(counts[1], 'lowerLetter')})"}
        if level in shown:
            assert label == shown[level]


def test_given_a_note_when_read_then_it_follows_its_paragraph(tmp_path: Path) -> None:
    notes = (
        f'<w:footnotes {nsdecls("w")}><w:footnote w:type="separator" w:id="0"><w:p/></w:footnote>'
        '<w:footnote w:id="2"><w:p><w:r><w:t>See the annex.</w:t></w:r></w:p></w:footnote>'
        "</w:footnotes>"
    )
    from docx.opc.constants import RELATIONSHIP_TYPE
    from docx.opc.packuri import PackURI
    from docx.opc.part import Part

    def make(document: Any) -> None:
        kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
        part = Part(PackURI("/word/footnotes.xml"), kind, notes.encode(), document.part.package)
        document.part.relate_to(part, RELATIONSHIP_TYPE.FOOTNOTES)
        made = add(document, "<w:r><w:t>Sales rose.</w:t></w:r>")
        made.append(parse_xml(f'<w:r {nsdecls("w")}><w:footnoteReference w:id="2"/></w:r>'))
        assert made.find(qn("w:r")) is not None
        document.add_paragraph("Costs fell.")

    assert [block.text for block in read(tmp_path, make)] == [
        "Sales rose.",
        "Footnote 1: See the annex.",
        "Costs fell.",
    ]


def test_given_a_style_for_code_when_read_then_the_code_is_between_backticks(
    tmp_path: Path,
) -> None:
    def make(document: Any) -> None:
        style = document.styles.add_style("Verbatim Char", WD_STYLE_TYPE.CHARACTER)
        derived = document.styles.add_style("Keyword", WD_STYLE_TYPE.CHARACTER)
        derived.base_style = style
        paragraph = document.add_paragraph("Set ")
        paragraph.add_run("hl", "Verbatim Char")
        paragraph.add_run("[14]", "Keyword")
        paragraph.add_run(" now.")
        document.add_heading("The ").add_run("run", "Verbatim Char")

    assert read(tmp_path, make) == [
        Block("Set `hl[14]` now."),
        Block("The run", "heading", 1),
    ]


def test_given_groups_and_indented_labels_in_a_table_when_read_then_each_row_has_them(
    tmp_path: Path,
) -> None:
    def make(document: Any) -> None:
        rows = (
            ("Arm", "Sex", "Freq"), ("IFL", "M", "29"), ("", "F", "12"), ("IROX", "M", "17"),
            ("", "F", "14"),
        )  # fmt: skip
        first = document.add_table(5, 3)
        for row, texts in enumerate(rows):
            for column, text in enumerate(texts):
                first.cell(row, column).text = text
        second = document.add_table(3, 3)
        sums = (("", "2019", "2020"), ("Assets", "12", "14"), ("Cash", "5", "6"))
        for row, texts in enumerate(sums):
            for column, text in enumerate(texts):
                second.cell(row, column).text = text
        second.cell(2, 0).paragraphs[0].paragraph_format.left_indent = Pt(12)

    tables = [block.text.splitlines() for block in read(tmp_path, make) if block.kind == "table"]
    assert tables == [
        [
            "Arm: IFL; Sex: M; Freq: 29",
            "Arm: IFL; Sex: F; Freq: 12",
            "Arm: IROX; Sex: M; Freq: 17",
            "Arm: IROX; Sex: F; Freq: 14",
        ],
        ["Assets; 2019: 12; 2020: 14", "Assets > Cash; 2019: 5; 2020: 6"],
    ]


def test_running_heads_stand_once_behind_the_title(tmp_path: Path) -> None:
    def make(document: Any) -> None:
        document.add_heading("Calibration", 1)
        document.add_paragraph("Scales are calibrated.")
        for section in (document.sections[0], document.add_section()):
            section.header.is_linked_to_previous = False
            section.header.paragraphs[0].text = "Document no. QM-4471\tConfidential"
            section.footer.is_linked_to_previous = False
            section.footer.paragraphs[0].text = "Approved by the council\tPage 1 of 3"
            section.first_page_header.paragraphs[0].text = "Never shown"
            section.even_page_header.paragraphs[0].text = "Never shown either"

    blocks = read(tmp_path, make)

    assert [block.text for block in blocks] == [
        "Calibration",
        "Header: Document no. QM-4471 Confidential",
        "Footer: Approved by the council",
        "Scales are calibrated.",
    ]


def test_the_head_of_a_first_page_is_read_where_it_is_shown(tmp_path: Path) -> None:
    def make(document: Any) -> None:
        document.add_paragraph("Text.")
        document.sections[0].different_first_page_header_footer = True
        document.sections[0].first_page_header.paragraphs[0].text = "Version 4"
        document.sections[0].footer.paragraphs[0].text = "Page 7"

    assert [block.text for block in read(tmp_path, make)] == ["Text.", "Header: Version 4"]


def test_the_state_of_old_form_fields_is_in_the_text(tmp_path: Path) -> None:
    def make_field(inside: str) -> str:
        begin = f'<w:fldChar w:fldCharType="begin"><w:ffData>{inside}</w:ffData></w:fldChar>'
        return f'<w:r>{begin}</w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>'

    def make(document: Any) -> None:
        for inside, text in (
            ("<w:checkBox><w:default w:val='0'/><w:checked/></w:checkBox>", "Tea"),
            ("<w:checkBox><w:default w:val='1'/><w:checked w:val='0'/></w:checkBox>", "Milk"),
            ("<w:checkBox><w:default w:val='1'/></w:checkBox>", "Bread"),
            ("<w:ddList><w:result w:val='1'/><w:listEntry w:val='Red'/><w:listEntry w:val='Blue'/>"
             "</w:ddList>", " paint"),
        ):  # fmt: skip
            add(document, f'{make_field(inside)}<w:r><w:t xml:space="preserve">{text}</w:t></w:r>')

    assert [block.text for block in read(tmp_path, make)] == [
        "☒ Tea", "☐ Milk", "☒ Bread", "Blue paint",
    ]  # fmt: skip


def test_boxes_of_symbol_fonts_keep_their_state(tmp_path: Path) -> None:
    def make(document: Any) -> None:
        for code, text in (("F0FE", "Tea"), ("F0A8", "Milk"), ("F078", "Bread")):
            add(document, f'<w:r><w:sym w:font="Wingdings" w:char="{code}"/></w:r>'
                          f'<w:r><w:t xml:space="preserve"> {text}</w:t></w:r>')  # fmt: skip

    assert [block.text for block in read(tmp_path, make)] == ["☑ Tea", "☐ Milk", "☒ Bread"]


def test_a_table_in_a_cell_of_data_stands_behind_it_with_its_rows_name(tmp_path: Path) -> None:
    document = docx.Document()
    outer = document.add_table(2, 2)
    for cell, text in zip(outer._cells, ("Part", "Details", "Pump", "as below"), strict=True):
        cell.text = text
    inner = outer.cell(1, 1).add_table(2, 2)
    for cell, text in zip(inner._cells, ("Wood", "Weight", "Oak", "12 kg"), strict=True):
        cell.text = text
    document.save(str(tmp_path / "a.docx"))

    blocks = list(parse(tmp_path / "a.docx", IngestSettings()).blocks)

    assert [(block.text, block.label) for block in blocks] == [
        ("Part: Pump; Details: as below", ""),
        ("Wood: Oak; Weight: 12 kg", "Pump"),
    ]


def test_comments_stand_behind_what_they_are_on_and_say_whose_they_are(tmp_path: Path) -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("The tolerance is 2 grams.")
    document.add_comment(paragraph.runs, "Should be 1 gram.\nFrom next year.", "Karin Dahl")
    table = document.add_table(2, 2)
    for cell, text in zip(table._cells, ("Zone", "Fare", "A", "2.40"), strict=True):
        cell.text = text
    document.add_comment(table.cell(1, 1).paragraphs[0].runs, "Until May")
    document.save(str(tmp_path / "a.docx"))

    blocks = list(parse(tmp_path / "a.docx", IngestSettings()).blocks)

    assert [(block.kind, block.text) for block in blocks] == [
        ("paragraph", "The tolerance is 2 grams."),
        ("admonition", "Comment by Karin Dahl: Should be 1 gram. From next year."),
        ("table", "Zone: A; Fare: 2.40"),
        ("admonition", "Comment: Until May"),
    ]


@pytest.mark.parametrize(
    ("typed", "kind", "text"),
    [
        ("\uf0b7 Lamp oil", "item", "• Lamp oil"),
        ("\uf0d8\tLamp oil", "item", "• Lamp oil"),
        ("• Lamp oil", "item", "• Lamp oil"),
        ("\uf0a8 Lamp oil", "paragraph", "☐ Lamp oil"),
        ("☒ Lamp oil", "paragraph", "☒ Lamp oil"),
        ("•", "paragraph", "•"),
    ],
)
def test_a_bullet_that_is_typed_begins_an_item(
    tmp_path: Path, typed: str, kind: str, text: str
) -> None:
    document = docx.Document()
    document.add_paragraph(typed)
    document.save(str(tmp_path / "a.docx"))

    (block,) = parse(tmp_path / "a.docx", IngestSettings()).blocks

    assert (block.kind, block.text) == (kind, text)
