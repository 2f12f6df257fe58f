"""Markdown and MDX, read by a CommonMark parser: what a reader of the page sees."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from pathlib import Path
from textwrap import dedent

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode
from mdit_py_plugins.container import container_plugin
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.subscript import sub_plugin
from mdit_py_plugins.superscript import superscript_plugin

from ragstone.core.code_spans import without_spans
from ragstone.core.document import BlockKind
from ragstone.ingest.document import ADMONITIONS, Block, Parsed
from ragstone.ingest.formats.decode import decode_file
from ragstone.ingest.formats.formulas import formula_text, write_formulas
from ragstone.ingest.formats.html import define_term, page_blocks
from ragstone.ingest.formats.includes import expand_includes
from ragstone.ingest.formats.inline_text import (
    CODE,
    Literals,
    is_code_role,
    lower_text,
    mark_code,
    raise_text,
    restore_spans,
    strip_marks,
)
from ragstone.ingest.formats.metadata import extract_front_matter, flatten_values
from ragstone.ingest.formats.struck import strike_out
from ragstone.ingest.formats.tables import table_blocks
from ragstone.ingest.formats.types import FORMATS, Format, Surroundings

_NESTING = 60
"""How deep lists and quotes may be in each other. What is deeper is left out."""

_INDENTED_BLOCK = re.compile(
    r"(!!!|\?\?\?\+?|===[!+]?)[ \t]+(?P<kind>[\w -]*?)[ \t]*(?:\"(?P<title>[^\"\n]*)\")?[ \t]*"
)
_FENCED_BLOCK = re.compile(
    r"\{?(?P<kind>[a-zA-Z]+)\}?[ \t]*(?:\[(?P<bracketed>[^\]]*)\])?(?P<title>.*)"
)
_ALERT = re.compile(r"\[!(\w+)\][+-]?[ \t]*")
_ATTRIBUTES = re.compile(r"[ \t]*\{(:?)[ \t]*([#.\w][^{}\n]{0,300})\}")
_ATTRIBUTE = re.compile(r"[#.][\w:.-]*|[\w-]+=.*|[^\"]*\"|annotate")
_ANCHOR = re.compile(r"#([\w:.-]+)")
_LIQUID = re.compile(r"\{%-?[^%{}]{0,300}-?%\}|\{\{[<%][^{}]{0,300}[>%]\}\}|\{/\*.*?\*/\}")
_DROPPED = re.compile(
    r"\{\*[^\n]*\*\}|\[\[?_?TOC_?\]?\]|:{3,}[^\n]*|--8<--[^\n]*|@include[^\n]*|"
    r"import\s[^\n]*?from\s+['\"][^\n]*|import\s+['\"][^\n]*|\\newpage|\\pagebreak",
    re.IGNORECASE,
)
_EXPORTED = re.compile(r"export\s+(?:const|let|var|default|function|async)\b")
_ICON = re.compile(r":(?:material|octicons|fontawesome|simple)-[\w-]+:")
_KEYS = re.compile(r"(?<!\w)\+\+([a-z0-9\"+_-]+)\+\+(?!\w)")
_MARKED = re.compile(r"(?<![=\w])==([^=\s](?:[^=\n]*[^=\s])?)==(?![=\w])")
_UNRESOLVED = re.compile(r"\[([^\[\]\n]+)\]\[[^\[\]\n]*\]")
_WIKI_LINK = re.compile(r"\[\[(?:[^\[\]|\n]+\|)?([^\[\]|\n]+)\]\]")
_ROLE = re.compile(r"\{[a-z][\w:+-]*\}$")
_ROLE_TITLE = re.compile(r"(.*?)\s*<[^<>]+>", re.DOTALL)
_TASK = re.compile(r"\[([ xX])\]\s+")
_ABBREVIATION = re.compile(r"\*\[([^\]\n]+)\]:[ \t]*")
_LANGUAGE = re.compile(r"\{?[ \t]*\.?([\w+#-][\w+#.-]*)")
_DIRECTIVE = re.compile(r"\{([\w:-]+)\}[ \t]*(.*)")
_OPTIONS = re.compile(r"(?:[ \t]*:[\w-]+:[^\n]*\n)+\n?|---\n.*?\n---\n", re.DOTALL)
_TAB_LABEL = re.compile(
    r"<(?:TabItem|Tab|Step|Accordion)\b[^>]*?\b(?:label|title)=[\"']([^\"']+)[\"']"
)
_CJK_BREAK = re.compile(r"(?<=[\u3000-\u9fff\uff00-\uffef]) (?=[\u3000-\u9fff\uff00-\uffef])")
_CODE_DIRECTIVES = {
    "code", "code-block", "code-cell", "sourcecode", "literalinclude", "parsed-literal",
}  # fmt: skip
_SILENT_DIRECTIVES = {"toctree", "include", "automodule", "autoclass", "contents", "raw"}
_NESTED_DIRECTIVES = {
    "tab-set", "tab-item", "dropdown", "grid", "grid-item", "grid-item-card", "card", "margin",
    "sidebar", "topic", "versionadded", "versionchanged", "epigraph", "container", "div",
}  # fmt: skip
_HTML_CODE = re.compile(r"<(/?)(?:code|tt|samp)\b[^<>]*>", re.IGNORECASE)


def parse_markdown(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Return the blocks of a Markdown file by itself."""
    return parse_markdown_file(path, ending, max_bytes, None)


