"""Small files that look harmless and take a parser's whole time, each kind made in any size."""

# ruff: noqa: E501
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from itertools import count, islice

from tests.ingest.pdf_files import pdf_bytes

Make = Callable[[int], bytes]
"""Makes a file of about so many bytes."""


def _repeated(*pieces: str, before: str = "", after: str = "") -> Make:
    """Each piece in turn, as often as it fits."""

    def make(size: int) -> bytes:
        each = max(1, (size - len(before) - len(after)) // sum(map(len, pieces)))
        return (before + "".join(piece * each for piece in pieces) + after).encode()

    return make


def _numbered(pattern: str, before: str = "", after: str = "") -> Make:
    """A pattern with another number each time, as often as it fits."""

    def make(size: int) -> bytes:
        lines = islice(count(), max(1, size // (len(pattern) + 4)))
        return (before + "".join(pattern.replace("%", str(n)) for n in lines) + after).encode()

    return make


def _lines(prefix: str, text: str = "a", before: str = "") -> Make:
    """Lines, each deeper in than the one above it."""

    def make(size: int) -> bytes:
        depth = int((2 * size / len(prefix)) ** 0.5)
        return (before + "".join(f"{prefix * n}{text}\n" for n in range(depth))).encode()

    return make


def _zipped(members: Mapping[str, Make], stored: str = "") -> Make:
    def make(size: int) -> bytes:
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
            if stored:
                archive.writestr("mimetype", stored, zipfile.ZIP_STORED)
            for name, content in members.items():
                archive.writestr(name, content(size))
        return data.getvalue()

    return make


def _fixed(text: str) -> Make:
    return lambda size: text.encode()


_ODF = (
    '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" office:version="1.3">'
    "<office:body><office:{kind}>"
)
_ODF_END = "</office:{kind}></office:body></office:document-content>"


def _odf(kind: str, body: Make) -> Make:
    def content(size: int) -> bytes:
        parts = (_ODF.format(kind=kind).encode(), body(size), _ODF_END.format(kind=kind).encode())
        return b"".join(parts)

    return _zipped({"content.xml": content}, f"application/vnd.oasis.opendocument.{kind}")


def _docx(body: Make) -> Make:
    def content(size: int) -> bytes:
        return (
            b'<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
            b"<w:body>" + body(size) + b"</w:body></w:document>"
        )

    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    return _office("word/document.xml", kind, content)


def _office(part: str, kind: str, content: Make, **others: Make) -> Make:
    types = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.'
        'relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/{part}" ContentType="{kind}"/></Types>'
    )
    relations = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        '<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/'
        f'relationships/officeDocument" Target="{part}"/></Relationships>'
    )
    fixed = {"[Content_Types].xml": _fixed(types), "_rels/.rels": _fixed(relations)}
    return _zipped({**fixed, part: content, **others})


def _xlsx(sheet: Make) -> Make:
    namespace = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    book = (
        f'<workbook {namespace} xmlns:r="{relations}"><sheets>'
        '<sheet name="One" sheetId="1" r:id="rId1"/></sheets></workbook>'
    )
    related = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="rId1" Type="{relations}/worksheet" Target="worksheets/sheet1.xml"/>'
        "</Relationships>"
    )

    def content(size: int) -> bytes:
        return f"<worksheet {namespace}>".encode() + sheet(size) + b"</worksheet>"

    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"
    parts = {"xl/_rels/workbook.xml.rels": _fixed(related), "xl/worksheets/sheet1.xml": content}
    return _office("xl/workbook.xml", kind, _fixed(book), **parts)


def _mail(headers: str, body: str = "Words.") -> bytes:
    return f"From: a@example.com\nSubject: A\n{headers}\n\n{body}\n".encode()


