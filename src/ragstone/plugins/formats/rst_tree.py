"""The tree that docutils makes of reStructuredText, with the directives and roles of Sphinx.

Nothing is registered with docutils, so that other users of it in the process see what they know.
No file is opened and no command is run: `includes` has put in what the text includes.
"""

import copy
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from docutils import frontend, nodes
from docutils.parsers.rst import Directive, Parser, states
from docutils.parsers.rst.directives import unchanged
from docutils.parsers.rst.directives.body import LineBlock, ParsedLiteral
from docutils.parsers.rst.directives.misc import Replace, Unicode
from docutils.parsers.rst.directives.tables import CSVTable, ListTable, RSTTable
from docutils.statemachine import StringList
from docutils.utils import new_document, unescape

from ragstone.ingest.document import ADMONITIONS
from ragstone.ingest.formats.inline_text import OBJECT_ROLES, VERBATIM_ROLES, lower_text, raise_text
from ragstone.ingest.formats.struck import strike_out

REFERENCE = "reference-by-label"
"""The class of what refers to a place by its label alone; `refname` is the label."""

_NEVER = 5
"""A level above that of any message of docutils."""

_TITLED = re.compile(r"(?P<title>.+?)\s*<(?P<target>[^<>]*)>", re.DOTALL)
_ADDRESSED = {
    "pep": "PEP {}",
    "rfc": "RFC {}",
    "issue": "#{}",
    "gh": "#{}",
    "pr": "#{}",
    "pull": "#{}",
    "user": "@{}",
    "cve": "CVE-{}",
    "ticket": "#{}",
    "bpo": "bpo-{}",
}
_LABELS = {"ref", "doc", "numref", "std:ref", "std:doc", "any", "anyref"}
_AS_WRITTEN = {"math", "kbd", "program"}
"""Roles whose text is not code, but has its backslashes."""

_SILENT = {
    "toctree", "contents", "sectnum", "index", "currentmodule", "highlight", "meta",
    "tabularcolumns", "include", "literalinclude", "automodule", "program", "default-domain",
    "role", "default-role", "title", "header", "footer", "target-notes", "testsetup", "testcleanup",
    "autosummary", "py:currentmodule", "acks", "genindex", "bibliography",
    "sourcecode-include", "codeauthor", "sectionauthor", "moduleauthor", "ogp", "feed",
    "click", "argparse", "autoenum",
    "restructuredtext-test-directive", "local-toctree", "image-sg", "minigallery", "date-created",
}  # fmt: skip
_CODE = {
    "code", "code-block", "sourcecode", "code-tab", "prompt", "ipython", "jupyter-execute", "plot",
    "graphviz", "digraph", "uml", "mermaid", "math", "doctest", "testcode", "testoutput", "console",
    "productionlist", "parsed-code", "runblock", "terminal", "altair-plot", "pyodide", "ipython3",
    "cython", "asciinema", "jsonschema", "code-cell", "program-output",
    "click:example", "click:run", "command-output",
}  # fmt: skip
_LANGUAGES = {
    "ipython": "ipython", "plot": "python", "graphviz": "dot", "digraph": "dot",
    "click:example": "python",
    "doctest": "pycon", "testcode": "python", "mermaid": "mermaid", "jupyter-execute": "python",
}  # fmt: skip
_VERSIONS = {
    "versionadded": "New in version",
    "version-added": "New in version",
    "versionchanged": "Changed in version",
    "version-changed": "Changed in version",
    "deprecated": "Deprecated since version",
    "versionremoved": "Removed in version",
    "version-removed": "Removed in version",
    "deprecated-removed": "Deprecated since version",
}
_TABS = {
    "tab", "tab-item", "group-tab", "details", "dropdown", "collapse", "card", "grid-item-card",
    "sidebar", "topic", "rubric", "centered", "toggle", "example-code", "panels",
}  # fmt: skip
_CONTENT = {
    "only", "ifconfig", "module", "container", "compound", "rst-class", "tab-set", "tabs", "grid",
    "hlist",
    "glossary", "highlights", "epigraph", "pull-quote", "grid-item", "margin", "button-ref",
    "button-link", "cssclass", "aside", "subfigure", "caption", "columns", "html_theme_options",
}  # fmt: skip
_SIGNATURE = re.compile(r"[A-Z]|.*[.(]")


def document_tree(source: str) -> nodes.document:
    """Return the document as docutils reads it, before any transform."""
    inliner = states.Inliner()
    vars(inliner)["interpreted"] = _interpret_role
    parser = Parser(inliner=inliner)
    settings = frontend.get_default_settings(Parser)
    settings.report_level = settings.halt_level = _NEVER
    settings.warning_stream = False
    settings.file_insertion_enabled = False
    settings.raw_enabled = False
    settings.syntax_highlight = "none"
    settings.line_length_limit = len(source) + 1
    document = new_document("document", settings)
    parser.state_classes = _STATES
    parser.parse(source, document)
    return document


