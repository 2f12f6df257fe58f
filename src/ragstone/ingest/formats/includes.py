"""Other files in a text: what reStructuredText, AsciiDoc and Markdown's generators include.

The lines that include a file are replaced by its text before the document is read. Only files in
the folder that was given count, none whose name or folder is hidden, and only so many and so much.

The files that one document includes: found, read within bounds, and counted.
"""

import errno
import os
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import dedent
from typing import Any

from ragstone.core.errors import DocumentError
from ragstone.ingest.formats.decode import decode
from ragstone.ingest.formats.metadata import extract_front_matter
from ragstone.ingest.formats.types import Surroundings
from ragstone.ingest.places import read_regular

MAX_INCLUDED_FILES, MAX_INCLUDED_CHARS, MAX_INCLUDED_DEPTH = 300, 8_000_000, 10
"""Inclusions in one document, characters of them all, and how deep they may be in each other."""

FILE_BYTES = 4 << 20
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class IncludingFile:
    """A file whose lines are read, and the files that include it, itself last. `whole` says whether
    all of its lines are in the document."""

    path: Path
    above: tuple[Path, ...]
    whole: bool = True


class IncludedFiles:
    """Finds and reads what one document includes."""

    def __init__(self, around: Surroundings | None) -> None:
        self._around = around
        self._left: dict[str, str] = {}
        self._count = self._chars = 0
        self.read_files: dict[Path, None] = {}
        self.chapters: dict[Path, None] = {}
        """Documents by themselves of which the including one has all lines."""
        self.attributes: dict[str, str] = {}
        """Of AsciiDoc: the values that a name in braces stands for."""

    def notes(self) -> tuple[str, ...]:
        """Return one sentence on what was left out, none if that is nothing."""
        if not self._left:
            return ()
        shown = [f"{name} ({why})" for name, why in self._left.items()][:_SHOWN]
        more = len(self._left) - len(shown)
        rest = f" and {more:,} more" if more else ""
        return (f"Included files were left out: {', '.join(shown)}{rest}.",)

    def read(
        self, name: str, place: IncludingFile, anywhere: bool = False
    ) -> tuple[str, IncludingFile] | None:
        """Return the text of a file and its place; None if it is left out. `anywhere` looks for it
        from each folder above the document too."""
        found = self._find(name, place, anywhere)
        if isinstance(found, str):
            self._left.setdefault(" ".join(name.split())[:80], found)
            return None
        try:
            text = decode(read_regular(found, FILE_BYTES), found.name).replace("\x00", "")
        except OSError as error:
            self.leave(name, "too much" if error.errno == errno.EFBIG else "not to be read")
            return None
        except DocumentError:
            self.leave(name, "no text")
            return None
        self._count += 1
        self._chars += len(text)
        self.read_files[found] = None
        return text, IncludingFile(found, (*place.above, found), place.whole)

    def enter(
        self, file: IncludingFile, *, is_part: bool, endings: Container[str]
    ) -> IncludingFile:
        """Return a file whose lines are read now, of which a part may be left out; those with one
        of the `endings` would be documents by themselves."""
        file = replace(file, whole=file.whole and not is_part)
        if file.whole and file.path.suffix.lower() in endings:
            self.chapters[file.path] = None
        return file

    def leave(self, name: str, why: str) -> None:
        """Note a file that is left out."""
        self._left.setdefault(name[:80], why)

    def _find(self, name: str, place: IncludingFile, anywhere: bool) -> Path | str:
        """Return the file that a name means, or why it is left out."""
        if self._around is None:
            return "the document was given without its folder"
        outside = False
        for base in _bases(self._around, name, place, anywhere):
            target = self._around.find(base, name)
            if target is None:
                outside = True
                continue
            if self._around.is_hidden(target) or not _is_file(target):
                continue
            # Files that include each other would never end.
            if target in place.above:
                return "it includes itself"
            if len(place.above) > MAX_INCLUDED_DEPTH:
                return f"more than {MAX_INCLUDED_DEPTH} files in each other"
            if self._count >= MAX_INCLUDED_FILES or self._chars >= MAX_INCLUDED_CHARS:
                return "too much"
            return target
        return "outside the given folder" if outside else "not there"


