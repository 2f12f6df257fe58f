"""What a document strikes out is not said, but kept behind its text; what is left out is told."""

import zipfile
from pathlib import Path

import docx
import pytest
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from openpyxl import Workbook
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.styles import Font
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE

from ragstone.ingest.formats.struck import HEADING
from ragstone.ingest.parse import parse
from ragstone.settings import Settings
from tests.ingest.pdf_files import Placed, Ruled, placed_pdf

ODF = "".join(
    f' xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("office", "style", "text", "table")
)
STRIKES = '<style:text-properties style:text-line-through-style="solid"/>'
STRIKES_NOT = '<style:text-properties style:text-line-through-style="none"/>'


FEE = 'The fee is [formerly "30", struck out] 45 euros.'


def read(file: Path) -> tuple[str, str]:
    """The text of a document, and what is struck out of it."""
    parsed = parse(file, Settings().ingest)
    text = "\n".join(block.text for block in parsed.blocks)
    shown, _, struck = text.partition(f"\n{HEADING}\n")
    return shown, struck


def told(file: Path) -> str:
    parsed = parse(file, Settings().ingest)
    list(parsed.blocks)
    return " ".join(parsed.last_notes())


def write_odf(file: Path, styles: str, body: str) -> Path:
    kind = {".odt": "text", ".ods": "spreadsheet"}[file.suffix]
    with zipfile.ZipFile(file, "w") as package:
        package.writestr("mimetype", f"application/vnd.oasis.opendocument.{kind}")
        package.writestr(
            "content.xml",
            f"<office:document-content{ODF}><office:automatic-styles>{styles}"
            f"</office:automatic-styles><office:body><office:{kind}>{body}</office:{kind}>"
            "</office:body></office:document-content>",
        )
    return file


def test_word_styles_strike_text_out(tmp_path: Path) -> None:
    document = docx.Document()
    document.styles.add_style("Gone", WD_STYLE_TYPE.CHARACTER).font.strike = True
    parent = document.styles.add_style("Gone rule", WD_STYLE_TYPE.PARAGRAPH)
    parent.font.strike = True
    document.styles.add_style("Gone child", WD_STYLE_TYPE.PARAGRAPH).base_style = parent
    paragraph = document.add_paragraph("The fee is ")
    paragraph.add_run("30", style="Gone")
    paragraph.add_run(" 45 euros.")
    document.add_paragraph("Dogs are forbidden.", style="Gone child")
    document.add_paragraph(style="Gone rule").add_run("Cats stay.").font.strike = False
    document.save(str(file := tmp_path / "fees.docx"))

    text, struck = read(file)

    assert text == "The fee is 45 euros.\nCats stay."
    assert struck == f'{FEE}\n[formerly "Dogs are forbidden.", struck out]'
    assert told(file) == 'Struck-out text is kept apart: "30", "Dogs are forbidden.".'


def test_a_tracked_deletion_is_kept(tmp_path: Path) -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("The fee is ")
    paragraph._p.append(
        parse_xml(
            f'<w:del {nsdecls("w")} w:id="1" w:author="Ada"><w:r><w:delText>30</w:delText>'
            "</w:r></w:del>"
        )
    )
    paragraph.add_run("45 euros.")
    document.save(str(file := tmp_path / "fees.docx"))

    assert read(file) == ("The fee is 45 euros.", FEE)


def test_struck_cells_and_rows_of_a_sheet_are_kept_apart(tmp_path: Path) -> None:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["Item", "Price"], ["Pen", 30], ["Ink", 31], ["Cup", 45]):
        sheet.append(row)
    for cell in ("B2", "A3", "B3"):
        sheet[cell].font = Font(strike=True, bold=True)
    sheet["B4"].font = Font(bold=True)
    book.save(file := tmp_path / "prices.xlsx")

    text, struck = read(file)

    assert text == "Sheet\nItem: Pen\nItem: Cup; Price: 45"
    assert struck.split("\n") == [
        'Item: Pen; Price: [formerly "30", struck out]',
        'Item: [formerly "Ink", struck out]; Price: [formerly "31", struck out]',
    ]


