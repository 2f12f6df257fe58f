"""LibreOffice files: lists with numbers, notes, merged and repeated cells, slides."""

import zipfile
from pathlib import Path

import pytest

from ragstone.core.errors import EncryptedDocument, UnreadableDocument
from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.parse import parse
from ragstone.settings import IngestSettings

NAMES = " ".join(
    f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for short, name in (
        ("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing"),
        ("style", "style"), ("meta", "meta"), ("presentation", "presentation"),
    )
)  # fmt: skip
STYLES = """
<office:automatic-styles><text:list-style style:name="L1">
<text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix="."/>
<text:list-level-style-number text:level="2" style:num-format="a" style:num-suffix=")"/>
</text:list-style></office:automatic-styles>"""


def read(path: Path, kind: str, body: str, title: str = "", styles: str = "") -> Parsed:
    content = (
        f"<office:document-content {NAMES}>{STYLES}<office:body>{body}</office:body>"
        "</office:document-content>"
    )
    meta = (
        f'<office:document-meta {NAMES} xmlns:dc="http://purl.org/dc/elements/1.1/"><office:meta>'
        f"<dc:title>{title}</dc:title><meta:creation-date>2024-01-02T03:04:05</meta:creation-date>"
        "</office:meta></office:document-meta>"
    )
    with zipfile.ZipFile(path / f"a.{kind}", "w") as package:
        package.writestr("mimetype", "application/vnd.oasis.opendocument")
        package.writestr("content.xml", content)
        package.writestr("meta.xml", meta)
        if styles:
            root = f"<office:document-styles {NAMES}>{styles}</office:document-styles>"
            package.writestr("styles.xml", root)
    return parse(path / f"a.{kind}", IngestSettings())


def test_given_a_text_when_read_then_headings_lists_and_notes_are_there(tmp_path: Path) -> None:
    parsed = read(
        tmp_path,
        "odt",
        """<office:text><text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>
        <text:h text:outline-level="2">Leave</text:h>
        <text:p>A<text:s text:c="2"/>b<text:note text:note-class="footnote">
        <text:note-citation>1</text:note-citation><text:note-body><text:p>Annex.</text:p>
        </text:note-body></text:note><office:annotation><text:p>comment</text:p></office:annotation>
        </text:p><text:list text:style-name="L1"><text:list-item><text:p>one</text:p>
        <text:list><text:list-item><text:p>deep</text:p></text:list-item></text:list>
        </text:list-item><text:list-item><text:p>two</text:p><text:p>more</text:p></text:list-item>
        </text:list></office:text>""",
        title="Rules",
    )
    assert (parsed.title, parsed.metadata) == ("Rules", {"created": "2024-01-02T03:04:05"})
    assert list(parsed.blocks) == [
        Block("Leave", "heading", 2),
        Block("A b"),
        Block("Footnote 1: Annex."),
        Block("Comment: comment", "admonition", label="comment"),
        Block("1. one", "item", 1, label="1."),
        Block("a) deep", "item", 2, label="a)"),
        Block("2. two", "item", 1, label="2."),
        Block("more"),
    ]


def cell(text: str, more: str = "") -> str:
    return f"<table:table-cell {more}><text:p>{text}</text:p></table:table-cell>"


def test_given_a_sheet_when_read_then_merged_cells_and_dates_are_there(tmp_path: Path) -> None:
    date = 'office:value-type="date" office:date-value="2025-03-12"'
    parsed = read(
        tmp_path,
        "ods",
        f"""<office:spreadsheet><table:table table:name="Plan">
        <table:table-row>{cell("Ward")}{cell("Due")}{cell("Who")}</table:table-row>
        <table:table-row>{cell("S1", 'table:number-rows-spanned="2"')}{cell("12.3.", date)}
        {cell("Ann")}</table:table-row>
        <table:table-row><table:covered-table-cell/>{cell("x")}{cell("Bo")}</table:table-row>
        <table:table-row table:number-rows-repeated="1048000"><table:table-cell
        table:number-columns-repeated="16384"/></table:table-row>
        </table:table></office:spreadsheet>""",
    )
    assert parsed.pages == 1
    assert [(block.text, block.page) for block in parsed.blocks] == [
        ("Plan", 1),
        ("Ward: S1; Due: 2025-03-12; Who: Ann\nWard: S1; Due: x; Who: Bo", 1),
    ]