def _bases(around: Surroundings, name: str, place: IncludingFile, anywhere: bool) -> Iterator[Path]:
    """Yield the folders that a name may count from, nearest first."""
    if not name.startswith("/"):
        yield place.path.parent
        yield around.document.parent
    if name.startswith("/") or anywhere:
        for folder in around.document.parents:
            yield folder
            if folder == around.folder:
                return


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def pick_lines(lines: Sequence[str], spec: str, range_sign: str = "-") -> list[str]:
    """The lines of numbers such as "1,3,5-10,20-", counted from 1; negative ends count back."""
    kept: list[str] = []
    for part in re.split(r"[,;]", spec.strip("\"' ")):
        first, sign, last = part.strip().partition(range_sign)
        if not re.fullmatch(r"-?\d{0,7}", first) or not re.fullmatch(r"-?\d{0,7}", last):
            continue
        start = int(first) if first.strip("-") else 1
        end = (int(last) if last.strip("-") else len(lines)) if sign else start
        end = len(lines) + 1 + end if end < 0 else end
        kept += lines[max(start - 1, 0) : max(end, 0)]
    return kept


_LINE_CHARS = 1000
"""A longer line includes nothing: it would be costly to look at."""

_MENTIONED = re.compile(rb"include|8<|\{\*|\{!|:file:")