@pytest.mark.parametrize(
    ("rule", "shown"),
    [
        (".old { color: red; text-decoration: line-through }", "The fee is 45 euros."),
        ("p > span#a.old{text-decoration-line:line-through}", "The fee is 45 euros."),
        ("b, p .old /* was */ {text-decoration:line-through}", "The fee is 45 euros."),
        (".old:hover {text-decoration: line-through}", "The fee is 30 45 euros."),
        ("i .old, .older {text-decoration: line-through}", "The fee is 30 45 euros."),
        (
            "@media print { b {} .old {text-decoration:line-through} } b {}",
            "The fee is 30 45 euros.",
        ),
        (".old {text-decoration: underline}", "The fee is 30 45 euros."),
    ],
    ids=[
        "class",
        "compound",
        "descendant",
        "only pointed at",
        "another one",
        "printed",
        "underlined",
    ],
)
def test_style_sheets_of_a_page_strike_text_out(rule: str, shown: str, tmp_path: Path) -> None:
    file = tmp_path / "fees.html"
    file.write_text(
        f"<html><head><title>Fees</title><style>{rule}</style></head><body><main>"
        '<p>The fee is <span id="a" class="price old">30</span> 45 euros.</p></main></body></html>'
    )

    text, struck = read(file)

    assert text == shown
    assert struck == (FEE if "30" not in shown else "")


def test_paragraph_styles_of_libreoffice_strike_text_out(tmp_path: Path) -> None:
    styles = (
        f'<style:style style:name="P1" style:family="paragraph">{STRIKES}</style:style>'
        f'<style:style style:name="T1" style:family="text">{STRIKES}</style:style>'
        '<style:style style:name="T2" style:family="text" style:parent-style-name="T1"/>'
        f'<style:style style:name="T3" style:family="text">{STRIKES_NOT}</style:style>'
    )
    body = (
        '<text:p>The fee is <text:span text:style-name="T2">30</text:span> 45 euros.</text:p>'
        '<text:p text:style-name="P1">Dogs are forbidden. '
        '<text:span text:style-name="T3">Cats stay.</text:span></text:p>'
    )

    text, struck = read(write_odf(tmp_path / "fees.odt", styles, body))

    assert text == "The fee is 45 euros.\nCats stay."
    assert struck == f'{FEE}\n[formerly "Dogs are forbidden.", struck out] Cats stay.'


def test_struck_cells_of_libreoffice_are_kept_apart(tmp_path: Path) -> None:
    styles = f'<style:style style:name="c" style:family="table-cell">{STRIKES}</style:style>'
    rows = (("", "Item"), ("", "Price")), (("", "Pen"), ("c", "30"))
    rows += (("c", "Ink"), ("c", "31")), (("", "Cup"), ("", "45"))
    cells = (
        "".join(
            f'<table:table-cell table:style-name="{style}"><text:p>{text}</text:p>'
            "</table:table-cell>"
            for style, text in row
        )
        for row in rows
    )
    body = "".join(f"<table:table-row>{row}</table:table-row>" for row in cells)
    table = f'<table:table table:name="Sheet">{body}</table:table>'

    text, struck = read(write_odf(tmp_path / "prices.ods", styles, table))

    assert text == "Sheet\nItem: Pen\nItem: Cup; Price: 45"
    assert struck.split("\n") == [
        'Item: Pen; Price: [formerly "30", struck out]',
        'Item: [formerly "Ink", struck out]; Price: [formerly "31", struck out]',
    ]


def test_of_much_struck_text_only_the_beginning_is_told(tmp_path: Path) -> None:
    file = tmp_path / "fees.md"
    file.write_text("Fees: " + " ".join(f"~~old {number}~~" for number in range(5)) + " none.")

    assert told(file) == 'Struck-out text is kept apart: "old 0", "old 1", "old 2" and 2 more.'


