"""Source code: a block of code for each definition at the top level, below its name.

The comment above a definition, and a docstring, are paragraphs: they say in words what the code
does, and words are what people ask with.
"""

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from textwrap import dedent

from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.decode import decode_file
from ragstone.ingest.formats.types import Format

_LARGE_CHARS = 6000
"""What is longer (a class with its methods) is divided at the definitions in it."""
_LINE_CHARS = 2000
_MAX_DEPTH = 3


@dataclass(frozen=True, slots=True)
class _Language:
    """How a language writes comments of one line, and of several."""

    label: str
    line: str = "//"
    opening: str = "/*"
    closing: str = "*/"


_HASH = ("#", "", "")
_LANGUAGES = {
    "py": _Language("python", *_HASH),
    "js": _Language("javascript"), "mjs": _Language("javascript"), "cjs": _Language("javascript"),
    "jsx": _Language("jsx"), "ts": _Language("typescript"), "tsx": _Language("tsx"),
    "java": _Language("java"), "kt": _Language("kotlin"), "scala": _Language("scala"),
    "go": _Language("go"), "rs": _Language("rust"), "swift": _Language("swift"),
    "c": _Language("c"), "h": _Language("c"), "cpp": _Language("cpp"), "cc": _Language("cpp"),
    "hpp": _Language("cpp"), "cs": _Language("csharp"), "php": _Language("php"),
    "rb": _Language("ruby", *_HASH), "sh": _Language("bash", *_HASH),
    "bash": _Language("bash", *_HASH), "ps1": _Language("powershell", "#", "<#", "#>"),
    "sql": _Language("sql", "--"), "lua": _Language("lua", "--", "--[[", "]]"),
    "r": _Language("r", *_HASH),
}  # fmt: skip

_DEFINED = re.compile(
    r"^\s*(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|pub|"
    r"sealed|partial|open|override|virtual|inline|extern|unsafe|declare|create|or replace|"
    r"pub\([a-z]+\))\s+)*"
    r"(?P<kind>class|interface|struct|enum|trait|impl|record|object|module|namespace|type|def|func|"
    r"fun|fn|function|sub|table|view|procedure|trigger|index|mod)\b\*?\s*"
    r"(?:\([^)]*\)\s*)?(?:if not exists\s+)?(?P<name>[\w.$\"`:]+)",
    re.IGNORECASE,
)
_CALLED = re.compile(r"^[\w<>\[\]*&:,.\s]*?\b(?P<name>[A-Za-z_~]\w*)\s*\(")
_ASSIGNED = re.compile(r"^\s*(?:export\s+)?(?:const|let|var|val)\s+(?P<name>\w+)")
_NO_NAMES = {"if", "for", "while", "switch", "return", "catch", "foreach", "using", "elif", "main"}
_STAR = re.compile(r"^\s*\*(?: |$)")