_LANGUAGES = {
    "py": "python", "js": "javascript", "ts": "typescript", "rs": "rust", "rb": "ruby",
    "sh": "bash", "yml": "yaml", "md": "markdown", "h": "c", "txt": "", "kt": "kotlin",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Included:
    """A text with what it includes, the files that it is made of beside its own, and what was left
    out and why. `chapters` are those of the files that would be documents by themselves and of
    which it has everything."""

    text: str
    files: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()
    chapters: tuple[Path, ...] = ()


def expand_includes(source: str, path: Path, around: Surroundings | None) -> Included:
    """Return the text of the file at `path` with the files that it includes from around it; of a
    file without surroundings all of them are left out."""
    expand = _DIALECTS.get(path.suffix.lower())
    if expand is None or not _MENTIONED.search(source.encode("utf-8", "replace")):
        return Included(source)
    files = IncludedFiles(around)
    main = around.document if around else path
    text = "\n".join(expand(files, source.split("\n"), IncludingFile(main, (main,))))
    return Included(text, tuple(files.read_files), files.notes(), tuple(files.chapters))


def may_include(path: Path) -> bool:
    """Tell whether a file is of a format in which others are included."""
    return path.suffix.lower() in _DIALECTS


def read_included(path: Path, folder: Path) -> Included:
    """What the file at `path` includes, with what is included there; raises DocumentError."""
    if not may_include(path):
        return Included("")
    try:
        data = read_regular(path, FILE_BYTES)
    except OSError:
        return Included("")
    if not _MENTIONED.search(data):
        return Included("")
    source = decode(data, path.name)
    return expand_includes(source, path, Surroundings(folder, path))


def code_language(path: Path) -> str:
    """Return the language of a file of code, by its ending."""
    ending = path.suffix.lower().removeprefix(".")
    return _LANGUAGES.get(ending, ending)


_RST = re.compile(
    r"(?P<indent>\s*)\.\.[ \t]+(?P<kind>include|literalinclude)::[ \t]+(?P<name>\S.*)"
)
_RST_TABLE = re.compile(r"(?P<indent>\s*)\.\.[ \t]+csv-table::")
_RST_OPTION = re.compile(r"\s+:(?P<name>[\w-]+):[ \t]*(?P<value>.*)")


def _rst(files: IncludedFiles, lines: Sequence[str], place: IncludingFile) -> Iterator[str]:
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if len(line) > _LINE_CHARS:
            yield line
        elif table := _RST_TABLE.match(line):
            options, end = _rst_options(lines, at)
            found = files.read(options["file"], place) if "file" in options else None
            if found:
                indent = f"{table['indent']}   "
                yield line
                yield from (item for item in lines[at:end] if ":file:" not in item)
                yield ""
                yield from (indent + item for item in found[0].split("\n"))
                at = end
            else:
                yield line
        elif match := _RST.fullmatch(line.rstrip()):
            options, at = _rst_options(lines, at)
            yield from _rst_included(files, match, options, place)
        else:
            yield line


def _rst_options(lines: Sequence[str], at: int) -> tuple[dict[str, str], int]:
    options: dict[str, str] = {}
    while at < len(lines) and (option := _RST_OPTION.fullmatch(lines[at].rstrip())):
        options[option["name"]] = option["value"].strip()
        at += 1
    return options, at


def _rst_included(
    files: IncludedFiles, match: re.Match[str], options: Mapping[str, str], place: IncludingFile
) -> Iterator[str]:
    name, indent = match["name"].strip(), match["indent"]
    if name.startswith("<"):
        return
    # The text is Markdown or of a parser of the project, not reStructuredText.
    if "parser" in options:
        files.leave(name, "of another format")
        return
    found = files.read(name, place)
    if found is None:
        return
    text, inside = found
    lines = text.expandtabs(8).split("\n")
    yield ""
    if match["kind"] == "literalinclude" or "literal" in options or "code" in options:
        default = code_language(inside.path) if match["kind"] == "literalinclude" else ""
        language = options.get("language") or options.get("code") or default
        yield f"{indent}.. code-block:: {language}".rstrip()
        yield ""
        code = dedent("\n".join(_rst_part(lines, options))).split("\n")
        yield from (f"{indent}   {item}".rstrip() for item in code)
    else:
        inside = files.enter(inside, is_part=bool(options.keys() & _PARTS), endings=(".rst",))
        part = _rst_part(lines, options)
        yield from (f"{indent}{item}".rstrip() for item in _rst(files, part, inside))
    yield ""


_PARTS = {
    "start-line", "end-line", "lines", "start-after", "start-at", "end-before", "end-at", "pyobject"
}  # fmt: skip
"""Options that include a part of a file."""


def _rst_part(lines: Sequence[str], options: Mapping[str, str]) -> list[str]:
    """Return the lines that the options leave of an included file."""
    if "pyobject" in options:
        lines = _python_object(lines, options["pyobject"])
    start, end = _number(options.get("start-line")), _number(options.get("end-line"))
    lines = lines[start:end]
    if "lines" in options:
        lines = pick_lines(lines, options["lines"])
    text = "\n".join(lines)
    for name, with_line in (("start-after", False), ("start-at", True)):
        if name in options and (found := text.find(options[name])) >= 0:
            text = text[found:] if with_line else text[found + len(options[name]) :]
            if with_line is False and "end-before" not in options and text[:1] == "\n":
                text = text[1:]
    for name, with_line in (("end-before", False), ("end-at", True)):
        if name in options and (found := text.find(options[name])) >= 0:
            line_end = text.find("\n", found) if with_line else found
            text = text[: line_end if line_end >= 0 else len(text)]
    return text.split("\n")


def _number(value: str | None) -> int | None:
    return int(value) if value and re.fullmatch(r"-?\d{1,7}", value) else None


def _python_object(lines: Sequence[str], name: str) -> list[str]:
    """Return the lines of a class or function, all of them if it is not there."""
    first, last = 0, len(lines)
    begin = 0
    for part in name.split("."):
        opening = re.compile(rf"(\s*)(?:async\s+)?(?:def|class)\s+{re.escape(part)}\b")
        found = next((at for at in range(first, last) if opening.match(lines[at])), None)
        if found is None:
            return list(lines)
        indent = _indent(lines[found])
        after = range(found + 1, last)
        last = next((at for at in after if _ends_object(lines[at], indent)), last)
        begin, first = found, found + 1
    while begin and lines[begin - 1].strip().startswith("@"):
        begin -= 1
    return list(lines[begin:last])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _ends_object(line: str, indent: int) -> bool:
    return bool(line.strip()) and _indent(line) <= indent and line.lstrip()[0] not in ")]}"


_MARKDOWN_ENDINGS = (".md", ".markdown", ".mdx")
_SNIPPET = re.compile(r"(?P<indent>[ \t]*)-+8<-+[ \t]+(?P<sign>[\"'])(?P<name>.+)(?P=sign)")
_SNIPPETS = re.compile(r"[ \t]*-+8<-+")
_STARRED = re.compile(r"(?P<indent>[ \t]*)\{\*[ \t]*(?P<name>[^\s*]+)(?P<options>[^*\n]*)\*\}")
_BANGED = re.compile(r"(?P<indent>[ \t]*)\{!>?[ \t]*(?P<name>[^!\s]+)[ \t]*!\}(?:\[[^\]]*\])?")
_BOOK = re.compile(
    r"(?P<indent>[ \t]*)\{\{#(?:rustdoc_include|include|playground)"
    r"[ \t]+(?P<name>[^\s{}]+)[^{}]*\}\}"
)
_COMMENTED = re.compile(r"(?P<indent>[ \t]*)<!--[ \t]*@include:[ \t]*(?P<name>\S+?)[ \t]*-->")
_FENCED = re.compile(
    r"(?P<indent>[ \t]*)(?P<fence>`{3,}|:{3,})\{(?P<kind>include|literalinclude)\}"
    r"[ \t]+(?P<name>\S.*)"
)
_MYST_OPTION = re.compile(r"[ \t]*:(?P<name>[\w-]+):[ \t]*(?P<value>.*)")
_PICKED = re.compile(r"\bln\[([\d:,]+)\]")
_SECTION = re.compile(r"-+8<-+[ \t]*\[[ \t]*(start|end)[ \t]*:[ \t]*([\w-]+)[ \t]*\]")
_ANCHOR = re.compile(r"\bANCHOR(_END)?:[ \t]*([\w-]+)")


def _markdown(files: IncludedFiles, lines: Sequence[str], place: IncludingFile) -> Iterator[str]:
    at, listed = 0, False
    while at < len(lines):
        line = lines[at].rstrip()
        at += 1
        if len(line) > _LINE_CHARS:
            yield lines[at - 1]
        elif _SNIPPETS.fullmatch(line):
            listed = not listed
        elif listed:
            name = line.strip().strip("\"'")
            if name and not name.startswith(";"):
                yield from _snippet(files, name, "", place)
        elif (match := _FENCED.fullmatch(line)) is not None:
            options, at = _myst_options(lines, at, match["fence"])
            yield from _myst_included(files, match, options, place)
        elif match := _STARRED.fullmatch(line):
            yield from _include_starred(files, match, place) or (line,)
        elif match := next(
            (m for item in (_SNIPPET, _BANGED, _BOOK, _COMMENTED) if (m := item.fullmatch(line))),
            None,
        ):
            yield from _snippet(files, match["name"], match["indent"], place) or (line,)
        else:
            yield lines[at - 1]


def _snippet(files: IncludedFiles, name: str, indent: str, place: IncludingFile) -> list[str]:
    """Return the lines of a file, of some of its lines (`name:2:10`), or of a part of it that has a
    name (`name:part`); nothing if it is left out."""
    plain, _, part = re.sub(r"\{[\d,-]*\}$", "", name).removeprefix("@/").partition(":")
    if name.startswith(("http://", "https://")):
        files.leave(name, "on the web")
        return []
    found = files.read(plain, place, anywhere=True)
    if found is None:
        return []
    text, inside = found
    front: Mapping[str, Any] = {}
    if inside.path.suffix.lower() in _MARKDOWN_ENDINGS:
        front, text = extract_front_matter(text)
    inside = files.enter(inside, is_part=bool(part or front), endings=_MARKDOWN_ENDINGS)
    lines = _section(text.split("\n"), part)
    kept = [
        line
        for line in lines
        if not _SECTION.search(line[:_LINE_CHARS]) and not _ANCHOR.search(line[:_LINE_CHARS])
    ]
    return [f"{indent}{item}".rstrip() for item in _markdown(files, kept, inside)]


def _section(lines: Sequence[str], part: str) -> list[str]:
    """Return the lines that a part means, all of them if it is empty."""
    if not part:
        return list(lines)
    if re.fullmatch(r"\d{0,7}(?::\d{0,7})?", part):
        first, _, last = part.partition(":")
        start = int(first) if first else 1
        one_line = ":" not in part and first
        end = int(last) if last.isdecimal() else (start if one_line else len(lines))
        return list(lines[start - 1 : end])
    kept, inside = list[str](), False
    for line in lines:
        section, anchor = _SECTION.search(line[:_LINE_CHARS]), _ANCHOR.search(line[:_LINE_CHARS])
        if section and section[2] == part:
            inside = section[1] == "start"
        elif anchor and anchor[2] == part:
            inside = not anchor[1]
        elif inside:
            kept.append(line)
    return kept


def _include_starred(files: IncludedFiles, match: re.Match[str], place: IncludingFile) -> list[str]:
    """Return a file of code as a block of it."""
    found = files.read(match["name"], place, anywhere=True)
    if found is None:
        return []
    lines = found[0].rstrip("\n").split("\n")
    if picked := _PICKED.search(match["options"]):
        lines = pick_lines(lines, picked[1], ":")
    return _fence_code(lines, code_language(found[1].path), match["indent"])


def _fence_code(lines: Sequence[str], language: str, indent: str) -> list[str]:
    longest = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    # Longer than any fence in the code, which would end it.
    fence = "`" * max(3, longest + 1)
    return [f"{indent}{item}" for item in (f"{fence}{language}", *lines, fence)]


def _myst_options(lines: Sequence[str], at: int, fence: str) -> tuple[dict[str, str], int]:
    """Return the options of a directive in a fence, and the line after it."""
    options: dict[str, str] = {}
    while at < len(lines) and lines[at].strip() != fence:
        if option := _MYST_OPTION.fullmatch(lines[at].rstrip()):
            options[option["name"]] = option["value"].strip()
        at += 1
    return options, at + 1


def _myst_included(
    files: IncludedFiles, match: re.Match[str], options: Mapping[str, str], place: IncludingFile
) -> Iterator[str]:
    found = files.read(match["name"].strip(), place)
    if found is None:
        return
    text, inside = found
    lines = _rst_part(text.split("\n"), options)
    if match["kind"] == "literalinclude" or "literal" in options or "code" in options:
        language = options.get("language") or options.get("code") or code_language(inside.path)
        yield from _fence_code(lines, language, match["indent"])
    elif inside.path.suffix.lower() == ".rst" or options.get("parser", "").endswith("rst"):
        yield from _fence_code(lines, "{eval-rst}", match["indent"])
    else:
        front, body = extract_front_matter("\n".join(lines))
        is_part = bool(front or options.keys() & _PARTS)
        inside = files.enter(inside, is_part=is_part, endings=_MARKDOWN_ENDINGS)
        for item in _markdown(files, body.split("\n"), inside):
            yield f"{match['indent']}{item}".rstrip()


_ASCIIDOC = re.compile(r"include::(?P<name>[^\[\]\n]+)\[(?P<options>[^\]\n]*)\]")
_ATTRIBUTE = re.compile(r":([\w-]+):[ \t]+(\S.*)")
_REFERENCE = re.compile(r"\{([\w-]+)\}")
_TAG = re.compile(r"\b(tag|end)::([\w.-]+)\[\]")
_HEADING = re.compile(r"(={1,6}|#{1,6})(?=\s+\S)")
_ASCIIDOC_ENDINGS = (".adoc", ".asciidoc", ".asc")
_OPTION = re.compile(r"([\w-]+)=(?:\"([^\"]*)\"|([^,]*))")


def _asciidoc(files: IncludedFiles, lines: Sequence[str], place: IncludingFile) -> Iterator[str]:
    for line in lines:
        if len(line) > _LINE_CHARS:
            yield line
            continue
        if attribute := _ATTRIBUTE.fullmatch(line.rstrip()):
            files.attributes[attribute[1].lower()] = _fill_values(files, attribute[2])
        if match := _ASCIIDOC.fullmatch(line.rstrip()):
            yield from _asciidoc_included(files, match, place)
        else:
            yield line


def _fill_values(files: IncludedFiles, text: str) -> str:
    return _REFERENCE.sub(lambda m: files.attributes.get(m[1].lower(), m[0]), text)[:1000]


def _asciidoc_included(
    files: IncludedFiles, match: re.Match[str], place: IncludingFile
) -> Iterator[str]:
    options = {item[1]: item[2] or item[3] or "" for item in _OPTION.finditer(match["options"])}
    name = _fill_values(files, match["name"].strip())
    family, sign, rest = name.partition("$")
    if sign and family in ("partial", "example", "page"):
        modules = next(
            (parent for parent in place.path.parents if parent.parent.name == "modules"), None
        )
        name = os.path.relpath((modules or place.path.parent) / f"{family}s" / rest,
                               place.path.parent)  # fmt: skip
    found = files.read(name, place)
    if found is None:
        return
    text, inside = found
    lines = text.split("\n")
    if wanted := options.get("lines"):
        lines = pick_lines(lines, wanted, "..")
    tagged = options.get("tags") or options.get("tag") or ""
    tags = re.split(r"[,;]", tagged)
    lines = _pick_tagged(lines, {tag.strip() for tag in tags if tag.strip()})
    if options.get("indent") == "0":
        lines = dedent("\n".join(lines)).split("\n")
    offset = options.get("leveloffset", "")
    shift = int(offset) if re.fullmatch(r"[+-]?\d", offset) else 0
    if inside.path.suffix.lower() not in _ASCIIDOC_ENDINGS:
        yield from lines
        return
    inside = files.enter(inside, is_part=bool(wanted or tagged), endings=_ASCIIDOC_ENDINGS)
    for line in _asciidoc(files, lines, inside):
        heading = _HEADING.match(line) if shift else None
        if heading:
            depth = min(max(len(heading[1]) + shift, 1), 6)
            line = heading[1][0] * depth + line[heading.end() :]
        yield line


def _pick_tagged(lines: Sequence[str], wanted: set[str]) -> list[str]:
    """The lines between the tags that are wanted, without the lines of tags; all without names."""
    names = {text for text in wanted if not text.startswith("!")}
    unwanted = {text.removeprefix("!") for text in wanted - names}
    every = not names or bool(names & {"**"})
    open_tags: list[str] = []
    kept: list[str] = []
    for line in lines:
        if tag := _TAG.search(line):
            if tag[1] == "tag":
                open_tags.append(tag[2])
            elif tag[2] in open_tags:
                open_tags.remove(tag[2])
            continue
        inside = every or bool(names & set(open_tags)) or ("*" in names and bool(open_tags))
        if inside and not unwanted & set(open_tags):
            kept.append(line)
    return kept


_Expand = Callable[[IncludedFiles, Sequence[str], IncludingFile], Iterator[str]]
_DIALECTS: Mapping[str, _Expand] = {
    ".rst": _rst,
    **dict.fromkeys(_MARKDOWN_ENDINGS, _markdown),
    **dict.fromkeys((".adoc", ".asciidoc"), _asciidoc),
}