def parse_markdown_file(
    path: Path, ending: str, max_bytes: int, around: Surroundings | None
) -> Parsed:
    """Return the blocks of a Markdown file. Its title is that of the front matter, else its first
    heading of the first level."""
    front, source = extract_front_matter(decode_file(path).replace("\x00", ""))
    included = expand_includes(source, path, around)
    source = included.text
    title = front.pop("title", None)
    blocks = list(markdown_blocks(source, is_mdx=ending == ".mdx"))
    if not isinstance(title, str | int | float):
        title = next(
            (block.text for block in blocks if block.kind == "heading" and block.level == 1), ""
        )
    metadata = flatten_values(front)
    return Parsed(without_spans(str(title)), iter(blocks), metadata=metadata, notes=included.notes)


def markdown_blocks(source: str, is_mdx: bool = False) -> Iterator[Block]:
    """Return the blocks of a text without front matter."""
    # A container's plugin looks behind the last character of a text that no line break ends.
    tree = SyntaxTreeNode(_parser().parse(f"{source}\n"))
    return _blocks(tree.children, _Within(is_mdx=is_mdx))


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": _NESTING}).enable(["table", "strikethrough"])
    parser.use(footnote_plugin).use(deflist_plugin).use(superscript_plugin).use(sub_plugin)
    parser.use(
        dollarmath_plugin,
        allow_labels=False,
        allow_space=False,
        allow_digits=False,
        double_inline=True,
    )
    container_plugin(parser, "note", validate=lambda params, *_: bool(_container_kind(params)))
    parser.block.ruler.before(
        "fence",
        "indented",
        _parse_indented_block,
        {"alt": ["paragraph", "reference", "blockquote", "list"]},
    )
    return parser


def _container_kind(params: str) -> str:
    match = _FENCED_BLOCK.match(params.strip())
    kind = match["kind"].lower() if match else ""
    return kind if kind in ADMONITIONS | {"tab", "tabs", "details"} else ""