def parse_source(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Read a file whole. Raises UnreadableDocument for what is not text."""
    text = decode_file(path).replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    language = _LANGUAGES[ending.removeprefix(".")]
    made = _python(text) if language.label == "python" else None
    blocks = made if made is not None else list(_parts(text.split("\n"), language, 0))
    return Parsed(path.name, iter(blocks))


def _python(text: str) -> list[Block] | None:
    """Return the blocks of a Python file, None for one that does not parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    lines = text.split("\n")
    return list(_python_body(tree, lines, 0, len(lines), 0))


def _python_body(
    parent: ast.Module | ast.ClassDef, lines: list[str], start: int, end: int, depth: int
) -> Iterator[Block]:
    """What stands between two lines: definitions below their names, and the code between them."""
    language = _LANGUAGES["py"]
    if docstring := ast.get_docstring(parent):
        if isinstance(parent, ast.Module):
            yield from _comment(lines[start : parent.body[0].lineno - 1], language)
            start = parent.body[0].end_lineno or start
        yield from _prose(docstring.split("\n"))
    held = start
    for node in parent.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        first = min([node.lineno, *(item.lineno for item in node.decorator_list)]) - 1
        comment = first
        while comment > held and lines[comment - 1].lstrip().startswith("#"):
            comment -= 1
        yield from _code(lines[held:comment], language)
        held = node.end_lineno or first + 1
        is_class = isinstance(node, ast.ClassDef)
        yield Block(f"class {node.name}" if is_class else node.name, "heading", depth + 1)
        yield from _comment(lines[comment:first], language)
        own = lines[first:held]
        large = sum(map(len, own)) > _LARGE_CHARS
        if isinstance(node, ast.ClassDef) and large and depth < _MAX_DEPTH:
            yield from _python_body(node, lines, first, held, depth + 1)
            continue
        if docstring := ast.get_docstring(node):
            yield from _prose(docstring.split("\n"))
        yield from _code(own, language)
    yield from _code(lines[held:end], language)


def _parts(lines: Sequence[str], language: _Language, depth: int) -> Iterator[Block]:
    """Yield the definitions of another language: what begins at the lowest indentation after an
    empty line, with the comment above it."""
    for part in _split_definitions(lines):
        comment, code = _split_comment(part, language)
        name = _find_defined_name(code)
        if name:
            yield Block(name, "heading", depth + 1)
        yield from _comment(comment, language)
        inner = code[1:-1]
        large = sum(map(len, code)) > _LARGE_CHARS and len(inner) > 1
        if name and large and depth < _MAX_DEPTH and len(list(_split_definitions(inner))) > 1:
            yield from _code(code[:1], language)
            yield from _parts(inner, language, depth + 1)
            yield from _code(code[-1:], language)
        else:
            yield from _code(code, language)


def _split_definitions(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield the lines, divided before those that begin something."""
    filled = [line for line in lines if line.strip()]
    lowest = min((len(line) - len(line.lstrip()) for line in filled), default=0)
    held: list[str] = []
    empty = False
    for line in lines:
        indent = len(line) - len(line.lstrip())
        begins = empty and line.strip() and indent == lowest and line.lstrip()[0] not in "})]"
        if begins and any(text.strip() for text in held):
            yield held
            held = []
        held.append(line)
        empty = not line.strip()
    if any(text.strip() for text in held):
        yield held


def _split_comment(lines: list[str], language: _Language) -> tuple[list[str], list[str]]:
    """Return the comment that the lines begin with, and the code."""
    place, inside = 0, False
    while place < len(lines):
        line = lines[place].strip()
        if inside:
            inside = language.closing not in line
        elif language.opening and line.startswith(language.opening):
            inside = language.closing not in line[len(language.opening) :]
        elif line and not (line.startswith(language.line) and not line.startswith("#!")):
            break
        place += 1
    return lines[:place], lines[place:]


def _comment(lines: Sequence[str], language: _Language) -> Iterator[Block]:
    """Yield a comment without its marks, as paragraphs."""
    plain = []
    for line in lines:
        text = line.strip()
        if language.opening:
            text = text.removeprefix(language.opening).removesuffix(language.closing)
            text = _STAR.sub("", text.removeprefix("*") if text == "*" else text)
        while text.startswith(language.line):
            text = text.removeprefix(language.line)
        plain.append(text.strip().strip("!/*#=-").strip())
    yield from _prose(plain)


def _prose(lines: Sequence[str]) -> Iterator[Block]:
    for filled, part in groupby(lines, lambda line: bool(line.strip())):
        if filled:
            yield Block(" ".join(" ".join(part).split()))


def _code(lines: Sequence[str], language: _Language) -> Iterator[Block]:
    cut = [line[:_LINE_CHARS] if len(line) > 50 * _LINE_CHARS else line for line in lines]
    text = dedent("\n".join(cut)).strip("\n").rstrip()
    if any(char.isalnum() for char in text):
        yield Block(text, "code", label=language.label)


def _find_defined_name(code: Sequence[str]) -> str:
    """Return what the first lines define, "" if that cannot be told."""
    for line in code[:4]:
        if match := _DEFINED.match(line):
            kind = match["kind"].lower()
            name = match["name"].strip('"`:.')
            plain = kind in ("def", "func", "fun", "fn", "function", "sub")
            return name if plain else f"{kind} {name}"
        match = _ASSIGNED.match(line) or _CALLED.match(line)
        if match and match["name"] not in _NO_NAMES and not line.startswith((" ", "\t", "#", "@")):
            return str(match["name"])
    return ""


def _format(ending: str) -> Format:
    return Format(f"text/x-{_LANGUAGES[ending].label}", parse_source, whole=True)


PYTHON = _format("py")
JAVASCRIPT = _format("js")
JSX = _format("jsx")
TYPESCRIPT = _format("ts")
TSX = _format("tsx")
JAVA = _format("java")
KOTLIN = _format("kt")
SCALA = _format("scala")
GO = _format("go")
RUST = _format("rs")
SWIFT = _format("swift")
C = _format("c")
CPP = _format("cpp")
CSHARP = _format("cs")
PHP = _format("php")
RUBY = _format("rb")
SHELL = _format("sh")
POWERSHELL = _format("ps1")
SQL = _format("sql")
LUA = _format("lua")
R = _format("r")
