"""`python -m benchmarks formats FOLDER`: how real files of each format are read.

For each ending: files, failures, the share of the source's words that are in the blocks (counted by
a second, simple reader), blocks outside of code in which marks of the format are left, and speed.
"""

import re
import time
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

from ragstone.core.errors import DocumentError, EmptyDocument
from ragstone.ingest.formats.types import supported
from ragstone.ingest.parse import parse
from ragstone.settings import IngestSettings

_WORD = re.compile(r"[^\W\d_]{3,}")
_LEFT = re.compile(
    r"\*\*\w|:[\w:]+:`|^\.\. \w|\{#|</\w+>|(?<!`)``(?!`)|\]\(http|^:::|^!!!|&(?:amp|lt|nbsp);|"
    r"^\[\[|xref:\w|^={2,} \w|^#{1,6} \w",
    re.MULTILINE,
)
_SHOWN = 3


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
    source = re.sub(
        r"^(?::[\w!-]+:|\[[^\]\n]*\]$|//|include::|ifdef|endif|image::).*$", "", source, flags=re.M
    )
    return re.sub(r"<<[^<>,\n]+[,>]|(?:link|xref|https?|image):[^\s\[\]]+", "", source)


def _book_text(path: Path) -> str:
    with zipfile.ZipFile(path) as book:
        names = [name for name in book.namelist() if name.endswith((".html", ".xhtml", ".htm"))]
        return " ".join(_page_text(book.read(name).decode("utf-8", "replace")) for name in names)


_SIMPLE: dict[str, Callable[[str], str]] = {
    ".md": _markdown_text,
    ".mdx": _markdown_text,
    ".rst": _rst_text,
    ".html": _page_text,
    ".xhtml": _page_text,
    ".htm": _page_text,
    ".adoc": _asciidoc_text,
    ".asciidoc": _asciidoc_text,
}


@dataclass
class _Tally:
    """What was found in the files of one ending."""

    files: int = 0
    empty: int = 0
    words: int = 0
    kept: int = 0
    blocks: int = 0
    seconds: float = 0
    failures: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    shares: list[tuple[float, str]] = field(default_factory=list)


def main(folders: Sequence[str]) -> int:
    """Read all files below the folders and print the table. Failures are the status."""
    tallies: dict[str, _Tally] = defaultdict(_Tally)
    for path in _files(folders):
        _read(path, tallies[path.suffix.lower()])
    print("| format | files | failures | empty | words kept | marks left | blocks | files/s |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for ending, tally in sorted(tallies.items()):
        share = tally.kept / tally.words if tally.words else 1
        speed = tally.files / tally.seconds if tally.seconds else 0
        print(
            f"| {ending} | {tally.files} | {len(tally.failures)} | {tally.empty} | {share:.1%} "
            f"| {len(tally.left)} | {tally.blocks} | {speed:.0f} |"
        )
    for ending, tally in sorted(tallies.items()):
        fewest = [f"{share:.0%} {path}" for share, path in sorted(tally.shares)[:_SHOWN]]
        for line in (*tally.failures[:_SHOWN], *tally.left[: 2 * _SHOWN], *fewest):
            print(f"{ending}: {line}")
    return sum(len(tally.failures) for tally in tallies.values())


def _files(folders: Sequence[str]) -> Iterator[Path]:
    for folder in folders:
        root = Path(folder)
        for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
            if path.is_file() and path.suffix.lower() in supported():
                yield path


def _read(path: Path, tally: _Tally) -> None:
    tally.files += 1
    started = time.perf_counter()
    try:
        blocks = list(parse(path, IngestSettings()).blocks)
    except EmptyDocument:
        tally.empty += 1
        return
    except DocumentError as error:
        tally.failures.append(f"{path}: {error}")
        return
    except Exception as error:
        tally.failures.append(f"{path}: {type(error).__name__}: {error}")
        return
    finally:
        tally.seconds += time.perf_counter() - started
    tally.blocks += len(blocks)
    for block in blocks:
        if block.kind != "code" and (match := _LEFT.search(block.text)):
            around = block.text[max(match.start() - 30, 0) : match.end() + 30]
            tally.left.append(f"{path.name} ({block.kind}): {around!r}")
    source = Counter(_WORD.findall(_simple_text(path).lower()))
    found = Counter(_WORD.findall(" ".join(block.text for block in blocks).lower()))
    words, kept = source.total(), (source & found).total()
    tally.words += words
    tally.kept += kept
    if words > 20:
        tally.shares.append((kept / words, str(path)))


def _simple_text(path: Path) -> str:
    ending = path.suffix.lower()
    if ending == ".epub":
        return _book_text(path)
    simple = _SIMPLE.get(ending)
    source = (
        path.read_text(encoding="utf-8", errors="replace") if simple or ending == ".txt" else ""
    )
    return simple(source) if simple else source