def test_given_slides_when_read_then_each_is_a_page(tmp_path: Path) -> None:
    box = "<draw:text-box><text:p>{}</text:p></draw:text-box>"
    parsed = read(
        tmp_path,
        "odp",
        f"""<office:presentation><draw:page><draw:frame presentation:class="title">
        {box.format("Hello")}</draw:frame></draw:page><draw:page>
        <draw:frame>{box.format("Body")}</draw:frame>
        <draw:frame presentation:class="title">{box.format("Second")}</draw:frame>
        <presentation:notes><draw:frame presentation:class="notes">{box.format("Smile")}
        </draw:frame><draw:frame>{box.format("Slowly")}</draw:frame>
        </presentation:notes></draw:page></office:presentation>""",
    )
    assert [(block.text, block.level, block.page) for block in parsed.blocks] == [
        ("Hello", 1, 1),
        ("Second", 2, 2),
        ("Body", 0, 2),
        ("Notes: Smile", 0, 2),
        ("Slowly", 0, 2),
    ]


def test_given_repetition_without_bounds_when_read_then_it_is_bounded(tmp_path: Path) -> None:
    many = 'table:number-columns-repeated="100000"'
    row = (
        f'<table:table-row table:number-rows-repeated="1000000">{cell("x", many)}</table:table-row>'
    )
    parsed = read(
        tmp_path,
        "ods",
        f"<office:spreadsheet><table:table>{row}</table:table></office:spreadsheet>",
    )
    assert sum(len(block.text) for block in parsed.blocks) < 10_000_000


def test_given_damage_or_a_password_when_read_then_it_says_so(tmp_path: Path) -> None:
    for data, error in ((b"\x8f\x00secret", EncryptedDocument), (b"<a>", UnreadableDocument)):
        with zipfile.ZipFile(tmp_path / "b.odt", "w") as package:
            package.writestr("content.xml", data)
        with pytest.raises(error):
            parse(tmp_path / "b.odt", IngestSettings())


def test_given_equal_values_when_read_then_only_what_is_merged_is_one(tmp_path: Path) -> None:
    parsed = read(
        tmp_path,
        "ods",
        f"""<office:spreadsheet><table:table table:name="S">
        <table:table-row>{cell("Monday")}{cell("Tuesday")}</table:table-row>
        <table:table-row>{cell("closed", 'table:number-columns-repeated="2"')}</table:table-row>
        <table:table-row>{cell("Holidays", 'table:number-columns-spanned="2"')}
        <table:covered-table-cell/></table:table-row></table:table></office:spreadsheet>""",
    )
    *_, table = parsed.blocks
    assert table.text == "Monday: closed; Tuesday: closed\nHolidays"


def test_given_a_byte_order_mark_when_read_then_it_is_no_password(tmp_path: Path) -> None:
    read(tmp_path, "odt", "<office:text><text:p>Plain.</text:p></office:text>")
    with zipfile.ZipFile(tmp_path / "a.odt") as package:
        content = package.read("content.xml")
    with zipfile.ZipFile(tmp_path / "b.odt", "w") as package:
        package.writestr("content.xml", b"\xef\xbb\xbf" + content)
    assert [block.text for block in parse(tmp_path / "b.odt", IngestSettings()).blocks] == [
        "Plain."
    ]


def test_running_heads_stand_once_behind_the_title(tmp_path: Path) -> None:
    styles = """<office:master-styles><style:master-page style:name="Standard">
        <style:header><text:p>Order QM-4471</text:p></style:header>
        <style:header-left><text:p>Order QM-4471</text:p></style:header-left>
        <style:header-first style:display="false"><text:p>Never</text:p></style:header-first>
        <style:footer><text:p>Approved by the council<text:tab/>Page
        <text:page-number>1</text:page-number> of <text:page-count>3</text:page-count></text:p>
        </style:footer></style:master-page></office:master-styles>"""
    body = """<office:text><text:h text:outline-level="1">Scales</text:h><text:p>Text.</text:p>
        </office:text>"""

    blocks = list(read(tmp_path, "odt", body, styles=styles).blocks)

    assert [block.text for block in blocks] == [
        "Scales",
        "Header: Order QM-4471",
        "Footer: Approved by the council",
        "Text.",
    ]


def test_hidden_sheets_are_marked_and_come_last(tmp_path: Path) -> None:
    def make_sheet(name: str, text: str, style: str = "") -> str:
        return f"""<table:table table:name="{name}" table:style-name="{style}"><table:table-row>
            <table:table-cell><text:p>{text}</text:p></table:table-cell></table:table-row>
            </table:table>"""

    styles = """<office:automatic-styles><style:style style:name="Off" style:family="table">
        <style:table-properties table:display="false"/></style:style></office:automatic-styles>"""
    sheets = make_sheet("Draft", "9.90", "Off") + make_sheet("Tariff", "2.40")
    body = f"<office:spreadsheet>{sheets}</office:spreadsheet>"

    blocks = list(read(tmp_path, "ods", body, styles=styles).blocks)

    assert [(block.text, block.page) for block in blocks] == [
        ("Tariff", 2), ("2.40", 2), ("Draft (hidden)", 1), ("9.90", 1),
    ]  # fmt: skip