def _parse_indented_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Notes (`!!! note`, `??? tip`) and tabs (`=== "macOS"`), whose text is indented by four."""
    first = state.bMarks[start] + state.tShift[start]
    match = _INDENTED_BLOCK.fullmatch(state.src, first, state.eMarks[start])
    if state.is_code_block(start) or not match or not (match["kind"] or match["title"]):
        return False
    if match[1].startswith("===") and match["title"] is None:
        return False
    if silent:
        return True
    held = state.parentType, state.lineMax, state.blkIndent
    state.parentType = "blockquote"
    state.blkIndent += 4
    line = start + 1
    while line < end and (state.isEmpty(line) or state.sCount[line] >= state.blkIndent):
        line += 1
    state.lineMax = line
    token = state.push("indented_open", "div", 1)
    token.map = [start, line]
    token.info = "tab" if match[1].startswith("===") else match["kind"].split(" ")[0].lower()
    unnamed = match["title"] is None and token.info not in ADMONITIONS
    token.content = match["kind"] if unnamed else match["title"] or ""
    state.md.block.tokenize(state, start + 1, line)
    state.push("indented_close", "div", -1)
    state.parentType, state.lineMax, state.blkIndent = held
    state.line = line
    return True


@dataclass(frozen=True, slots=True)
class _Within:
    """What a paragraph is here, and in how many lists it stands."""

    kind: BlockKind = "paragraph"
    label: str = ""
    depth: int = 0
    is_mdx: bool = False


def _blocks(nodes: Sequence[SyntaxTreeNode], within: _Within) -> Iterator[Block]:
    # CommonMark ends an HTML block at an empty line, so that one element may be several blocks.
    for type_, group in groupby(nodes, lambda node: node.type):
        if type_ == "html_block":
            yield from _html("\n\n".join(node.content for node in group), within)
        elif read := _READERS.get(type_):
            for node in group:
                yield from read(node, within)
        else:
            for node in group:
                yield from _blocks(node.children, within)


def _heading(node: SyntaxTreeNode, within: _Within) -> Iterator[Block]:
    content = node.children[0].content if node.children else ""
    anchors = (_ANCHOR.search(match[2]) for match in _ATTRIBUTES.finditer(content))
    label = next((anchor[1] for anchor in anchors if anchor), "")
    tokens = _inline_tokens(node)
    if text := " ".join(strip_marks(_text(tokens)).split()):
        # A logo is no title: what is said of it would name the document.
        if _is_picture(tokens):
            yield Block(text, "caption")
        else:
            yield Block(text, "heading", int(node.tag[1]), label=label)


def _paragraph(node: SyntaxTreeNode, within: _Within) -> Iterator[Block]:
    content = _inline_content(node)
    if within.is_mdx and (_EXPORTED.match(content) or _is_expression(content)):
        return
    lines = content.split("\n")
    # Instructions to site generators may stand in the midst of a paragraph.
    kept = [line for line in lines if not _DROPPED.fullmatch(line.strip())]
    tokens = _inline_tokens(node) if len(kept) == len(lines) else _inline("\n".join(kept))
    if not (text := _visible_text(tokens)).strip():
        return
    if _is_picture(tokens):
        yield Block(text, "caption")
    else:
        yield Block(text, within.kind, label=within.label)


def _is_picture(tokens: Sequence[Token]) -> bool:
    """Tell whether they show pictures and nothing else."""
    return any(token.type == "image" for token in tokens) and not any(
        token.type in ("code_inline", "text") and token.content.strip() for token in tokens
    )


def _is_expression(content: str) -> bool:
    return content.startswith("{") and content.endswith("}") and "\n\n" not in content


def _list(node: SyntaxTreeNode, within: _Within) -> Iterator[Block]:
    inside = replace(within, depth=within.depth + 1)
    for item in node.children:
        label = f"{item.info}{item.markup}" if node.type == "ordered_list" else "-"
        blocks = _blocks(item.children, inside)
        first = next(blocks, None)
        if first is None:
            continue
        # These keep their kind; a number before them would become part of code or of a record.
        if first.kind in ("heading", "code", "table", "caption", "item"):
            if label != "-":
                yield Block(label, "item", inside.depth, label=label)
            yield first
        else:
            text = _TASK.sub(lambda match: "☐ " if match[1] == " " else "☑ ", first.text, count=1)
            text = text if _TASK.match(first.text) else first.text
            yield Block(f"{label} {text}", "item", inside.depth, label=label)
        yield from blocks


def _quote(node: SyntaxTreeNode, within: _Within) -> Iterator[Block]:
    """Yield a quote, or a note in the form of one: `> [!NOTE]`."""
    first = node.children[0] if node.children else None
    content = _inline_content(first) if first is not None and first.type == "paragraph" else ""
    alert = _ALERT.match(content)
    if not alert:
        yield from _blocks(node.children, replace(within, kind="quote", label=""))
        return
    inside = replace(within, kind="admonition", label=alert[1].lower())
    if text := _visible_text(_inline(content[alert.end() :].strip())):
        yield Block(text, "admonition", label=inside.label)
    yield from _blocks(node.children[1:], inside)


def _read_indented(node: SyntaxTreeNode, within: _Within) -> Iterator[Block]:
    token = node.nester_tokens.opening if node.nester_tokens else None
    yield from _read_note(token.info if token else "", token.content if token else "", node, within)


def _container(node: SyntaxTreeNode, within: _Within) -> Iterator[Block]:
    match = _FENCED_BLOCK.match(node.info.strip())
    title = (match["bracketed"] or match["title"]).strip() if match else ""
    yield from _read_note(_container_kind(node.info), title, node, within)


def _read_note(kind: str, title: str, node: SyntaxTreeNode, within: _Within) -> Iterator[Block]:
    """A note, with its title if that says more than its kind; a tab has its title as a caption."""
    shown = _visible_text(_inline(title)) if title else ""
    if kind in ("tab", "tabs"):
        yield from (Block(shown, "caption"),) if shown else ()
        yield from _blocks(node.children, within)
        return
    if shown and shown.lower().strip(" :.!") not in ADMONITIONS:
        yield Block(shown, "admonition", label=kind)
    yield from _blocks(node.children, replace(within, kind="admonition", label=kind))


def _code(node: SyntaxTreeNode, within: _Within) -> Iterator[Block]:
    info = node.info.strip()
    if directive := _DIRECTIVE.match(info):
        yield from _directive(directive[1], directive[2], node.content, within)
        return
    language = _LANGUAGE.match(info)
    yield from _verbatim(node.content, language[1] if language else "")


def _verbatim(content: str, language: str) -> Iterator[Block]:
    text = dedent(content).strip("\n").rstrip()
    if text and not all(_DROPPED.fullmatch(line.strip()) for line in text.split("\n")):
        yield Block(text, "code", label=language)


def _directive(name: str, argument: str, content: str, within: _Within) -> Iterator[Block]:
    """Yield a directive in a fence, as MyST has them."""
    content = _OPTIONS.sub("", content, count=1) if _OPTIONS.match(content) else content
    inside = replace(within, kind="admonition", label=name)
    if name in _SILENT_DIRECTIVES:
        return
    if name == "eval-rst" and "rst" in FORMATS and (read := FORMATS.get("rst").text_blocks):
        yield from read(content)
        return
    if name in _CODE_DIRECTIVES:
        yield from _verbatim(content, argument.split(" ")[0])
    elif name in ADMONITIONS:
        title = _visible_text(_inline(argument)) if argument else ""
        yield from (Block(title, "admonition", label=name),) if title else ()
        yield from _blocks(SyntaxTreeNode(_parser().parse(content)).children, inside)
    elif name in _NESTED_DIRECTIVES:
        title = _visible_text(_inline(argument)) if argument else ""
        yield from (Block(title, "caption"),) if title else ()
        yield from _blocks(SyntaxTreeNode(_parser().parse(content)).children, within)
    elif name in ("figure", "image"):
        text = _visible_text(_inline(content.strip()))
        yield from (Block(text, "caption"),) if text else ()
    else:
        yield from _verbatim(content, "" if name == "math" else name)


def _html(content: str, within: _Within) -> Iterator[Block]:
    """Yield elements between Markdown: their text, and the labels of tabs."""
    for label in _TAB_LABEL.findall(content):
        yield Block(label, "caption")
    for block in page_blocks(_LIQUID.sub("", content)):
        yield (
            replace(block, kind=within.kind, label=within.label)
            if block.kind == "paragraph"
            else block
        )


def _formula(node: SyntaxTreeNode, within: _Within) -> Iterator[Block]:
    if text := formula_text(node.content):
        yield Block(text, within.kind, label=within.label)


def _table(node: SyntaxTreeNode, within: _Within) -> Iterator[Block]:
    rows = [
        [" ".join(_visible_text(_inline_tokens(cell)).split()) for cell in row.children]
        for part in node.children
        for row in part.children
    ]
    yield from table_blocks(rows, 1 if any(rows[0]) else 0, merged=())


def _definition_list(node: SyntaxTreeNode, within: _Within) -> Iterator[Block]:
    terms: list[str] = []
    for child in node.children:
        if child.type == "dt":
            terms.append(_visible_text(_inline_tokens(child)))
        else:
            yield from define_term(", ".join(terms), _blocks(child.children, within))
            terms = []


_READERS: Mapping[str, Callable[[SyntaxTreeNode, _Within], Iterator[Block]]] = {
    "heading": _heading,
    "paragraph": _paragraph,
    "bullet_list": _list,
    "ordered_list": _list,
    "blockquote": _quote,
    "indented": _read_indented,
    "container_note": _container,
    "fence": _code,
    "code_block": _code,
    "math_block": _formula,
    "table": _table,
    "dl": _definition_list,
}


def _inline_content(node: SyntaxTreeNode) -> str:
    return "".join(child.content for child in node.children if child.type == "inline")


def _inline_tokens(node: SyntaxTreeNode) -> list[Token]:
    inline = (child.token for child in node.children if child.type == "inline")
    return [token for item in inline if item for token in item.children or ()]


def _inline(content: str) -> list[Token]:
    return [token for item in _parser().parseInline(content) for token in item.children or ()]


def _visible_text(tokens: Sequence[Token]) -> str:
    """Return the text that a reader sees of inline marks, with code between backticks. Literals
    stay exactly as they are."""
    return restore_spans(_text(tokens))


def _text(tokens: Sequence[Token]) -> str:
    """Return the same, with code between its marks."""
    parts: list[str] = []
    literals = Literals()
    opened: list[tuple[str, int]] = []
    for token in tokens:
        if tag := _text_tag(token):
            _write_tag(tag, opened, parts)
        elif literal := _literal(token, parts):
            parts.append(literals.put(literal))
        elif token.type == "image":
            parts.append(strip_marks(_text(token.children or ())))
        elif token.type == "html_inline" and (code := _HTML_CODE.fullmatch(token.content)):
            parts.append(CODE[bool(code[1])])
        elif token.type == "softbreak":
            parts.append(" ")
        elif token.type == "hardbreak" or (
            token.type == "html_inline" and _is_break(token.content)
        ):
            parts.append("\n")
        elif token.type == "html_inline" and token.content.startswith("<img"):
            parts += [block.text for block in page_blocks(token.content)]
        elif token.type == "text":
            parts.append(token.content)
    text = _without_marks("".join(parts))
    lines = (" ".join(line.split()) for line in text.split("\n"))
    # Chinese and Japanese have no spaces, so a line break between their characters is none.
    text = _CJK_BREAK.sub("", "\n".join(line for line in lines if line))
    return literals.restore(text).strip()


def _literal(token: Token, parts: list[str]) -> str:
    """Return code and formulas, which hold no further marks; empty for other tokens."""
    if token.type.startswith("math_inline"):
        return write_formulas(f"{token.markup}{token.content}{token.markup}")
    return _inline_code(token.content, parts) if token.type == "code_inline" else ""


def _inline_code(content: str, parts: list[str]) -> str:
    """Return code as it is shown, and take its role (of MyST) from the end of `parts`."""
    if not parts or not (role := _ROLE.search(parts[-1])):
        return mark_code(content)
    parts[-1] = parts[-1][: role.start()]
    title = _ROLE_TITLE.fullmatch(content)
    shown = title[1] if title and title[1] else content
    if write := _WRITTEN.get(name := role[0].strip("{}")):
        return write(shown)
    return mark_code(shown) if is_code_role(name) else shown


_WRITTEN: Mapping[str, Callable[[str], str]] = {
    "sup": raise_text,
    "sub": lower_text,
    **dict.fromkeys(("s", "del", "strike"), strike_out),
}
"""How the text of an element is written: what is struck out is no longer said."""


def _text_tag(token: Token) -> str:
    """Return the name of an element in `_WRITTEN` that a token opens, with a slash if it closes
    one; empty for any other token."""
    name, _, side = token.type.partition("_")
    if name in _WRITTEN and side in ("open", "close"):
        return name if side == "open" else f"/{name}"
    tag = token.content.strip("<> ").lower() if token.type == "html_inline" else ""
    return tag if tag.removeprefix("/") in _WRITTEN else ""


def _write_tag(tag: str, opened: list[tuple[str, int]], parts: list[str]) -> None:
    """Note where an element begins, or at its end write its `parts` as it has them."""
    if not tag.startswith("/"):
        opened.append((tag, len(parts)))
    elif opened and opened[-1][0] == tag[1:]:
        name, start = opened.pop()
        parts[start:] = [_WRITTEN[name]("".join(parts[start:]))]


def _is_break(tag: str) -> bool:
    return tag.lower().replace(" ", "").replace("/", "") == "<br>"


def _without_marks(text: str) -> str:
    """Return text without the marks of site generators that CommonMark does not know."""
    if "{" in text:
        text = _LIQUID.sub("", text)
        text = _ATTRIBUTES.sub(_attributes_dropped, text)
    if "[" in text:
        text = _WIKI_LINK.sub(r"\1", _UNRESOLVED.sub(r"\1", text))
        text = _ABBREVIATION.sub(r"\1: ", text)
    if "==" in text:
        text = _MARKED.sub(r"\1", text)
    return _KEYS.sub(r"\1", _ICON.sub("", text))


def _attributes_dropped(match: re.Match[str]) -> str:
    are_all = match[1] or all(_ATTRIBUTE.fullmatch(part) for part in match[2].split())
    return "" if are_all else match[0]


MARKDOWN = Format("text/markdown", parse_markdown, whole=True, including=parse_markdown_file)
