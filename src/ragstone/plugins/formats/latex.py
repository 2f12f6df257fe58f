"""LaTeX: its commands are written as elements of HTML, whose parser reads it. Nothing is run."""

import re
import unicodedata
from html import escape
from pathlib import Path
from typing import Final

from ragstone.ingest.document import Parsed
from ragstone.ingest.formats.decode import decode_file
from ragstone.ingest.formats.formulas import formula_text
from ragstone.ingest.formats.html import page_blocks
from ragstone.ingest.formats.inline_text import strip_marks
from ragstone.ingest.formats.types import Format

_MAX_DEPTH = 40
_LISTING_OPTIONS = re.compile(r"^\[[^\]]*\]|^\{[^}]*\}")
_PARTS = re.compile(
    r"\\begin\{(?P<verbatim>verbatim\*?|lstlisting|minted|Verbatim)\}(?P<code>.*?)\\end\{(?P=verbatim)\}"
    r"|\\verb\*?(?P<quote>[^\w\s*])(?P<literal>[^\n]*?)(?P=quote)"
    r"|\\begin\{(?P<shown>(?:equation|align|gather|multline|displaymath|math|eqnarray|flalign)\*?)\}"
    r"(?P<lines>.*?)\\end\{(?P=shown)\}"
    r"|\$\$(?P<block>.+?)\$\$|\\\[(?P<display>.+?)\\\]|\\\((?P<round>.+?)\\\)"
    r"|(?<!\\)\$(?P<inline>(?:[^$\\]|\\.)+)\$"
    r"|\\(?:begin|end)\{(?P<environment>[A-Za-z]+\*?)\}"
    r"|\\(?P<command>[A-Za-z]+)\*?|\\(?P<sign>[^A-Za-z])|(?P<brace>[{}])|(?P<tie>~|&)"
    r"|(?P<comment>%[^\n]*\n?[ \t]*)|(?P<dashes>---?)|(?P<quotes>``|'')|(?P<empty>\n\s*\n)",
    re.DOTALL,
)
_HEADINGS: Final = {
    "part": "h1", "chapter": "h1", "section": "h2", "subsection": "h3", "subsubsection": "h4",
    "paragraph": "h5", "subparagraph": "h6",
}  # fmt: skip
_ELEMENTS: Final = {
    **_HEADINGS, "textsuperscript": "sup", "textsubscript": "sub", "sout": "del", "st": "del",
    "xout": "del", "texttt": "code", "caption": "figcaption", "emph": "em", "textbf": "b",
}  # fmt: skip
_LISTS: Final = {"itemize": "ul", "enumerate": "ol", "description": "ul"}
_TABLES: Final = {"tabular": 1, "tabularx": 2, "tabulary": 2, "longtable": 1, "array": 1}
"""Environments of tables, and how many arguments say how they look."""

_COUNTS: Final = {"multicolumn": 3, "multirow": 3, "href": 2, "SI": 2, "qty": 2, "nicefrac": 2}
"""How many arguments commands have whose last one is shown, or that are formulas."""

_FORMULAS: Final = {"SI", "qty", "nicefrac", "num", "si", "unit"}
_TABLE_MARKS: Final = {"&": "</td><td>", "\\\\": "</td></tr><tr><td>"}
_NO_SIGNS = str.maketrans("", "", "/-@!")
_SPAN = "\ufdd2"
"""Stands behind the start of a cell for how many columns it has."""

