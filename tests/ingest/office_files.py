"""Minimal real office packages, written by hand: the smallest ZIPs that the formats allow."""

import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_P = "http://schemas.openxmlformats.org/presentationml/2006/main"
_A = "http://schemas.openxmlformats.org/drawingml/2006/main"
_S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_KINDS = "application/vnd.openxmlformats-officedocument"

Row = Sequence[str | float]


def docx(
    path: Path,
    body: Iterable[tuple[str, str] | list[Row]],
    *,
    title: str = "",
    doctype: str = "",
) -> Path:
    """A DOCX of `(style, text)` paragraphs (style "" or Heading1.., ListParagraph) and tables."""
    parts = [_docx_table(item) if isinstance(item, list) else _docx_line(*item) for item in body]
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="Heading{n}"><w:name w:val="heading {n}"/>'
        f'<w:pPr><w:outlineLvl w:val="{n - 1}"/></w:pPr></w:style>'
        for n in range(1, 5)
    )
    document = f'<w:document xmlns:w="{_W}"><w:body>{"".join(parts)}<w:sectPr/></w:body>'
    files = {
        "word/document.xml": doctype + document + "</w:document>",
        "word/styles.xml": f'<w:styles xmlns:w="{_W}">{styles}</w:styles>',
        "word/numbering.xml": f'<w:numbering xmlns:w="{_W}"><w:abstractNum w:abstractNumId="0">'
        '<w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>',
        "word/_rels/document.xml.rels": _relations(
            [("styles", "styles.xml"), ("numbering", "numbering.xml")]
        ),
    }
    kinds = {
        "word/document.xml": f"{_KINDS}.wordprocessingml.document.main+xml",
        "word/styles.xml": f"{_KINDS}.wordprocessingml.styles+xml",
        "word/numbering.xml": f"{_KINDS}.wordprocessingml.numbering+xml",
    }
    return _package(path, "word/document.xml", files, kinds, title)


def pptx(path: Path, slides: Sequence[tuple[str, Sequence[str], Sequence[Row]]]) -> Path:
    """A PPTX of slides, each with a title, lines and a table (which may be empty)."""
    files: dict[str, str] = {}
    kinds = {"ppt/presentation.xml": f"{_KINDS}.presentationml.presentation.main+xml"}
    ids = ""
    for number, slide in enumerate(slides, 1):
        name = f"ppt/slides/slide{number}.xml"
        files[name] = _slide(*slide)
        kinds[name] = f"{_KINDS}.presentationml.slide+xml"
        ids += f'<p:sldId id="{255 + number}" r:id="rId{number}"/>'
    files["ppt/presentation.xml"] = (
        f'<p:presentation xmlns:p="{_P}" xmlns:r="{_OFFICE}" xmlns:a="{_A}">'
        f"<p:sldIdLst>{ids}</p:sldIdLst></p:presentation>"
    )
    files["ppt/_rels/presentation.xml.rels"] = _relations(
        [("slide", f"slides/slide{number}.xml") for number in range(1, len(slides) + 1)]
    )
    return _package(path, "ppt/presentation.xml", files, kinds)


def xlsx(path: Path, sheets: Mapping[str, Sequence[Row]]) -> Path:
    """An XLSX of named sheets with rows of inline strings and numbers."""
    files: dict[str, str] = {}
    kinds = {"xl/workbook.xml": f"{_KINDS}.spreadsheetml.sheet.main+xml"}
    entries = ""
    for number, (sheet, rows) in enumerate(sheets.items(), 1):
        name = f"xl/worksheets/sheet{number}.xml"
        cells = "".join(_sheet_row(index, row) for index, row in enumerate(rows, 1))
        files[name] = f'<worksheet xmlns="{_S}"><sheetData>{cells}</sheetData></worksheet>'
        kinds[name] = f"{_KINDS}.spreadsheetml.worksheet+xml"
        entries += f'<sheet name="{escape(sheet)}" sheetId="{number}" r:id="rId{number}"/>'
    files["xl/workbook.xml"] = (
        f'<workbook xmlns="{_S}" xmlns:r="{_OFFICE}"><sheets>{entries}</sheets></workbook>'
    )
    files["xl/_rels/workbook.xml.rels"] = _relations(
        [("worksheet", f"worksheets/sheet{number}.xml") for number in range(1, len(sheets) + 1)]
    )
    return _package(path, "xl/workbook.xml", files, kinds)