def test_files_that_a_document_embeds_are_told_but_for_those_of_charts(tmp_path: Path) -> None:
    Workbook().save(workbook := tmp_path / "prices.xlsx")
    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes.title.text = "Fees"
    data = CategoryChartData()
    data.categories = ["Pen"]
    data.add_series("Price", [12])
    slide.shapes.add_chart(XL_CHART_TYPE.PIE, 0, 0, 99, 99, data)
    presentation.save(str(chart := tmp_path / "chart.pptx"))
    slide.shapes.add_ole_object(str(workbook), "Excel.Sheet.12", 0, 0)
    presentation.save(str(both := tmp_path / "both.pptx"))

    assert parse(chart, Settings().ingest).notes == ()
    assert [note.split(":")[0] for note in parse(both, Settings().ingest).notes] == [
        "Files embedded in both.pptx are not read"
    ]


def test_hidden_text_of_a_word_document_is_told(tmp_path: Path) -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("The fee is 45 euros.")
    paragraph.add_run(" It was 30.").font.hidden = True
    paragraph.add_run("20").font.strike = True
    document.save(str(file := tmp_path / "fees.docx"))

    text, struck = read(file)

    assert text == "The fee is 45 euros."
    assert struck == 'The fee is 45 euros. [formerly "20", struck out]'
    assert (
        told(file) == 'Hidden text is left out: "It was 30.". Struck-out text is kept apart: "20".'
    )


def test_a_replacement_in_latex_is_said_without_what_it_replaces(tmp_path: Path) -> None:
    file = tmp_path / "fees.tex"
    file.write_text(
        r"The fee is \replaced[id=AB]{45}{30} euros\deleted{ and a coin}, in \replaced{May}{June}."
    )

    text, struck = read(file)

    assert text == "The fee is 45 euros, in May."
    assert struck == (
        'The fee is 45 [formerly "30", struck out] euros [formerly "and a coin", struck out], '
        'in May [formerly "June", struck out].'
    )


def test_a_deleted_row_of_a_word_table_is_kept_as_a_row(tmp_path: Path) -> None:
    document = docx.Document()
    table = document.add_table(0, 2)
    for row in (("Item", "Price"), ("Pen", "12"), ("Ink", "31"), ("Cup", "45")):
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text
    properties = table.rows[2]._tr.get_or_add_trPr()
    properties.append(parse_xml(f'<w:del {nsdecls("w")} w:id="1" w:author="Ada"/>'))
    table.rows[2].cells[0].paragraphs[0].runs[0].font.strike = True
    document.save(str(file := tmp_path / "prices.docx"))

    assert read(file) == (
        "Item: Pen; Price: 12\nItem: Cup; Price: 45",
        'Item: [formerly "Ink", struck out]; Price: [formerly "31", struck out]',
    )
    assert told(file) == 'Struck-out text is kept apart: "Ink", "31".'


def test_text_that_a_word_style_hides_is_told(tmp_path: Path) -> None:
    document = docx.Document()
    document.styles.add_style("Secret", WD_STYLE_TYPE.CHARACTER).font.hidden = True
    paragraph = document.add_paragraph("The fee is 45 euros.")
    paragraph.add_run(" It was 30.", style="Secret")
    document.save(str(file := tmp_path / "fees.docx"))

    assert read(file) == ("The fee is 45 euros.", "")
    assert told(file) == 'Hidden text is left out: "It was 30.".'


def test_struck_text_of_a_slide_is_kept_apart(tmp_path: Path) -> None:
    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "Fees"
    paragraph = slide.placeholders[1].text_frame.paragraphs[0]
    for text in ("The fee is ", "30", " 45 euros."):
        paragraph.add_run().text = text
    paragraph.runs[1].font._element.set("strike", "sngStrike")
    presentation.save(str(file := tmp_path / "fees.pptx"))

    assert read(file) == ("Fees\n- The fee is 45 euros.", f"- {FEE}")


