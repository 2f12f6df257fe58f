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
    r"\\begin\{(?P<verbatim>verbatim\*?|lstlisting|minted|Verbatim|comment)\}"
    r"|\\verb\*?(?P<quote>[^\w\s*])(?P<literal>[^\n]{0,500}?)(?P=quote)"
    r"|\\begin\{(?P<shown>(?:equation|align|gather|multline|displaymath|math|eqnarray|flalign)\*?)\}"
    r"|(?P<formula>\$\$|\\\[|\\\(|(?<!\\)\$)"
    r"|\\(?:begin|end)\{(?P<environment>[A-Za-z]+\*?)\}"
    r"|\\(?P<command>[A-Za-z]+)\*?|\\(?P<sign>[^A-Za-z])|(?P<brace>[{}])|(?P<tie>~|&)"
    r"|(?P<comment>%[^\n]*\n?[ \t]*)|(?P<dashes>---?)|(?P<quotes>``|'')|(?P<empty>\n\s*\n)",
    re.DOTALL,
)
_VERBATIM: Final = {"verbatim", "lstlisting", "minted", "Verbatim"}
_BRACES = re.compile(r"\\.|[{}]", re.DOTALL)
_DOLLAR = re.compile(r"(?<!\\)\$")
_LETTER = re.compile(r"\s*(\\?.)", re.DOTALL)
_CLOSERS: Final = {"$$": "$$", "\\[": "\\]", "\\(": "\\)", "$": "$"}
_IN_LINE = {"$", "\\("}
_HEADINGS: Final = {
    "part": "h1", "chapter": "h1", "section": "h2", "subsection": "h3", "subsubsection": "h4",
    "paragraph": "h5", "subparagraph": "h6",
}  # fmt: skip
_ELEMENTS: Final = {
    **_HEADINGS, "textsuperscript": "sup", "textsubscript": "sub", "sout": "del", "st": "del",
    "xout": "del", "textst": "del", "deleted": "del", "texttt": "code", "caption": "figcaption",
    "emph": "em", "textbf": "b",
}  # fmt: skip
_LISTS: Final = {"itemize": "ul", "enumerate": "ol", "description": "ul"}
_TABLES: Final = {"tabular": 1, "tabularx": 2, "tabulary": 2, "longtable": 1, "array": 1}
"""Environments of tables, and how many arguments say how they look."""

_COUNTS: Final = {
    "multicolumn": 3, "multirow": 3, "href": 2, "SI": 2, "qty": 2, "nicefrac": 2,
    "replaced": 2,
}  # fmt: skip
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
        text = _Source(source)
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
            if whole := match["verbatim"] or match["shown"] or match["formula"]:
                closer = _CLOSERS.get(whole) or f"\\end{{{whole}}}"
                if (end := text.find(closer, at)) >= 0:
                    parts.append(_write_whole(whole, source[at:end]))
                    at = end + len(closer)
            elif match["command"] or match["environment"]:
                written, at = self._command(match, text, at, depth, notes)
                parts.append(written)
            elif (match["sign"] or "") in _ACCENTS and match["sign"]:
                given, at = text.argument(at)
                parts.append(_accent(match["sign"], given))
            else:
                parts.append(self._plain(match))
        parts.append(escape(source[at:]))
        return "".join(parts + notes)

    def _plain(self, match: re.Match[str]) -> str:
        """Return what is no command as HTML."""
        if (literal := match["literal"]) is not None:
            return f"<code>{escape(literal)}</code>"
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
        self, match: re.Match[str], source: "_Source", at: int, depth: int, notes: list[str]
    ) -> tuple[str, int]:
        """Return a command as HTML, and where it ends."""
        if environment := match["environment"]:
            return self._environment(environment, match[0].startswith("\\begin"), source, at)
        name = match["command"]
        if name in _ACCENTS:
            given, at = source.argument(at)
            return _accent(name, given), at
        if name in _SIGNS:
            return self._sign(name, source, at)
        arguments, end = source.arguments(source.option(at)[1], _COUNTS.get(name, 1))
        if name in _SILENT:
            if name in ("input", "include"):
                self.included.append(arguments[-1].strip())
            while source.text[end : end + 1] in ("{", "["):
                _, end = source.arguments(source.option(end)[1], 1)
            return "", end
        if name in _FORMULAS:
            braced = "".join(f"{{{argument}}}" for argument in arguments)
            return escape(formula_text(f"\\{name}{braced}")), end
        inside = self.write(arguments[-1], depth + 1)
        if name == "replaced":
            return f"{self.write(arguments[0], depth + 1)}<del>{inside}</del>", end
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

    def _sign(self, name: str, source: "_Source", at: int) -> tuple[str, int]:
        text = _SIGNS[name]
        if name == "item":
            term, at = source.option(at)
            text += f"{escape(formula_text(term))}: " if term else ""
        elif source.text[at : at + 2] == "{}":
            at += 2
        elif source.text[at : at + 1] == " " and text not in (" ", "<li>", "<p>"):
            at += 1
        return text if text.startswith("<") else escape(text), at

    def _environment(self, name: str, begins: bool, source: "_Source", at: int) -> tuple[str, int]:
        name = name.rstrip("*")
        side = "" if begins else "/"
        if element := _LISTS.get(name):
            return f"<{side}{element}>", source.option(at)[1]
        if count := _TABLES.get(name):
            self._tables = max(self._tables + (1 if begins else -1), 0)
            if not begins:
                return "</td></tr></table>", at
            return "<table><tr><td>", source.arguments(source.option(at)[1], count)[1]
        if name in ("quote", "quotation", "verse"):
            return f"<{side}blockquote>", at
        if name == "thebibliography":
            return "", at
        return f"<{side}div>", source.option(at)[1] if begins else at