_FACTS: Final = {"title", "author", "date"}
_SIGNS: Final = {
    "ldots": "…", "dots": "…", "textellipsis": "…", "ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ",
    "OE": "Œ", "o": "ø", "O": "Ø", "aa": "å", "AA": "Å", "l": "ł", "L": "Ł", "i": "ı", "S": "§",
    "euro": "€", "texteuro": "€", "pounds": "£", "copyright": "©", "textdegree": "°",
    "degree": "°", "textendash": "–", "textemdash": "—", "textbackslash": "\\", "quad": " ",
    "qquad": " ", "textbar": "|", "textasciitilde": "~", "LaTeX": "LaTeX", "TeX": "TeX",
    "newline": "<br>", "linebreak": "<br>", "item": "<li>", "par": "<p>", "checkmark": "✓",
    "maketitle": "", "hline": "",
}  # fmt: skip
_ACCENTS: Final = {
    "`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", '"': "\u0308", "=": "\u0304",
    ".": "\u0307", "c": "\u0327", "v": "\u030c", "u": "\u0306", "H": "\u030b", "k": "\u0328",
    "r": "\u030a",
}  # fmt: skip
_SILENT: Final = {
    "label", "cite", "citep", "citet", "parencite", "vspace", "hspace", "includegraphics",
    "bibliography", "bibliographystyle", "usepackage", "documentclass", "input", "include",
    "pagestyle", "thispagestyle", "setlength", "setcounter", "addtocounter", "newcommand",
    "renewcommand", "index", "color", "pagenumbering", "hypersetup", "geometry", "cline",
    "cmidrule", "linespread", "fontsize", "selectlanguage", "nocite", "graphicspath",
}  # fmt: skip
"""Commands whose arguments nobody sees."""