def test_struck_parts_of_a_cell_are_kept_apart(tmp_path: Path) -> None:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet["A1"] = CellRichText(
        "The fee is ", TextBlock(InlineFont(strike=True), "30"), " 45 euros."
    )
    book.save(file := tmp_path / "fees.xlsx")

    assert read(file) == ("Sheet\nThe fee is 45 euros.", FEE)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("fees.md", "The fee is ~~30~~ 45 euros."),
        ("fees.html", "<p>The fee is <del>30</del> <ins>45</ins> euros.</p>"),
        ("fees.html", "<p>The fee is <s>3<b>0</b></s> 45 euros.</p>"),
        ("fees.adoc", "The fee is [.line-through]#30# 45 euros."),
        ("fees.org", "The fee is +30+ 45 euros."),
        ("fees.rst", ".. role:: del\n\nThe fee is :del:`30` 45 euros."),
        ("fees.rtf", r"{\rtf1 The fee is {\strike 30} 45 euros.}"),
        ("fees.rtf", r"{\rtf1 The fee is {\deleted 30} 45 euros.}"),
        ("fees.tex", r"The fee is \sout{30} 45 euros."),
    ],
    ids=["md", "del", "s", "adoc", "org", "rst", "rtf", "rtf deletion", "latex"],
)
def test_struck_text_is_kept_apart(name: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text(text)

    assert read(file) == ("The fee is 45 euros.", FEE)


def test_tracked_deletions_of_libreoffice_are_kept(tmp_path: Path) -> None:
    body = (
        '<text:tracked-changes><text:changed-region text:id="c1"><text:deletion>'
        "<text:p>30</text:p></text:deletion></text:changed-region></text:tracked-changes>"
        '<text:p>The fee is <text:change text:change-id="c1"/> 45 euros.</text:p>'
    )

    assert read(write_odf(tmp_path / "fees.odt", "", body)) == ("The fee is 45 euros.", FEE)


def test_what_a_line_of_a_pdf_goes_through_is_kept_apart(tmp_path: Path) -> None:
    pages = [
        [
            Placed(72, 100, "The fee is 30 45 euros."),
            Ruled(138, 97.5, 150, 97.5),
            Placed(72, 130, "Dogs are forbidden."),
            Ruled(72, 127.5, 186, 127.5),
        ],
        [Placed(72, 100, "Cats may stay.")],
    ]
    file = placed_pdf(tmp_path / "fees.pdf", pages)

    assert read(file) == (
        "The fee is 45 euros.\nCats may stay.",
        f'{FEE}\n[formerly "Dogs are forbidden.", struck out]',
    )


def test_rows_and_lists_that_a_page_strikes_out_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "fees.html"
    file.write_text(
        "<table><tr><th>Item</th><th>Price</th></tr><tr><td>Pen</td><td>12</td></tr>"
        '<tr style="text-decoration:line-through"><td>Ink</td><td>31</td></tr></table>'
        "<ul><li>Cats stay.</li><li><del>Dogs stay.</del></li></ul>"
        "<del><table><tr><th>Key</th><th>Deposit</th></tr><tr><td>A</td><td>9</td></tr></table></del>"
    )

    assert read(file) == (
        "Item: Pen; Price: 12\n- Cats stay.",
        'Item: [formerly "Ink", struck out]; Price: [formerly "31", struck out]\n'
        '- [formerly "Dogs stay.", struck out]\n'
        '[formerly "Key", struck out]: [formerly "A", struck out]; '
        '[formerly "Deposit", struck out]: [formerly "9", struck out]',
    )


def test_a_text_of_marks_of_its_own_strikes_nothing_out(tmp_path: Path) -> None:
    file = tmp_path / "fees.md"
    file.write_text(
        "A \ufdd2\ufdd3\ufdd9 and \ufdd2 but ~~so~~ \ufdd2" + "\ufdd3" * 5000 + " and ~~~~"
    )

    shown, struck = read(file)

    assert shown.startswith("A")
    assert struck.count("so") == 1