class _Source:
    """A source whose groups are found at once: looking for the end of each anew would take a
    hostile file quadratic time."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._missing: set[str] = set()
        self._ends: dict[int, int] = {}
        opened: list[int] = []
        for brace in _BRACES.finditer(text):
            if brace[0] == "{":
                opened.append(brace.start())
            elif brace[0] == "}" and opened:
                self._ends[opened.pop()] = brace.start()

    def find(self, closer: str, at: int) -> int:
        """Return where it stands from a place on, -1 for nowhere; a later call asks for a later
        place."""
        if closer in self._missing:
            return -1
        if closer == "$":  # "\\$" is money, also inside a formula.
            match = _DOLLAR.search(self.text, at)
            found = match.start() if match else -1
        else:
            found = self.text.find(closer, at)
        if found < 0:
            self._missing.add(closer)
        return found

    def option(self, at: int) -> tuple[str, int]:
        """Return what stands in brackets, and where it ends."""
        if self.text[at : at + 1] != "[" or (end := self.text.find("]", at, at + 500)) < 0:
            return "", at
        return self.text[at + 1 : end], end + 1

    def arguments(self, at: int, count: int) -> tuple[list[str], int]:
        """Return groups that follow each other, empty where there are none, and where they end."""
        found = []
        for _ in range(count):
            text, at = self._group(at)
            found.append(text)
        return found, at

    def argument(self, at: int) -> tuple[str, int]:
        """Return the group or the letter at a place, and where it ends."""
        if self.text[at : at + 1] == "{":
            return self._group(at)
        match = _LETTER.match(self.text, at)
        return (match[1], match.end()) if match else ("", at)

    def _group(self, at: int) -> tuple[str, int]:
        if self.text[at : at + 1] != "{":
            return "", at
        end = self._ends.get(at)
        return (self.text[at + 1 : end], end + 1) if end is not None else ("", at + 1)


def _write_whole(kind: str, content: str) -> str:
    """Return code or a formula as HTML; a comment is nothing."""
    if kind == "comment":
        return ""
    if kind.rstrip("*") in _VERBATIM:
        return f"<pre>{escape(_LISTING_OPTIONS.sub('', content))}</pre>"
    text = escape(formula_text(content))
    return text if kind in _IN_LINE else f"<p>{text}</p>"


def _accent(sign: str, letter: str) -> str:
    letter = {"\\i": "i", "\\j": "j"}.get(letter, letter)
    return unicodedata.normalize("NFC", letter[:1] + _ACCENTS[sign] + letter[1:])


LATEX = Format("text/x-tex", parse_latex, whole=True)