def parse_latex(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Read a file by itself; files that it includes are named as left out."""
    source = decode_file(path).replace("\x00", "")
    _, is_whole, body = source.partition("\\begin{document}")
    reader = _Reader()
    if is_whole:
        reader.write(source[: -len(body) or None])
    page = reader.write(body.partition("\\end{document}")[0] if is_whole else source)
    page = re.sub(rf"<td>\s*{_SPAN}(\d+);", r'<td colspan="\1">', page)
    blocks = page_blocks(f"<div>{page}</div>")
    named = reader.included
    notes = (f"Included files were left out: {', '.join(named)}.",) if named else ()
    facts = dict(reader.facts)
    title = facts.pop("title", "") or next(
        (block.text for block in blocks if block.kind == "heading"), ""
    )
    return Parsed(strip_marks(title), iter(blocks), metadata=dict(facts), notes=notes)


class _Reader:
    """Writes a source as HTML."""

    def __init__(self) -> None:
        self.facts: dict[str, str] = {}
        self.included: list[str] = []
        self._tables = 0

    def write(self, source: str, depth: int = 0) -> str:
        """Return a source as HTML; what stands deeper than `_MAX_DEPTH` has no marks."""
        if depth > _MAX_DEPTH:
            return escape(source)
        parts: list[str] = []
        notes: list[str] = []
        at = 0
        while match := _PARTS.search(source, at):
            parts.append(escape(source[at : match.start()]))
            at = match.end()
            # A note stands behind the block that it is of.
            if match["empty"] or match["environment"] or match["command"] == "item":
                parts += notes
                notes.clear()
            if match["command"] or match["environment"]:
                text, at = self._command(match, source, at, depth, notes)
                parts.append(text)
            elif (match["sign"] or "") in _ACCENTS and match["sign"]:
                given, at = _argument(source, at)
                parts.append(_accent(match["sign"], given))
            else:
                parts.append(self._plain(match))
        parts.append(escape(source[at:]))
        return "".join(parts + notes)

    def _plain(self, match: re.Match[str]) -> str:
        """Return what is no command as HTML."""
        if (code := match["code"]) is not None:
            return f"<pre>{escape(_LISTING_OPTIONS.sub('', code))}</pre>"
        if (literal := match["literal"]) is not None:
            return f"<code>{escape(literal)}</code>"
        if shown := match["lines"] or match["block"] or match["display"]:
            return f"<p>{escape(formula_text(shown))}</p>"
        if formula := match["round"] or match["inline"]:
            return escape(formula_text(formula))
        if match["dashes"] or match["quotes"]:
            return {"---": "—", "--": "–", "``": "“", "''": "”"}[match[0]]
        if self._tables and (mark := _TABLE_MARKS.get(match[0])):
            return mark
        if match["empty"]:
            return "" if self._tables else "<p>"
        sign = match["sign"] or ("" if match["comment"] or match["brace"] else " ")
        return {"\\": "<br>", ",": " ", "/": "", "-": ""}.get(sign) or escape(
            sign.translate(_NO_SIGNS)
        )

    def _command(
        self, match: re.Match[str], source: str, at: int, depth: int, notes: list[str]
    ) -> tuple[str, int]:
        """Return a command as HTML, and where it ends."""
        if environment := match["environment"]:
            return self._environment(environment, match[0].startswith("\\begin"), source, at)
        name = match["command"]
        if name in _ACCENTS:
            given, at = _argument(source, at)
            return _accent(name, given), at
        if name in _SIGNS:
            return self._sign(name, source, at)
        arguments, end = _arguments(source, _option(source, at)[1], _COUNTS.get(name, 1))
        if name in _SILENT:
            if name in ("input", "include"):
                self.included.append(arguments[-1].strip())
            while source[end : end + 1] in ("{", "["):
                _, end = _arguments(source, max(_option(source, end)[1], end), 1)
            return "", end
        if name in _FORMULAS:
            braced = "".join(f"{{{argument}}}" for argument in arguments)
            return escape(formula_text(f"\\{name}{braced}")), end
        inside = self.write(arguments[-1], depth + 1)
        if name == "multicolumn" and re.fullmatch(r"\d{1,3}", arguments[0]):
            return f"{_SPAN}{arguments[0]};{inside}", end
        return self._element(name, inside, notes), end

    def _element(self, name: str, inside: str, notes: list[str]) -> str:
        if name in _FACTS:
            self.facts[name] = " ".join(re.sub(r"<[^>]*>", " ", inside).split())
            return ""
        if name in ("footnote", "footnotetext", "thanks"):
            notes.append(f"<p>Footnote: {inside}</p>")
            return ""
        element = _ELEMENTS.get(name, "")
        return f"<{element}>{inside}</{element}>" if element else inside

    def _sign(self, name: str, source: str, at: int) -> tuple[str, int]:
        text = _SIGNS[name]
        if name == "item":
            term, at = _option(source, at)
            text += f"{escape(formula_text(term))}: " if term else ""
        elif source[at : at + 2] == "{}":
            at += 2
        elif source[at : at + 1] == " " and text not in (" ", "<li>", "<p>"):
            at += 1
        return text if text.startswith("<") else escape(text), at

    def _environment(self, name: str, begins: bool, source: str, at: int) -> tuple[str, int]:
        name = name.rstrip("*")
        side = "" if begins else "/"
        if element := _LISTS.get(name):
            return f"<{side}{element}>", _option(source, at)[1]
        if count := _TABLES.get(name):
            self._tables = max(self._tables + (1 if begins else -1), 0)
            if not begins:
                return "</td></tr></table>", at
            at = _option(source, at)[1]
            return "<table><tr><td>", _arguments(source, at, count)[1]
        if name in ("quote", "quotation", "verse"):
            return f"<{side}blockquote>", at
        if name in ("thebibliography", "comment"):
            end = source.find(f"\\end{{{name}}}", at) if begins and name == "comment" else -1
            return "", at if end < 0 else end
        return f"<{side}div>", _option(source, at)[1] if begins else at


def _accent(sign: str, letter: str) -> str:
    letter = {"\\i": "i", "\\j": "j"}.get(letter, letter)
    return unicodedata.normalize("NFC", letter[:1] + _ACCENTS[sign] + letter[1:])


def _option(source: str, at: int) -> tuple[str, int]:
    """Return what stands in brackets, and where it ends."""
    if source[at : at + 1] != "[" or (end := source.find("]", at, at + 500)) < 0:
        return "", at
    return source[at + 1 : end], end + 1


def _arguments(source: str, at: int, count: int) -> tuple[list[str], int]:
    """Return groups that follow each other, empty where there are none, and where they end."""
    found = []
    for _ in range(count):
        text, at = _argument(source, at, braces=True)
        found.append(text)
    return found, at


def _argument(source: str, at: int, braces: bool = False) -> tuple[str, int]:
    """Return the group or, unless it has to be in braces, the letter at a place."""
    if source[at : at + 1] != "{":
        if braces:
            return "", at
        match = re.compile(r"\s*(\\?.)", re.DOTALL).match(source, at)
        return (match[1], match.end()) if match else ("", at)
    deep = 0
    for brace in re.compile(r"\\.|[{}]", re.DOTALL).finditer(source, at):
        deep += {"{": 1, "}": -1}.get(brace[0], 0)
        if not deep:
            return source[at + 1 : brace.start()], brace.end()
    return "", at + 1


LATEX = Format("text/x-tex", parse_latex, whole=True)