def test_hidden_rows_and_columns_of_a_sheet_are_marked(tmp_path: Path) -> None:
    def make_row(cells: tuple[str, ...], look: str = "") -> str:
        found = "".join(
            f"<table:table-cell><text:p>{cell}</text:p></table:table-cell>" for cell in cells
        )
        return f"<table:table-row {look}>{found}</table:table-row>"

    columns = """<table:table-column table:number-columns-repeated="2"/>
        <table:table-column table:visibility="collapse"/>"""
    rows = (
        make_row(("Zone", "Fare", "Cost"))
        + make_row(("A", "2.40", "1.10"))
        + make_row(("B", "3.10", "1.60"), 'table:visibility="filter"')
    )
    body = f"""<office:spreadsheet><table:table table:name="Fares">{columns}{rows}
        </table:table></office:spreadsheet>"""

    blocks = list(read(tmp_path, "ods", body).blocks)

    assert blocks[1].text == (
        "Zone: A; Fare: 2.40; Cost (hidden): 1.10\n"
        "Zone: B (hidden); Fare: 3.10; Cost (hidden): 1.60"
    )


def test_running_heads_of_sheets_and_slides_stand_behind_the_first_title(tmp_path: Path) -> None:
    styles = """<office:master-styles><style:master-page style:name="Default"><style:header>
        <style:region-left><text:p>Tariff 2025</text:p></style:region-left></style:header>
        <style:footer><text:p>Page <text:page-number>1</text:page-number></text:p></style:footer>
        </style:master-page></office:master-styles>"""
    sheet = """<office:spreadsheet><table:table table:name="Fares"><table:table-row>
        <table:table-cell><text:p>2.40</text:p></table:table-cell></table:table-row></table:table>
        </office:spreadsheet>"""
    slide = """<office:presentation><presentation:footer-decl presentation:name="f1">Draft of May
        </presentation:footer-decl><draw:page><draw:frame presentation:class="title"><draw:text-box>
        <text:p>Plans</text:p></draw:text-box></draw:frame></draw:page></office:presentation>"""

    sheets = [block.text for block in read(tmp_path, "ods", sheet, styles=styles).blocks]
    slides = [block.text for block in read(tmp_path, "odp", slide).blocks]

    assert sheets == ["Fares", "Header: Tariff 2025", "2.40"]
    assert slides == ["Plans", "Footer: Draft of May"]


def test_a_formula_without_a_saved_value_says_so(tmp_path: Path) -> None:
    formula = '<table:table-cell table:formula="of:=SUM([.B1:.B2])*[.A1]"/>'
    rows = (cell("Item") + cell("Total"), cell("Bolt") + formula)
    lines = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    table = f'<table:table table:name="S">{lines}</table:table>'

    parsed = read(tmp_path, "ods", f"<office:spreadsheet>{table}</office:spreadsheet>")

    assert [block.text for block in parsed.blocks][-1] == (
        "Item: Bolt; Total: not calculated (=SUM(B1:B2)*A1)"
    )


def test_comments_at_cells_stand_behind_their_table(tmp_path: Path) -> None:
    names = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'
    comment = (
        f"<office:annotation><dc:creator {names}>Karin</dc:creator><text:p>Until May.</text:p>"
        "<text:p>Ask Olsen.</text:p></office:annotation>"
    )
    rows = (
        cell("Zone") + cell("Fare"),
        cell("A") + cell("2.40").replace("<text:p>", f"{comment}<text:p>"),
    )
    lines = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    table = f'<table:table table:name="S">{lines}</table:table>'

    parsed = read(tmp_path, "ods", f"<office:spreadsheet>{table}</office:spreadsheet>")

    assert [(block.kind, block.text) for block in parsed.blocks][1:] == [
        ("table", "Zone: A; Fare: 2.40"),
        ("admonition", "Comment by Karin: Until May. Ask Olsen."),
    ]


def test_embedded_objects_are_told_but_for_charts_of_cells(tmp_path: Path) -> None:
    objects = (
        '<draw:frame draw:name="Order form"><draw:object xlink:href="./Object 1"/></draw:frame>'
        '<draw:frame><draw:object-ole xlink:href="./Object 2"/></draw:frame>'
        '<draw:frame><draw:object xlink:href="./Object 3"'
        ' draw:notify-on-update-of-ranges="Sheet1.A1:B2"/></draw:frame>'
    )
    xlink = 'xmlns:xlink="http://www.w3.org/1999/xlink"'
    body = f"<office:text {xlink}><text:p>We sell oats.{objects}</text:p></office:text>"
    parsed = read(tmp_path, "odt", body)

    assert [block.text for block in parsed.blocks] == ["We sell oats."]
    assert parsed.notes == ("Files embedded in a.odt are not read: Order form, Object 2.",)