def _nested_mail(size: int) -> bytes:
    part = b"--x\nContent-Type: multipart/mixed; boundary=x\n\n"
    return (
        b"From: a@example.com\nContent-Type: multipart/mixed; boundary=x\n\n"
        + part * (size // len(part))
        + b"--x\n\nWords.\n"
    )


def _mail_parts(size: int) -> bytes:
    head = b"From: a@example.com\nContent-Type: multipart/mixed; boundary=x\n\n"
    return head + b"--x\n\na\n" * (size // 7) + b"--x--\n"


def _notebook(size: int) -> bytes:
    cell = {"cell_type": "markdown", "metadata": {}, "source": ["*a **a " * (size // 7)]}
    return json.dumps(
        {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    ).encode()


def _wide_notebook(size: int) -> bytes:
    cell = {"cell_type": "markdown", "metadata": {}, "source": ["# a\n"]}
    cells = [cell] * (size // 70)
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def _epub(contents: Make, chapter: Make) -> Make:
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="a.opf" media-type="application/oebps-package+xml"/>'
        "</rootfiles></container>"
    )
    opf = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata/><manifest>'
        '<item id="c" href="c.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="n" href="n.ncx" media-type="application/x-dtbncx+xml"/>'
        '<item id="t" href="t.xhtml" properties="nav" media-type="application/xhtml+xml"/>'
        '</manifest><spine toc="n">' + '<itemref idref="c"/>' * 2000 + "</spine></package>"
    )
    return _zipped(
        {
            "META-INF/container.xml": _fixed(container),
            "a.opf": _fixed(opf),
            "c.xhtml": chapter,
            "t.xhtml": contents,
        },
        "application/epub+zip",
    )


def _aliases(size: int) -> bytes:
    levels = "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(9)
    )
    return f"a: &a [x, x]\n{levels}".encode() + b"# more\n" * (size // 7)


def _shared_yaml(size: int) -> bytes:
    half = size // 2
    return ("a: &a {" + ", ".join(f"k{n}: 1" for n in range(half // 9)) + "}\n").encode() + (
        b"b:\n" + b"- {<<: *a}\n" * (half // 11)
    )


def _attributes(size: int) -> bytes:
    names = islice(count(), size // 10)
    return ("<html><body><p " + " ".join(f"a{n}=1" for n in names) + ">Words.</p>").encode()


def _formatted(size: int) -> bytes:
    return b"<html><body>" + b"<b><i><a>" * (size // 9) + b"Words."


def _pdf_letters(size: int) -> bytes:
    """A page on which every letter stands by itself."""
    line = " ".join("abcdefghij" * 10)
    return pdf_bytes([[line] * (size // 200)])


BOMBS: Mapping[str, tuple[str, Make]] = {
    # Markdown
    "link definitions": ("md", _numbered("[a%]: b\n")),
    "link definitions without an end": ("md", _repeated("[a]: <b\n")),
    "half link definitions": ("md", _repeated("[a]: b 'c\n")),
    "links to definitions": ("md", _repeated("[a]: b\n\n", "[a] ")),
    "emphasis": ("md", _repeated("*a **a ")),
    "emphasis that closes": ("md", _repeated("*a_ ", "a* ")),
    "stars": ("md", _repeated("**")),
    "strikes": ("md", _repeated("~~a ")),
    "pictures": ("md", _repeated("![")),
    "pictures in pictures": ("md", _repeated("![a", "](b)")),
    "pictures in lines": ("md", _repeated("![a](b)\n")),
    "links": ("md", _repeated("[a](b")),
    "brackets": ("md", _repeated("[", "]")),
    "brackets that open": ("md", _repeated("[")),
    "footnotes": ("md", _numbered("[^%]: a\n\n")),
    "marks of footnotes": ("md", _repeated("[^1] ", after="\n\n[^1]: a\n")),
    "footnotes in the text": ("md", _repeated("^[")),
    "entities": ("md", _repeated("&#35;&amp;")),
    "half entities": ("md", _repeated("&")),
    "backticks": (
        "md",
        lambda size: "".join("`" * n + "a" for n in range(1, int((2 * size) ** 0.5))).encode(),
    ),
    "backslashes": ("md", _repeated("\\*")),
    "autolinks": ("md", _repeated("<a:")),
    "tags": ("md", _repeated("a <!-- ")),
    "open tags": ("md", _repeated("a <b c='")),
    "CDATA": ("md", _repeated("a <![CDATA[ ")),
    "instructions": ("md", _repeated("a <?")),
    "quotes in quotes": ("md", _repeated("> ", after="a")),
    "deeper quotes": ("md", _lines("> ")),
    "quoted lines": ("md", _repeated(">" * 50 + "a\n")),
    "lists in lists": ("md", _repeated("- ", after="a")),
    "deeper lists": ("md", _lines("  ", "- a")),
    "many lists": ("md", _repeated("- a\n\n1. b\n\n")),
    "a long list": ("md", _repeated("- a\n")),
    "a wide table": (
        "md",
        lambda size: (
            b"|a" * (size // 6)
            + b"|\n"
            + b"|-" * (size // 6)
            + b"|\n"
            + b"|b" * (size // 6)
            + b"|\n"
        ),
    ),
    "a table of short rows": (
        "md",
        lambda size: (
            b"|a" * (size // 8) + b"|\n" + b"|-" * (size // 8) + b"|\n" + b"|b|\n" * (size // 8)
        ),
    ),
    "half a table": ("md", _repeated("a | b\n")),
    "terms": ("md", _repeated("a\n: b\n\n")),
    "containers": ("md", _repeated("::: note\n")),
    "deeper containers": (
        "md",
        lambda size: "".join(
            f"{':' * n} note\n" for n in range(int((2 * size) ** 0.5), 2, -1)
        ).encode(),
    ),
    "indented notes": ("md", _lines("    ", "!!! note")),
    "half notes": ("md", _repeated("!!! note\n")),
    "open fences": ("md", _repeated("```\na\n~~~\n")),
    "headings": ("md", _repeated("# a\n")),
    "underlines": ("md", _repeated("a\n", before="", after="===")),
    "attributes in braces": ("md", _repeated("a {: #b ")),
    "Liquid": ("md", _repeated("{% ")),
    "wiki links": ("md", _repeated("[[a|")),
    "roles": ("md", _repeated("{a}`b <c")),
    "marked": ("md", _repeated("==a ")),
    "keys": ("md", _repeated("++a")),
    "abbreviations": ("md", _numbered("*[a%]: b\n")),
    "HTML in Markdown": ("md", _repeated("<div>\n\n")),
    "front matter": ("md", _repeated("a: [\n", before="---\n", after="\n---\n")),
    "one long word": ("md", _repeated("a")),
    "white space": ("md", _repeated(" ", after="a")),
    "line breaks": ("md", _repeated("a  \n")),
    "deeper code": ("md", _lines("\t", "a")),
    # reStructuredText
    "titles": ("rst", _repeated("a\n=\n\n")),
    "titles over titles": ("rst", _numbered("=====\na%\n=====\n\n")),
    "levels of titles": (
        "rst",
        lambda size: "".join(
            f"a\n{s}\n\n" for s in "!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~" * (size // 150)
        ).encode(),
    ),
    "RST stars": ("rst", _repeated("*a ")),
    "RST strong": ("rst", _repeated("**a ")),
    "RST roles": ("rst", _repeated(":a:`b ")),
    "RST backticks": ("rst", _repeated("`a ")),
    "RST bars": ("rst", _repeated("|a ")),
    "RST references": ("rst", _repeated("a_ ")),
    "RST words": ("rst", _repeated("a ")),
    "RST targets": ("rst", _numbered(".. _a%: b\n")),
    "RST chained targets": ("rst", _numbered(".. _a%:\n")),
    "RST equal targets": ("rst", _repeated(".. _a:\n\nb\n\n")),
    "RST footnotes": ("rst", _repeated(".. [#] a\n")),
    "RST footnote marks": ("rst", _repeated("[#]_ ")),
    "RST substitutions": (
        "rst",
        lambda size: (
            b".. |a0| replace:: a\n"
            + "".join(
                f".. |a{n + 1}| replace:: |a{n}| |a{n}|\n" for n in range(size // 32)
            ).encode()
            + b"\n|a25|\n"
        ),
    ),
    "RST deeper": ("rst", _lines(" ", "a")),
    "RST deeper quotes": ("rst", _lines(" ", "a\n")),
    "RST lists": ("rst", _repeated("- a\n")),
    "RST lists in a line": ("rst", _repeated("- ", after="a")),
    "RST numbers": ("rst", _repeated("1. a\n\n")),
    "RST fields": ("rst", _numbered(":a%: b\n")),
    "RST options": ("rst", _repeated("-a  b\n")),
    "RST terms": ("rst", _repeated("a\n  b\n")),
    "RST lines": ("rst", _repeated("| a\n")),
    "RST deeper lines": (
        "rst",
        lambda size: "".join(f"|{' ' * n}a\n" for n in range(1, int((2 * size) ** 0.5))).encode(),
    ),
    "RST grid": (
        "rst",
        lambda size: (
            ("+--" * 60 + "+\n" + "|a " * 60 + "|\n") * (size // 365) + "+--" * 60 + "+\n"
        ).encode(),
    ),
    "RST wide grid": (
        "rst",
        lambda size: (
            "+-" * (size // 6) + "+\n" + "|a" * (size // 6) + "|\n" + "+-" * (size // 6) + "+\n"
        ).encode(),
    ),
    "RST one column": ("rst", _repeated("+--+\n|a |\n", after="+--+\n")),
    "RST simple table": ("rst", lambda size: ("= =\n" + "a b\n" * (size // 4) + "= =\n").encode()),
    "RST wide table": (
        "rst",
        lambda size: (
            "= " * (size // 6) + "\n" + "a " * (size // 6) + "\n" + "= " * (size // 6) + "\n"
        ).encode(),
    ),
    "RST broken table": ("rst", _repeated("+-+\n")),
    "RST directives": ("rst", _repeated(".. note::\n\n   a\n\n")),
    "RST unknown directives": ("rst", _repeated(".. a::\n\n   b\n\n")),
    "RST deeper directives": (
        "rst",
        lambda size: "".join(
            f"{'   ' * n}.. note::\n\n" for n in range(int((2 * size / 3) ** 0.5))
        ).encode(),
    ),
    "RST CSV": ("rst", lambda size: b".. csv-table::\n\n" + b"   " + b"a," * (size // 2) + b"\n"),
    "RST list table": (
        "rst",
        lambda size: b".. list-table::\n\n" + b"   * - a\n     - b\n" * (size // 20),
    ),
    "RST code": ("rst", _repeated(".. code:: python\n\n   (" + "(" * 50 + "\n\n")),
    "RST literal": ("rst", _repeated("a::\n\n  b\n\n")),
    "RST addresses": ("rst", _repeated("http://a.b")),
    "RST mail": ("rst", _repeated("a.")),
    "RST comments": ("rst", _repeated(".. a\n")),
    "RST includes": ("rst", _repeated(".. include:: a\n")),
    "RST contents": ("rst", _repeated(".. contents::\n\na\n-\n\n")),
    "RST replacements in titles": ("rst", _repeated("|a|\n===\n\n")),
    "RST transitions": ("rst", _repeated("----\n\n")),
    "RST duplicate titles": ("rst", _repeated("Title\n-----\n\n`Title`_\n\n")),
    # AsciiDoc
    "AsciiDoc attributes": ("adoc", _numbered(":a%: {a}\n", after="\n{a1}\n")),
    "AsciiDoc growing attributes": (
        "adoc",
        lambda size: (
            (
                ":a0: aaaaaaaa\n"
                + "".join(f":a{n + 1}: {{a{n}}}{{a{n}}}\n" for n in range(40))
                + "\n{a40}\n"
            ).encode()
            + b"a\n" * (size // 2)
        ),
    ),
    "AsciiDoc stars": ("adoc", _repeated("*a _b ")),
    "AsciiDoc links": ("adoc", _repeated("link:a[")),
    "AsciiDoc macros": ("adoc", _repeated("a:b[")),
    "AsciiDoc references": ("adoc", _repeated("<<a,")),
    "AsciiDoc pass": ("adoc", _repeated("+++a pass:[")),
    "AsciiDoc blocks": ("adoc", _repeated("====\na\n")),
    "AsciiDoc deeper blocks": (
        "adoc",
        lambda size: "".join(f"{'=' * n}\n" for n in range(4, int((2 * size) ** 0.5))).encode(),
    ),
    "AsciiDoc lists": ("adoc", _lines("*", " a")),
    "AsciiDoc tables": ("adoc", lambda size: b"|===\n" + b"|a" * (size // 2) + b"\n|===\n"),
    "AsciiDoc spans": ("adoc", lambda size: b"|===\n" + b"100000+|a\n" * (size // 10) + b"|===\n"),
    "AsciiDoc columns": (
        "adoc",
        lambda size: b'[cols="1000000*"]\n|===\n|a\n|===\n' + b"a\n" * (size // 2),
    ),
    "AsciiDoc copied cells": (
        "adoc",
        lambda size: b"|===\n" + b"1000000*|a\n" * (size // 11) + b"|===\n",
    ),
    "AsciiDoc conditions": ("adoc", _repeated("ifdef::a[]\n")),
    "AsciiDoc continuations": ("adoc", _repeated("* a\n+\nb\n")),
    "AsciiDoc backticks": ("adoc", _repeated("`a ")),
    # Settings
    "dotted TOML keys": ("toml", lambda size: b"a" + b".a" * (size // 2) + b"=1\n"),
    "many dotted TOML keys": (
        "toml",
        lambda size: "".join(f"{'.'.join('a' * 90)}.b{n}=1\n" for n in range(size // 190)).encode(),
    ),
    "dotted TOML tables": (
        "toml",
        lambda size: "".join(f"[{'.'.join('a' * 90)}.b{n}]\n" for n in range(size // 190)).encode(),
    ),
    "TOML tables": ("toml", _numbered("[a%]\n")),
    "TOML array tables": ("toml", _repeated("[[a]]\n")),
    "TOML arrays": ("toml", _repeated("[", before="a=", after="")),
    "TOML inline": ("toml", _numbered("b%=1, ", before="a={", after="c=1}\n")),
    "TOML text": ("toml", _repeated("\\n", before='a="', after='"\n')),
    "TOML numbers": ("toml", _repeated("9", before="a=", after="\n")),
    "TOML lines": ("toml", _repeated("\n")),
    "YAML aliases": ("yaml", _aliases),
    "YAML merges": ("yaml", _shared_yaml),
    "YAML flow": ("yaml", _repeated("[", before="a: ", after="")),
    "YAML deeper": ("yaml", _lines(" ", "a:")),
    "YAML numbers": ("yaml", _repeated("9", before="a: ", after="\n")),
    "YAML keys": ("yaml", _repeated("? a\n")),
    "YAML text": ("yaml", _repeated("\\n", before='a: "', after='"\n')),
    "YAML anchors": ("yaml", _numbered("- &a% b\n")),
    "YAML documents": ("yaml", _repeated("---\n")),
    "YAML equal keys": ("yaml", _repeated("a: 1\n")),
    "YAML tags": ("yaml", _repeated("- !!set {a}\n")),
    "YAML spaces": ("yaml", _repeated(" ", before="a: b", after="c\n")),
    "YAML lines": ("yaml", _repeated("\n", before="a: 'b", after="'\n")),
    "INI sections": ("ini", _numbered("[a%]\nb=1\n")),
    "INI defaults": (
        "ini",
        lambda size: (
            "[DEFAULT]\n"
            + "".join(f"a{n}=1\n" for n in range(size // 16))
            + "".join(f"[b{n}]\n" for n in range(size // 16))
        ).encode(),
    ),
    "INI continuations": ("ini", _repeated(" b\n", before="[a]\na=1\n")),
    # JSON
    "duplicate keys": (
        "jsonl",
        lambda size: (
            b"{"
            + b'"a":{"b":' * 200
            + b"1"
            + b"}" * 400
            + b"\n"
            + b'{"a":1,"a":1}\n' * (size // 14)
        ),
    ),
    "JSON lines": ("jsonl", _repeated("{}\n")),
    "JSON other keys": ("jsonl", _numbered('{"a%":"","b%":1}\n')),
    "duplicate keys in a line": (
        "jsonl",
        lambda size: b"{" + b",".join([b'"a":""'] * (size // 7)) + b"}\n",
    ),
    "keys without values": (
        "jsonl",
        lambda size: ("{" + ",".join(f'"a{n}":""' for n in range(size // 12)) + "}\n").encode(),
    ),
    "JSON depth": ("json", _repeated('{"a":', "1", "}")),
    "JSON arrays in arrays": ("json", _repeated("[", "]")),
    "JSON deep names": (
        "jsonl",
        lambda size: (
            ('{"' + "a" * 900 + '":').encode() * (size // 1000)
            + b"1"
            + b"}" * (size // 1000)
            + b"\n"
        ),
    ),
    "JSON wide and deep": (
        "json",
        lambda size: b"[" + b"[" * 900 + b",".join([b"[]"] * (size // 3)) + b"]" * 901,
    ),
    "JSON deep leaves": (
        "json",
        lambda size: (
            '{"aaaaaaaaaaaaaaaa":' * 900
            + "{"
            + ",".join(f'"b{n}":1' for n in range(size // 9))
            + "}" * 901
        ).encode(),
    ),
    "JSON numbers": ("json", _repeated("9")),
    "JSON values": ("json", _repeated("[] ")),
    "JSON text without an end": ("json", _repeated("a", before='["')),
    "JSON half values": ("json", _repeated("{", before="", after="")),
    "JSON white space": ("json", _repeated(" ", before='{"a":[', after="]}")),
    "notebook emphasis": ("ipynb", _notebook),
    "notebook cells": ("ipynb", _wide_notebook),
    # Tables
    "CSV columns": ("csv", _repeated("a,")),
    "CSV names and short rows": (
        "csv",
        lambda size: b"a," * (size // 4) + b"\n" + b"b\n" * (size // 4),
    ),
    "CSV short and wide rows": (
        "csv",
        lambda size: b"b,c\n" * (size // 8) + b"a," * (size // 4) + b"\n",
    ),
    "CSV quotes": ("csv", _repeated('"a')),
    "CSV rows": ("csv", _repeated("a\n")),
    "CSV different rows": ("csv", _lines("a,", "b")),
    "CSV empty": ("csv", _repeated(",\n")),
    "CSV numbers": ("csv", _repeated("1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1x,2\n")),
    "CSV figures": (
        "csv",
        lambda size: b"a,b\n" + b"1" * (size // 2) + b"x," + b"1," * (size // 4) + b"\n",
    ),
    "CSV semicolons": ("csv", _repeated(";,|\t")),
    # HTML
    "colspans": ("html", _repeated("<td colspan=1000>a", before="<table><tr>")),
    "rowspans": ("html", _repeated("<tr><td rowspan=65534>a", before="<table>")),
    "both spans": ("html", _repeated("<tr><td rowspan=65534 colspan=1000>a", before="<table>")),
    "tables in tables": ("html", _repeated("<table><tr><td>a")),
    "cells": ("html", _repeated("<td>a", before="<table><tr>")),
    "rows": ("html", _repeated("<tr><td>a", before="<table>")),
    "rows of other widths": (
        "html",
        lambda size: b"<table><tr>" + b"<td>a" * (size // 10) + b"<tr><td>b" * (size // 18),
    ),
    "columns": ("html", _repeated("<col span=1000>", before="<table>", after="<tr><td>a")),
    "HTML lists": ("html", _repeated("<ul><li>a")),
    "HTML items": ("html", _repeated("<li>a", before="<ol>")),
    "HTML depth": ("html", _repeated("<div>a")),
    "HTML spans": ("html", _repeated("<span>a", before="<p>")),
    "HTML formats": ("html", _formatted),
    "HTML blocks in links": ("html", _repeated("<a><div>a")),
    "HTML paragraphs": ("html", _repeated("<p>a")),
    "HTML attributes": ("html", _attributes),
    "HTML class names": ("html", _repeated("a-", before="<p class='", after="'>Words.")),
    "HTML menus": ("html", _repeated("<div class=toc>a")),
    "HTML menus side by side": ("html", _repeated("<nav>a</nav>", before="<p>Words.")),
    "HTML forms": ("html", _repeated("<form>a</form>")),
    "HTML noscript": ("html", _repeated("<noscript>a")),
    "HTML quotes": ("html", _repeated("<blockquote>a")),
    "HTML notes": ("html", _repeated("<div class=note>a")),
    "HTML comments": ("html", _repeated("<!-- ")),
    "HTML entities": ("html", _repeated("&amp;&#35;")),
    "HTML breaks": ("html", _repeated("a<br>")),
    "HTML inline": ("html", _repeated("<b>a</b>")),
    "HTML pictures": ("html", _numbered("<img alt=a src=b%>")),
    "HTML pre": ("html", _repeated("<pre>a")),
    "HTML code": ("html", _repeated("<code>`")),
    "HTML terms": ("html", _repeated("<dl><dt>a<dd>b")),
    "HTML headings": ("html", _repeated("<h1>a")),
    "HTML math": ("html", _repeated("<math><mi>a")),
    "HTML anchors": ("html", _numbered("<a href=#a%>b</a><p id=a%>c")),
    "HTML articles": ("html", _repeated("<article><p>Some words of an article. ")),
    "HTML definition": ("html", _repeated("<details><summary>a")),
    "HTML style": ("html", _repeated("<p style='display:none'>a")),
    "HTML metadata": ("html", _numbered("<meta name=a% content=b>")),
    "HTML ruby": ("html", _repeated("<ruby>a<rt>b")),
    # Mail
    "MIME parameters": (
        "eml",
        lambda size: _mail("Content-Type: text/plain" + "; a=b" * (size // 5)),
    ),
    "MIME continued parameters": (
        "eml",
        lambda size: _mail(
            "Content-Type: text/plain" + "".join(f"; a*{n}=b" for n in range(size // 10))
        ),
    ),
    "MIME parameters in lines": (
        "eml",
        lambda size: _mail("Content-Type: text/plain" + ";\n a=b" * (size // 7)),
    ),
    "MIME names of files": (
        "eml",
        lambda size: _mail(
            "Content-Disposition: attachment"
            + "".join(f"; filename*{n}*=b" for n in range(size // 18))
        ),
    ),
    "mail addresses": ("eml", lambda size: _mail("To: " + "a@b.c," * (size // 6))),
    "mail groups": ("eml", lambda size: _mail("To: " + "a:" * (size // 2))),
    "mail comments": ("eml", lambda size: _mail("To: " + "(" * size)),
    "mail quotes": ("eml", lambda size: _mail("To: " + '"a' * (size // 2))),
    "mail angles": ("eml", lambda size: _mail("To: " + "<" * size)),
    "mail encoded words": (
        "eml",
        lambda size: _mail("Subject: " + "=?utf-8?q?a?= " * (size // 14)),
    ),
    "mail half encoded words": ("eml", lambda size: _mail("Subject: " + "=?" * (size // 2))),
    "mail headers": (
        "eml",
        lambda size: _mail("".join(f"X-{n}: a\n" for n in range(size // 10)) + "X: a"),
    ),
    "mail equal headers": ("eml", lambda size: _mail("To: a@b.c\n" * (size // 10) + "X: a")),
    "mail long header": ("eml", lambda size: _mail("Subject: " + "a " * (size // 2))),
    "mail folded header": ("eml", lambda size: _mail("Subject: a" + "\n a" * (size // 3))),
    "mail dates": ("eml", lambda size: _mail("Date: " + "1 " * (size // 2))),
    "mail identities": ("eml", lambda size: _mail("Message-ID: " + "<a@" * (size // 3))),
    "mail in mail": ("eml", _nested_mail),
    "mail parts": ("eml", _mail_parts),
    "mail messages": (
        "eml",
        lambda size: (
            b"From: a@b.c\nContent-Type: message/rfc822\n\nContent-Type: message/rfc822\n\n"
            * (size // 80)
        ),
    ),
    "mail quoted text": ("eml", lambda size: _mail("X: a", ("> " * 50 + "a\n") * (size // 102))),
    "mail deeper quotes": (
        "eml",
        lambda size: _mail("X: a", "".join(f"{'>' * n}a\n" for n in range(int((2 * size) ** 0.5)))),
    ),
    "mail signatures": ("eml", lambda size: _mail("X: a", "-- \na\n" * (size // 6))),
    "mail quoted printable": (
        "eml",
        lambda size: _mail("Content-Transfer-Encoding: quoted-printable", "=" * size),
    ),
    "mail base64": ("eml", lambda size: _mail("Content-Transfer-Encoding: base64", "=" * size)),
    "mail boxes": ("mbox", _repeated("From a\n\n\n")),
    "mail box parameters": (
        "mbox",
        lambda size: (
            b"From a Mon Jan  1 00:00:00 2024\n"
            + _mail("Content-Type: text/plain" + "; a=b" * (size // 5))
        ),
    ),
    # Rich text
    "RTF groups": ("rtf", lambda size: b"{\\rtf1 " + b"{" * size),
    "RTF closed groups": ("rtf", lambda size: b"{\\rtf1 " + b"{a}" * (size // 3) + b"}"),
    "RTF deep groups": (
        "rtf",
        lambda size: b"{\\rtf1 " + b"{\\b a" * (size // 6) + b"}" * (size // 6) + b"}",
    ),
    "RTF cells": (
        "rtf",
        lambda size: b"{\\rtf1 \\trowd" + b"\\cellx1 a\\cell" * (size // 14) + b"\\row}",
    ),
    "RTF rows": (
        "rtf",
        lambda size: b"{\\rtf1 " + b"\\trowd\\cellx1 a\\cell\\row" * (size // 25) + b"}",
    ),
    "RTF nested tables": (
        "rtf",
        lambda size: (
            b"{\\rtf1 " + b"".join(b"\\itap%d a\\nestcell" % n for n in range(size // 18)) + b"}"
        ),
    ),
    "RTF paragraphs": ("rtf", lambda size: b"{\\rtf1 " + b"a\\par " * (size // 6) + b"}"),
    "RTF Unicode": ("rtf", lambda size: b"{\\rtf1 " + b"\\uc9999 \\u1 a" * (size // 13) + b"}"),
    "RTF binary": ("rtf", lambda size: b"{\\rtf1 " + b"\\bin1 a" * (size // 7) + b"}"),
    "RTF fields": (
        "rtf",
        lambda size: b"{\\rtf1 " + b"{\\field{\\*\\fldinst a}{\\fldrslt " * (size // 32) + b"}",
    ),
    "RTF lists": (
        "rtf",
        lambda size: b"{\\rtf1 {\\*\\listtable" + b"{\\list{\\listlevel" * (size // 17) + b"}",
    ),
    "RTF fonts": (
        "rtf",
        lambda size: (
            b"{\\rtf1 {\\fonttbl" + b"".join(b"{\\f%d a;}" % n for n in range(size // 12)) + b"}a}"
        ),
    ),
    "RTF bytes": ("rtf", lambda size: b"{\\rtf1 " + b"\\'e4" * (size // 4) + b"}"),
    # Packages
    "ODS rows": (
        "ods",
        _odf(
            "spreadsheet",
            _fixed(
                '<table:table><table:table-row table:number-rows-repeated="1048576"><table:table-cell table:number-columns-repeated="16384"><text:p>a</text:p></table:table-cell></table:table-row></table:table>'
            ),
        ),
    ),
    "ODS many repeated rows": (
        "ods",
        _odf(
            "spreadsheet",
            _repeated(
                '<table:table-row table:number-rows-repeated="1048576"><table:table-cell table:number-columns-repeated="16384"><text:p>a</text:p></table:table-cell></table:table-row>',
                before="<table:table>",
                after="</table:table>",
            ),
        ),
    ),
    "ODS columns": (
        "ods",
        _odf(
            "spreadsheet",
            _repeated(
                '<table:table-cell table:number-columns-repeated="16384"><text:p>a</text:p></table:table-cell>',
                before="<table:table><table:table-row>",
                after="</table:table-row></table:table>",
            ),
        ),
    ),
    "ODS spans": (
        "ods",
        _odf(
            "spreadsheet",
            _repeated(
                '<table:table-row><table:table-cell table:number-columns-spanned="16384" table:number-rows-spanned="1048576"><text:p>a</text:p></table:table-cell></table:table-row>',
                before="<table:table>",
                after="</table:table>",
            ),
        ),
    ),
    "ODT tables in tables": (
        "odt",
        _odf(
            "text",
            lambda size: (
                b"<table:table><table:table-row><table:table-cell>" * min(size // 100, 200)
                + b"<text:p>a</text:p>"
                + b"</table:table-cell></table:table-row></table:table>" * min(size // 100, 200)
            ),
        ),
    ),
    "ODT lists": (
        "odt",
        _odf(
            "text",
            lambda size: (
                b"<text:list><text:list-item>" * min(size // 60, 200)
                + b"<text:p>a</text:p>"
                + b"</text:list-item></text:list>" * min(size // 60, 200)
            ),
        ),
    ),
    "ODT items with others": (
        "odt",
        _odf(
            "text",
            lambda size: (
                b"<text:list>"
                + b"<text:list-item><text:section/></text:list-item>" * (size // 50)
                + b"</text:list>"
            ),
        ),
    ),
    "ODT wide items": (
        "odt",
        _odf(
            "text",
            lambda size: (
                b"<text:list><text:list-item><text:list>" * 30
                + b"<text:list-item><text:section/><text:p>a</text:p></text:list-item>"
                * (size // 65)
                + b"</text:list></text:list-item></text:list>" * 30
            ),
        ),
    ),
    "ODT spaces": (
        "odt",
        _odf(
            "text", _repeated('<text:s text:c="999999999"/>', before="<text:p>", after="a</text:p>")
        ),
    ),
    "ODT styles": ("odt", _odf("text", _numbered('<text:p text:style-name="a%">a</text:p>'))),
    "DOCX tables in tables": (
        "docx",
        _docx(
            lambda size: (
                b"<w:tbl><w:tr><w:tc>" * min(size // 38, 80)
                + b"<w:p><w:r><w:t>a</w:t></w:r></w:p>"
                + b"</w:tc></w:tr></w:tbl>" * min(size // 38, 80)
            )
        ),
    ),
    "DOCX side by side in tables": (
        "docx",
        _docx(
            lambda size: (
                b"<w:tbl><w:tr><w:tc>" * 40
                + b"<w:p><w:r><w:t>a</w:t></w:r></w:p>" * (size // 34)
                + b"</w:tc></w:tr></w:tbl>" * 40
            )
        ),
    ),
    "DOCX spans": (
        "docx",
        _docx(
            _repeated(
                '<w:tr><w:tc><w:tcPr><w:gridSpan w:val="999999"/></w:tcPr><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc></w:tr>',
                before="<w:tbl>",
                after="</w:tbl>",
            )
        ),
    ),
    "DOCX skipped cells": (
        "docx",
        _docx(
            _repeated(
                '<w:tr><w:trPr><w:gridBefore w:val="999999"/></w:trPr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc></w:tr>',
                before="<w:tbl>",
                after="</w:tbl>",
            )
        ),
    ),
    "DOCX runs": (
        "docx",
        _docx(_repeated("<w:r><w:t>a</w:t></w:r>", before="<w:p>", after="</w:p>")),
    ),
    "DOCX paragraphs": ("docx", _docx(_repeated("<w:p/>"))),
    "DOCX fields": (
        "docx",
        _docx(
            _repeated(
                '<w:r><w:fldChar w:fldCharType="begin"/></w:r>', before="<w:p>", after="</w:p>"
            )
        ),
    ),
    "DOCX rows": (
        "docx",
        _docx(_repeated("<w:tr><w:tc><w:p/></w:tc></w:tr>", before="<w:tbl>", after="</w:tbl>")),
    ),
    "DOCX boxes": (
        "docx",
        _docx(
            lambda size: (
                b"<w:p><w:r><w:txbxContent>" * min(size // 55, 80)
                + b"<w:p><w:r><w:t>a</w:t></w:r></w:p>"
                + b"</w:txbxContent></w:r></w:p>" * min(size // 55, 80)
            )
        ),
    ),
    "XML depth": ("docx", _docx(lambda size: b"<w:p>" * (size // 11) + b"</w:p>" * (size // 11))),
    "XLSX cells": (
        "xlsx",
        _xlsx(
            _repeated(
                '<row><c r="XFD1" t="inlineStr"><is><t>a</t></is></c></row>',
                before="<sheetData>",
                after="</sheetData>",
            )
        ),
    ),
    "XLSX row numbers": (
        "xlsx",
        _xlsx(
            _fixed(
                '<sheetData><row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
            )
        ),
    ),
    "XLSX merged": (
        "xlsx",
        _xlsx(
            _repeated(
                '<mergeCell ref="A1:XFD1048576"/>',
                before='<sheetData><row r="1"><c r="A1"><v>1</v></c></row></sheetData><mergeCells>',
                after="</mergeCells>",
            )
        ),
    ),
    "XLSX merged rows": (
        "xlsx",
        _xlsx(
            lambda size: (
                b"<sheetData>"
                + b"".join(
                    b'<row r="%d"><c r="A%d"><v>1</v></c></row>' % (n, n)
                    for n in range(1, size // 80)
                )
                + b"</sheetData><mergeCells>"
                + b"".join(b'<mergeCell ref="A%d:XFD%d"/>' % (n, n) for n in range(1, size // 80))
                + b"</mergeCells>"
            )
        ),
    ),
    "XLSX without names": (
        "xlsx",
        _xlsx(_repeated("<row/>", before="<sheetData>", after="</sheetData>")),
    ),
    "EPUB chapters": (
        "epub",
        _epub(
            _fixed("<html/>"),
            lambda size: b"<html><body><p>" + b"a " * (size // 2) + b"</p></body></html>",
        ),
    ),
    "EPUB contents": (
        "epub",
        _epub(
            _numbered(
                '<li><a href="c.xhtml#a%">b</a></li>',
                before="<html xmlns='http://www.w3.org/1999/xhtml'><body><nav><ol>",
                after="</ol></nav></body></html>",
            ),
            _fixed("<html><body><p>a</p></body></html>"),
        ),
    ),
    "an archive of bombs": ("zip", _zipped({f"{n}.md": _repeated("*a **a ") for n in range(50)})),
    "an archive of many": (
        "zip",
        lambda size: _zipped({f"{n}.md": _fixed("a") for n in range(size // 100)})(size),
    ),
    # Text and code
    "text lines": ("txt", _repeated("a\n")),
    "text word": ("txt", _repeated("a")),
    "text spaces": ("txt", _repeated(" ", after="a")),
    "text titles": ("txt", _repeated("a\n-\n")),
    "text numbers": ("txt", _repeated("1.")),
    "text headings": ("txt", _repeated("1.1.1.1 A\n\n")),
    "text table": ("txt", _repeated("a  b  c\n")),
    "text stops": ("txt", _repeated(". ")),
    "text no spaces": ("txt", _repeated("字。")),
    "code quotes": ("py", _repeated('"""')),
    "code brackets": ("py", _repeated("(")),
    "code lines": ("py", _lines(" ", "if a:")),
    "code comments": ("js", _repeated("/*")),
    "code slashes": ("js", _repeated("/")),
    "code templates": ("js", _repeated("`${")),
    "code markup": ("jsx", _repeated("<a>")),
    "code angles": ("ts", _repeated("a<")),
    "code text": ("rs", _repeated('r#"')),
    "code shell": ("sh", _repeated("$((")),
    "code here": ("sh", _repeated("<<a\n")),
    "code SQL": ("sql", _repeated("(select ")),
    "code defines": ("c", _repeated("#if a\n")),
    "code PHP": ("php", _repeated("<?php ")),
    "code Ruby": ("rb", _repeated("%w(")),
    "code strings": ("cpp", _repeated('R"(')),
    "code functions": ("py", _repeated("def f():\n    pass\n")),
    # PDF
    "PDF letters": ("pdf", _pdf_letters),
}
"""The ending of the file's name and what makes it, by what it is."""
