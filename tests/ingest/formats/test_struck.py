"""Text that a style strikes out is not said, and what is left out is told."""

import zipfile
from pathlib import Path

import docx
import pytest
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from openpyxl import Workbook
from openpyxl.styles import Font
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE

from ragstone.ingest.parse import parse
from ragstone.settings import Settings

ODF = "".join(
    f' xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("office", "style", "text", "table")
)
STRIKES = '<style:text-properties style:text-line-through-style="solid"/>'
STRIKES_NOT = '<style:text-properties style:text-line-through-style="none"/>'


def read(file: Path) -> tuple[str, str]:
    """The text of a document, and what is told of it."""
    parsed = parse(file, Settings().ingest)
    text = "\n".join(block.text for block in parsed.blocks)
    return text, " ".join(parsed.last_notes())


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

    text, told = read(file)

    assert text == "The fee is 45 euros.\nCats stay."
    assert told == 'Struck-out text is left out: "30", "Dogs are forbidden.".'


def test_a_tracked_deletion_is_told(tmp_path: Path) -> None:
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

    assert read(file) == ("The fee is 45 euros.", 'Struck-out text is left out: "30".')


def test_struck_cells_and_rows_of_a_sheet_are_left_out(tmp_path: Path) -> None:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["Item", "Price"], ["Pen", 30], ["Ink", 31], ["Cup", 45]):
        sheet.append(row)
    for cell in ("B2", "A3", "B3"):
        sheet[cell].font = Font(strike=True, bold=True)
    sheet["B4"].font = Font(bold=True)
    book.save(file := tmp_path / "prices.xlsx")

    text, told = read(file)

    assert text == "Sheet\nItem: Pen\nItem: Cup; Price: 45"
    assert told == 'Struck-out text is left out: "30", "Ink", "31".'


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

    text, told = read(file)

    assert text == shown
    assert bool(told) == ("30" not in shown)


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

    text, told = read(write_odf(tmp_path / "fees.odt", styles, body))

    assert text == "The fee is 45 euros.\nCats stay."
    assert told == 'Struck-out text is left out: "30", "Dogs are forbidden.".'


def test_struck_cells_of_libreoffice_are_left_out(tmp_path: Path) -> None:
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

    text, told = read(write_odf(tmp_path / "prices.ods", styles, table))

    assert text == "Sheet\nItem: Pen\nItem: Cup; Price: 45"
    assert told == 'Struck-out text is left out: "Ink", "31", "30".'


def test_of_much_struck_text_only_the_beginning_is_told(tmp_path: Path) -> None:
    file = tmp_path / "fees.md"
    file.write_text("Fees: " + " ".join(f"~~old {number}~~" for number in range(5)) + " none.")

    assert read(file)[1] == ('Struck-out text is left out: "old 0", "old 1", "old 2" and 2 more.')


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

    text, told = read(file)

    assert text == "The fee is 45 euros."
    assert told == 'Hidden text is left out: "It was 30.". Struck-out text is left out: "20".'


def test_a_replacement_in_latex_is_said_without_what_it_replaces(tmp_path: Path) -> None:
    file = tmp_path / "fees.tex"
    file.write_text(
        r"The fee is \replaced[id=AB]{45}{30} euros\deleted{ and a coin}, in \replaced{May}{June}."
    )

    text, told = read(file)

    assert text == "The fee is 45 euros, in May."
    assert told == 'Struck-out text is left out: "30", "and a coin", "June".'