def _interpret_role(
    rawsource: str, text: str, role: str | None, lineno: int
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """Interpreted text with any role is what a reader sees of it."""
    return [_visible_node(unescape(text, False), unescape(text, True), (role or "").lower())], []


_WRITTEN: Mapping[str, Callable[[str], str]] = {
    "abbr": str,
    **dict.fromkeys(("sup", "superscript"), raise_text),
    **dict.fromkeys(("sub", "subscript"), lower_text),
    **dict.fromkeys(("del", "strike", "strikethrough", "line-through"), strike_out),
}
"""How the text of a role is written, by its name."""


def _visible_node(text: str, raw: str, role: str) -> nodes.Node:
    """Return the node of a text with a role; `raw` is the text with its backslashes."""
    _, _, name = role.rpartition(":")
    if name in VERBATIM_ROLES:
        return nodes.literal(raw, re.sub(r"\{([^{}]*)\}", r"\1", raw) if name == "samp" else raw)
    if name in _AS_WRITTEN:
        return (nodes.math if name == "math" else nodes.inline)(raw, raw)
    if write := _WRITTEN.get(name):
        return nodes.inline(text, write(text))
    if titled := _TITLED.fullmatch(text):
        return nodes.inline(text, titled["title"])
    if role in _LABELS:
        node = nodes.inline(text, text, classes=[REFERENCE])
        node["refname"] = text
        return node
    if name in _ADDRESSED:
        number = text.lstrip("#@")
        return nodes.inline(text, _ADDRESSED[name].format(number))
    if name in OBJECT_ROLES:
        shown = text.lstrip("!")
        shown = re.split(r"\.|::|#", shown)[-1] if shown.startswith("~") else shown.lstrip(".")
        calls = name in ("func", "meth", "function", "method") and not shown.endswith(")")
        return nodes.literal(text, f"{shown}()" if calls else shown)
    if name == "menuselection":
        return nodes.inline(text, text.replace("-->", "‣"))
    if name == "index":
        return nodes.inline(text, text.split(";")[0])
    return nodes.inline(text, text)


class _AnyOption(dict[str, Any]):
    """Accepts options of any name."""

    def __missing__(self, name: str) -> Any:
        return unchanged


class _Lenient(Directive):
    """Accepts any options, and any argument or none."""

    optional_arguments = 1
    final_argument_whitespace = True
    option_spec = _AnyOption({"class": unchanged})
    has_content = True

    @property
    def argument(self) -> str:
        return self.arguments[0].strip() if self.arguments else ""

    def inside(self, content: StringList | None = None, titles: bool = False) -> list[nodes.Node]:
        """Return the nodes of the directive's text."""
        holder = nodes.Element()
        holder.document = self.state.document
        text = self.content if content is None else content
        self.state.nested_parse(text, self.content_offset, holder, match_titles=titles)
        return list(holder.children)

    def inline(self, text: str) -> list[nodes.Node]:
        return list(self.state.inline_text(text, self.lineno)[0])


class _Silent(_Lenient):
    def run(self) -> list[nodes.Node]:
        return []


class _Content(_Lenient):
    """Its text alone; sections may begin in it."""

    def run(self) -> list[nodes.Node]:
        return self.inside(titles=True)


class _Unknown(_Lenient):
    """Its argument if that is a sentence, and its text."""

    def run(self) -> list[nodes.Node]:
        shown = (
            [nodes.paragraph("", "", *self.inline(self.argument))] if " " in self.argument else []
        )
        return [*shown, *self.inside(titles=True)]


class _Note(_Lenient):
    """An admonition; the text may begin right after its name."""

    optional_arguments = 0

    def run(self) -> list[nodes.Node]:
        return [nodes.admonition("", *self.inside(), classes=[self.name.lower()])]


class _TitledNote(_Lenient):
    def run(self) -> list[nodes.Node]:
        kinds = [item for item in self.options.get("class", "").split() if item in ADMONITIONS]
        title = [nodes.title("", "", *self.inline(self.argument))] if self.argument else []
        return [nodes.admonition("", *title, *self.inside(), classes=[*kinds, "note"][:1])]


class _Version(_Lenient):
    """A sentence on what came or went with a version."""

    def run(self) -> list[nodes.Node]:
        version, _, text = self.argument.partition(" ")
        version, _, more = version.partition("\n")
        text = " ".join(f"{more} {text}".split())
        sentence = f"{_VERSIONS[self.name.lower()]} {version}"
        inside = self.inside()
        words = self.inline(text) if text else []
        if not words and inside and isinstance(inside[0], nodes.paragraph):
            words = list(inside.pop(0).children)
        start = nodes.Text(f"{sentence}: " if words else f"{sentence}.")
        return [nodes.paragraph("", "", start, *words), *inside]


class _Code(_Lenient):
    def run(self) -> list[nodes.Node]:
        name = self.name.lower()
        language = self.argument.split("\n")[0].split(" ")[0] if name not in _LANGUAGES else ""
        text = "\n".join(self.content)
        if name == "math":
            text = "\n".join(part for part in (self.argument, text) if part)
            return [nodes.math_block(text, text)] if text.strip() else []
        found = _LANGUAGES.get(name, language)
        return [nodes.literal_block(text, text, classes=["code", found])] if text.strip() else []


class _Titled(_Lenient):
    """A title and text, as tabs and boxes have them."""

    def run(self) -> list[nodes.Node]:
        title = [nodes.caption("", "", *self.inline(self.argument))] if self.argument else []
        return [*title, *self.inside(titles=True)]


class _Described(_Lenient):
    """A function, class, option or the like: a section with its signature as the title."""

    def run(self) -> list[nodes.Node]:
        lines = [" ".join(line.split()) for line in self.argument.split("\n") if line.strip()]
        shown = unescape(", ".join(lines).replace("\\", ""))
        body = self.inside()
        if not shown:
            return body
        title = nodes.title("", "", nodes.literal(shown, shown))
        return [nodes.section("", title, *body)]


class _Picture(_Lenient):
    """The alternative text of a picture, and the caption of a figure."""

    def run(self) -> list[nodes.Node]:
        alternative = self.options.get("alt") or ""
        if isinstance(self.state, states.SubstitutionDef):
            return [nodes.image(alt=alternative, uri="")]
        body = self.inside()
        if body and isinstance(body[0], nodes.paragraph):
            body[0] = nodes.caption("", "", *body[0].children)
        elif alternative:
            body.insert(0, nodes.caption("", alternative))
        return body


class _Html(_Lenient):
    def run(self) -> list[nodes.Node]:
        text = "\n".join(self.content)
        return [nodes.raw("", text, format="html")] if self.argument.lower() == "html" else []


def _directive(name: str, argument: str) -> type[Directive]:
    """Return what reads a directive, by its name."""
    name = name.lower()
    _, _, short = name.rpartition(":")
    if name in ("class", "cssclass") and not _SIGNATURE.match(argument):
        return _Content
    if name.startswith("auto") and name not in _SILENT:
        return _Content
    if found := _NATIVE.get(name):
        return found
    for names, reader in _READERS:
        if name in names or (short in names and reader is not _Silent):
            return reader
    return _Unknown


_DESCRIBED = {
    "function", "class", "method", "attribute", "data", "exception", "option", "envvar",
    "cmdoption", "describe", "object", "staticmethod", "classmethod", "decorator", "property",
    "decoratormethod", "macro", "type", "struct", "union", "member", "var", "enum", "enumerator",
    "confval", "setting", "django-admin", "django-admin-option", "templatetag", "templatefilter",
    "fieldlookup", "opcode", "pdbcommand", "2to3fixer", "audit-event", "availability", "namespace",
    "get", "post", "put", "delete", "patch", "method-doc", "signal", "directive", "role",
    "variable",
    "c:function", "js:function", "concept", "alias", "typevar",
}  # fmt: skip
_NATIVE: Mapping[str, type[Directive]] = {
    "table": RSTTable,
    "csv-table": CSVTable,
    "list-table": ListTable,
    "parsed-literal": ParsedLiteral,
    "line-block": LineBlock,
    "replace": Replace,
    "unicode": Unicode,
}
_READERS: tuple[tuple[Iterable[str], type[Directive]], ...] = (
    (_SILENT, _Silent),
    (_CODE, _Code),
    (("admonition",), _TitledNote),
    (_VERSIONS, _Version),
    (("image", "figure"), _Picture),
    (("raw",), _Html),
    (_TABS, _Titled),
    (_CONTENT, _Content),
    (_DESCRIBED, _Described),
    (ADMONITIONS, _Note),
)


class _OwnStates:
    """States that look their directives up here, and pass that on to the states inside them."""

    nested_sm_cache: ClassVar[list[Any]] = []

    def __init__(self, state_machine: Any, debug: bool = False) -> None:
        super().__init__(state_machine, debug)  # type: ignore[call-arg]
        self.nested_sm_kwargs = {"state_classes": _STATES, "initial_state": "Body"}

    def directive(self, match: re.Match[str], **presets: Any) -> Any:
        first = match.string[match.end() :].strip()
        reader = _directive(match[1], first)
        return self.run_directive(reader, match, match[1], presets)  # type: ignore[attr-defined]


def _own_explicit() -> Any:
    """Return what follows two dots, with our directives."""
    own = copy.copy(states.Body.explicit)
    own.constructs = [
        (_OwnStates.directive if method is states.Body.directive else method, pattern)
        for method, pattern in own.constructs
    ]
    return own


_STATES: tuple[Any, ...] = tuple(
    type(state.__name__, (_OwnStates, state), {"explicit": _own_explicit()})
    for state in states.state_classes
)