def _docx_line(style: str, text: str) -> str:
    number = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>'
    inside = f'<w:pStyle w:val="{style}"/>' if style else ""
    inside += number if style == "ListParagraph" else ""
    run = text if text == "&x;" else escape(text)
    return f"<w:p><w:pPr>{inside}</w:pPr><w:r><w:t>{run}</w:t></w:r></w:p>"


def _docx_table(rows: Sequence[Row]) -> str:
    lines = ""
    for row in rows:
        cells = "".join(f"<w:tc>{_docx_line('', str(cell))}</w:tc>" for cell in row)
        lines += f"<w:tr>{cells}</w:tr>"
    return f"<w:tbl>{lines}</w:tbl>"


def _slide(title: str, lines: Sequence[str], table: Sequence[Row]) -> str:
    def shape(number: int, kind: str, texts: Sequence[str]) -> str:
        body = "".join(f"<a:p><a:r><a:t>{escape(text)}</a:t></a:r></a:p>" for text in texts)
        return (
            f'<p:sp><p:nvSpPr><p:cNvPr id="{number}" name="{kind}"/><p:cNvSpPr/>'
            f'<p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr><p:spPr/>'
            f"<p:txBody><a:bodyPr/>{body}</p:txBody></p:sp>"
        )

    frame = ""
    if table:
        rows = ""
        for row in table:
            cells = "".join(
                f"<a:tc><a:txBody><a:bodyPr/><a:p><a:r><a:t>{escape(str(cell))}</a:t></a:r></a:p>"
                "</a:txBody></a:tc>"
                for cell in row
            )
            rows += f'<a:tr h="1">{cells}</a:tr>'
        frame = (
            '<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="9" name="t"/>'
            "<p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr><a:graphic>"
            '<a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/table">'
            f"<a:tbl>{rows}</a:tbl></a:graphicData></a:graphic></p:graphicFrame>"
        )
    shapes = shape(2, "title", [title]) + shape(3, "body", lines) + frame
    return (
        f'<p:sld xmlns:p="{_P}" xmlns:a="{_A}"><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld>'
        "</p:sld>"
    )


def _sheet_row(index: int, row: Row) -> str:
    cells = ""
    for column, cell in enumerate(row):
        place = f"{chr(ord('A') + column)}{index}"
        if isinstance(cell, str):
            cells += f'<c r="{place}" t="inlineStr"><is><t>{escape(cell)}</t></is></c>'
        else:
            cells += f'<c r="{place}"><v>{cell}</v></c>'
    return f'<row r="{index}">{cells}</row>'


def _relations(targets: Sequence[tuple[str, str]]) -> str:
    entries = "".join(
        f'<Relationship Id="rId{number}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(targets, 1)
    )
    return f'<Relationships xmlns="{_PACKAGE}">{entries}</Relationships>'


def _package(
    path: Path, main: str, files: dict[str, str], kinds: dict[str, str], title: str = ""
) -> Path:
    overrides = "".join(
        f'<Override PartName="/{name}" ContentType="{kind}"/>' for name, kind in kinds.items()
    )
    content_types = (
        f'<Types xmlns="{_TYPES}"><Default Extension="xml" ContentType="application/xml"/>'
        '<Default Extension="rels" ContentType='
        f'"application/vnd.openxmlformats-package.relationships+xml"/>{overrides}</Types>'
    )
    core = (
        "<cp:coreProperties xmlns:cp="
        '"http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{escape(title)}</dc:title></cp:coreProperties>"
    )
    relations = (
        f'<Relationships xmlns="{_PACKAGE}">'
        f'<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="{main}"/>'
        '<Relationship Id="rId2" Type="http://schemas.openxmlformats.org/package/2006/'
        'relationships/metadata/core-properties" Target="docProps/core.xml"/></Relationships>'
    )
    everything = {
        "[Content_Types].xml": content_types,
        "_rels/.rels": relations,
        "docProps/core.xml": core,
        **files,
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        for name, text in everything.items():
            package.writestr(name, _XML + text)
    return path
