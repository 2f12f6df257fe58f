"""Second, simple readers of every format: the words that a file must give.

A text of XML is taken element by element, a mail's or mailbox's by the standard library, markup by
taking its marks away, source code as it stands. An archive's is that of its members. A PDF is read
by pdfminer.six, where that is installed. `main_text` is what jusText, which knows no marks of main
parts but weighs words and links, takes for the text of a page.
"""

import csv
import email
import email.message
import email.policy
import importlib
import importlib.util
import json
import mailbox
import re
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

import justext
from lxml import etree

from ragstone.ingest.formats.decode import decode_file

_PARSER = etree.XMLParser(resolve_entities=False, no_network=True, recover=True, huge_tree=True)


def second(path: Path) -> str:
    """Return the text of a file as the second reader has it, empty where there is none for its
    ending or it cannot read the file."""
    try:
        return _READERS.get(path.suffix.lower(), lambda _: "")(path)
    except (OSError, ValueError, LookupError, zipfile.BadZipFile, etree.LxmlError, csv.Error):
        return ""


class _Text(HTMLParser):
    """All text of a page but for scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._silent += tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in ("script", "style") and self._silent > 0

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.parts.append(data)


def _page_text(source: str) -> str:
    reader = _Text()
    reader.feed(source)
    return " ".join(reader.parts)


@cache
def _common_words() -> frozenset[str]:
    languages = ("English", "German", "French", "Spanish", "Italian", "Portuguese", "Polish")
    return frozenset[str]().union(*map(justext.get_stoplist, languages))


def main_text(path: Path) -> str:
    """Return the text of a page without its menus, empty where there is none."""
    try:
        paragraphs = justext.justext(
            decode_file(path).encode("utf-8", "replace"), _common_words(), encoding="utf-8"
        )
    except (OSError, ValueError, etree.LxmlError):
        return ""
    return "\n".join(paragraph.text for paragraph in paragraphs if not paragraph.is_boilerplate)


def _markdown_text(source: str) -> str:
    source = re.sub(r"\A---\n.*?\n---\n", "", source, flags=re.DOTALL)
    source = re.sub(r"<!--.*?-->|^(?:import|export) .*$|```[^\n]*", "", source, flags=re.S | re.M)
    source = re.sub(r"\]\([^()]*(?:\([^()]*\))?[^()]*\)|^\[[^\]]+\]:.*$", "]", source, flags=re.M)
    return re.sub(r"</?[a-zA-Z][^<>]*>|\{[^{}\n]*\}", " ", source)


def _rst_text(source: str) -> str:
    silent = r"^( *)\.\. (?:toctree|include|literalinclude|auto\w+|raw|index)::.*\n"
    source = re.sub(rf"{silent}(?:\1 +.*\n|\s*\n)*", "", source, flags=re.M)
    source = re.sub(r"^ *\.\. (?:_.*|[\w:-]+::)", "", source, flags=re.M)
    source = re.sub(r"^ *:[\w-]+:.*$|<[^<>\n]+>`|:[\w:+-]+:(?=`)", "", source, flags=re.M)
    return re.sub(r"(?<=`)[~!][\w.]+\.(?=\w+`)", "", source)


def _asciidoc_text(source: str) -> str:
    source = re.sub(r"^/{4,}$.*?^/{4,}$", "", source, flags=re.M | re.S)
    source = re.sub(
        r"^(?::[\w!-]+:|\[[^\]\n]*\]$|//|include::|ifdef|endif|image::).*$", "", source, flags=re.M
    )
    source = re.sub(r"<<[^<>,\n]+[,>]|(?:link|xref|https?|image):[^\s\[\]]+", "", source)
    return re.sub(
        r"\[\[[^\[\]]*\]\]|\b(?:kbd|icon|pass:?\w*):?(?=\[)|,? *window=_blank", "", source
    )


_NAVIGATION = re.compile(r"<nav\b.*?</nav>", re.S)


def _book_text(path: Path) -> str:
    with zipfile.ZipFile(path) as book:
        names = [name for name in book.namelist() if name.endswith((".html", ".xhtml", ".htm"))]
        pages = (book.read(name).decode("utf-8", "replace") for name in names)
        return " ".join(_page_text(_NAVIGATION.sub("", page)) for page in pages)


def _xml(parts: str, texts: str, without: str = "") -> Callable[[Path], str]:
    """Return the texts of elements in the parts of a package, but below those of `without`."""

    def read(path: Path) -> str:
        found = []
        with zipfile.ZipFile(path) as package:
            for name in package.namelist():
                if not re.fullmatch(parts, name):
                    continue
                root = etree.fromstring(package.read(name), _PARSER)
                for item in root.xpath(without) if without else ():
                    item.clear(keep_tail=True)
                found += _texts(root, texts)
        return "".join(found)

    return read


def _texts(root: etree._Element, texts: str) -> Iterator[str]:
    for item in root.xpath(texts):
        last = item.getparent() is not None and item.getparent().tag.endswith("}p")
        yield f"{'' if last else ' '}{''.join(item.itertext())}"
        if item.tag.endswith(("}p", "}h")):
            yield "\n"


def _mail(path: Path) -> str:
    return _body(email.message_from_bytes(path.read_bytes(), policy=email.policy.default))


def _mails(path: Path) -> str:
    box = mailbox.mbox(path, create=False)
    messages = (email.message_from_bytes(box.get_bytes(key), policy=email.policy.default)
                for key in box.iterkeys())  # fmt: skip
    return "\n".join(f"{message.get('subject', '')}\n{_body(message)}" for message in messages)


def _body(message: email.message.EmailMessage) -> str:
    body = message.get_body(("plain",))
    return str(body.get_content()) if body else ""


def _table(path: Path) -> str:
    sample = decode_file(path)
    dialect = csv.Sniffer().sniff(sample[:5000], ",;\t|")
    rows = csv.reader(sample.splitlines(), dialect)
    return " ".join(cell for row in rows for cell in row)


def _of(simple: Callable[[str], str]) -> Callable[[Path], str]:
    return lambda path: simple(decode_file(path))


_ODF_DROPPED = "|".join(
    f"//*[local-name()='{name}']"
    for name in (
        "annotation",
        "tracked-changes",
        "table-of-content",
        "forms",
        "alphabetical-index",
        "content-validations",
    )
)
_LOCAL = "//*[local-name()='{}']"
_ODF = _xml(r"content\.xml", "|".join(map(_LOCAL.format, "ph")), _ODF_DROPPED)


def _json_text(source: str) -> str:
    """Return names and texts, one after another."""
    found: list[str] = []

    def taken(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found.extend(name for name, _ in pairs)
        return dict(pairs)

    rest: list[object] = [json.loads(source, object_pairs_hook=taken)]
    while rest:
        one = rest.pop()
        if isinstance(one, str):
            found.append(one)
        else:
            rest += one.values() if isinstance(one, dict) else one if isinstance(one, list) else []
    return " ".join(found)


def _notebook_text(source: str) -> str:
    """Return what stands in the cells, but not what they printed."""
    cells = json.loads(source).get("cells", ())
    return "\n".join("".join(cell.get("source", "")) for cell in cells)


_RTF = re.compile(
    r"\\(?P<word>[a-zA-Z]+)(?P<number>-?\d+)? ?|\\'(?P<hex>[0-9a-fA-F]{2})"
    r"|\\(?P<sign>[^a-zA-Z])|(?P<brace>[{}])|[\r\n]+|(?P<text>[^\\{}\r\n]+)"
)
_RTF_SILENT = re.compile(
    "fonttbl|colortbl|stylesheet|info|pict|header[lrf]?|footer[lrf]?|fldinst|listtable|themedata"
    "|listoverridetable|revtbl|rsidtbl|datastore|generator|object|bkmkstart|bkmkend|annotation|xe|tc"
    "|shpinst|latentstyles|colorschememapping|mmathPr"
)
_CHARSETS = {"161": "cp1253", "162": "cp1254", "186": "cp1257", "204": "cp1251", "238": "cp1250"}
_RTF_BREAKS = frozenset(("par", "line", "tab", "cell", "row", "page", "sect"))


def _rtf_text(path: Path) -> str:
    """Return the text of all groups but those of fonts, styles, pictures and the like."""
    source = path.read_text("latin-1")
    fonts = dict(re.findall(r"\\f(\d+)[^{};]*?\\fcharset(\d+)", source))
    parts: list[str] = []
    silent, font, held = False, "", list[tuple[bool, str]]()
    for match in _RTF.finditer(source):
        word = match["word"] or ""
        if match["brace"] == "{":
            held.append((silent, font))
        elif match["brace"]:
            silent, font = held.pop() if held else (False, "")
        elif match["sign"] == "*" or _RTF_SILENT.fullmatch(word):
            silent = True
        elif word == "f":
            font = match["number"] or ""
        elif not silent:
            parts.append(_rtf_part(match, _CHARSETS.get(fonts.get(font, ""), "cp1252")))
    return re.sub(f"{_NEXT}.?", "", "".join(parts))


_NEXT = "\0"
"""Stands before the sign that is for readers that know no Unicode."""


def _rtf_part(match: re.Match[str], letters: str) -> str:
    if match["hex"]:
        return bytes.fromhex(match["hex"]).decode(letters, "replace")
    if match["word"] == "u":
        return chr(int(match["number"] or 32) % 65536) + _NEXT
    return "\n" if match["word"] in _RTF_BREAKS else match["text"] or ""


def _pdf_text(path: Path) -> str:
    """Return the text of all pages, hyphens at line ends taken away; empty without pdfminer.six."""
    if not importlib.util.find_spec("pdfminer"):
        return ""
    library: Any = importlib.import_module("pdfminer.high_level")
    try:
        text = str(library.extract_text(path))
    except Exception:  # the library raises whatever it stumbles over
        return ""
    return re.sub(r"(?<=\w)-\n(?=\w)", "", text)


def _archive_text(path: Path) -> str:
    """Return the texts of the members."""
    found = []
    with zipfile.ZipFile(path) as archive, TemporaryDirectory() as folder:
        for number, name in enumerate(archive.namelist()):
            member = Path(folder) / f"{number}{PurePosixPath(name).suffix.lower()}"
            if member.suffix in _READERS:
                member.write_bytes(archive.read(name))
                found.append(second(member))
    return "\n".join(found)


def _yaml_text(source: str) -> str:
    """Return all but comments."""
    return re.sub(r"(?m)(?:^|\s)#.*$", "", source)


_READERS: dict[str, Callable[[Path], str]] = {
    ".docx": _xml(
        r"word/document\d?\.xml",
        _LOCAL.format("p") + "[not(.//*[local-name()='p'])]",
        "|".join(
            f"//*[local-name()='{name}']"
            for name in ("del", "moveFrom", "Fallback", "instrText", "delText", "rPr", "pPr",
                         "posOffset", "pctWidth", "pctHeight", "align")
        ),
    ),
    ".pptx": _xml(r"ppt/(?:slides|notesSlides)/[^/]+\.xml",
                  "//*[local-name()='p'][not(.//*[local-name()='fld'])]"),
    ".xlsx": _xml(r"xl/sharedStrings\.xml", _LOCAL.format("si"), _LOCAL.format("rPh")),
    ".odt": _ODF,
    ".ods": _ODF,
    ".odp": _ODF,
    ".eml": _mail,
    ".mbox": _mails,
    ".epub": _book_text,
    ".md": _of(_markdown_text),
    ".mdx": _of(_markdown_text),
    ".rst": _of(_rst_text),
    ".html": _of(_page_text),
    ".xhtml": _of(_page_text),
    ".htm": _of(_page_text),
    ".adoc": _of(_asciidoc_text),
    ".asciidoc": _of(_asciidoc_text),
    ".json": _of(_json_text),
    ".yaml": _of(_yaml_text),
    ".yml": _of(_yaml_text),
    ".csv": _table,
    ".tsv": _table,
    ".ipynb": _of(_notebook_text),
    ".rtf": _rtf_text,
    ".pdf": _pdf_text,
    ".zip": _archive_text,
    **dict.fromkeys((".txt", ".c", ".java", ".js", ".py", ".rs", ".sh", ".ts"), decode_file),
}  # fmt: skip
