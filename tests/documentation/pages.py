"""The pages of the documentation, and what stands in their fences.

A fence is run by `tests/e2e/test_documentation.py`, block by block in the order of the page, unless
a comment right above it says why not:

    <!-- not run: needs a Qdrant server -->

`<!-- first: COMMANDS -->` above a fence runs commands that readers need not see, and a page that
says `<!-- starts empty -->` begins without the documents of `examples/documents`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
GENERATED = "docs/reference.md"
LANGUAGES = ("console", "sh", "python", "http", "json", "yaml", "text")
RUN = ("console", "sh", "python", "http")

_PART = re.compile(
    r"<!--\s*(?P<comment>.*?)\s*-->"
    r"|^(?P<indent> *)```(?P<language>[^\n]*)\n(?P<body>.*?)^ *```$",
    re.MULTILINE | re.DOTALL,
)
_SPAN = re.compile(r"(?<!`)`([^`\n]+(?:\n[^`\n]+)?)`(?!`)")
_NOT_RUN, _FIRST, _EMPTY = "not run:", "first:", "starts empty"


@dataclass(frozen=True)
class Block:
    """A fence: where it is, its text without the indentation, why it is not run, and what is run
    before it."""

    page: str
    line: int
    language: str
    text: str
    not_run: str = ""
    first: str = ""

    @property
    def name(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class Page:
    """A Markdown file; `prose` is its text without fences and comments."""

    name: str
    prose: str
    blocks: Sequence[Block]
    empty: bool

    @property
    def spans(self) -> list[str]:
        """What stands between backticks in the prose, a line's end as a space."""
        return [" ".join(span.split()) for span in _SPAN.findall(self.prose)]


@dataclass(frozen=True)
class Step:
    """A command of a `console` fence, and the output that is shown for it."""

    command: str
    output: str


def pages() -> list[Page]:
    """Every page that people write."""
    files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    named = ((file.relative_to(ROOT).as_posix(), file) for file in files)
    return [read(name, f.read_text(encoding="utf-8")) for name, f in named if name != GENERATED]


def read(name: str, text: str) -> Page:
    """The page of a text."""
    blocks, empty = [], False
    not_run = first = ""
    end = 0
    for part in _PART.finditer(text):
        if text[end : part.start()].strip():
            not_run = first = ""
        end = part.end()
        if (comment := part["comment"]) is not None:
            empty = empty or comment == _EMPTY
            if comment.startswith(_NOT_RUN):
                not_run = comment.removeprefix(_NOT_RUN).strip()
            if comment.startswith(_FIRST):
                first = comment.removeprefix(_FIRST).strip()
            continue
        line = text.count("\n", 0, part.start()) + 1
        body = re.sub(f"^{part['indent']}", "", part["body"], flags=re.MULTILINE)
        blocks.append(Block(name, line, part["language"].strip(), body, not_run, first))
        not_run = first = ""
    return Page(name, _PART.sub("", text), blocks, empty)


def steps(block: Block) -> list[Step]:
    """The commands of a `console` fence: the lines that begin with `$ `, or go on after `\\`."""
    found: list[Step] = []
    lines = iter(block.text.splitlines())
    for line in lines:
        if line.startswith("$ "):
            command = line[2:]
            while command.endswith("\\"):
                command += "\n" + next(lines, "")
            found.append(Step(command, ""))
        elif found:
            found[-1] = Step(found[-1].command, f"{found[-1].output}{line}\n")
        else:
            raise ValueError(f"{block.name} begins with output; a command begins with '$ '")
    return found


def scripts(block: Block) -> Iterator[str]:
    """The shell text of a fence, and of the commands before it."""
    if block.first:
        yield block.first
    if block.language == "console":
        yield from (step.command for step in steps(block))
    if block.language == "sh":
        yield block.text
