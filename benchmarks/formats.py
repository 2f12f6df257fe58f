"""How real files of each format are read: failures, words, what is left of marks, speed.

`RAGSTONE_FORMAT_FILES` is a folder with files below it that others wrote, as `python -m
benchmarks.format_files FOLDER` gathers them. The words that a second, simple reader finds in a file
are looked for in the blocks; those of a web page also as a second reader of main parts finds them.
`python -m benchmarks formats FOLDER...` prints it as a table, with examples.
"""

import asyncio
import os
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from benchmarks.row import Row
from benchmarks.second_readers import main_text, second
from ragstone.core.code_spans import without_spans
from ragstone.core.errors import DocumentError, EmptyDocument
from ragstone.ingest.chunk import chunk
from ragstone.ingest.formats.types import list_endings
from ragstone.ingest.parse import parse
from ragstone.models.minilm import MiniLm
from ragstone.settings import IngestSettings

SETTINGS = IngestSettings(ocr_pages=0)
"""The text in pictures has a benchmark of its own (`ocr`)."""

EMBEDDED = 192
"""Passages of the files, evenly taken, with which the embedder alone is measured."""

MAIN_PART = (".html", ".htm", ".xhtml")
"""Formats of which menus and the like are left out, which the second reader takes for text."""

KEPT_PASSAGES = 40
"""Passages of one file that may be among them."""

_WORD = re.compile(r"[^\W\d_]{3,}")
_LEFT = re.compile(
    r"\*\*\w|:[\w:]+:`|^\.\. \w|\{#|</\w+>|``|\]\(http|^:::|^!!!|&(?:amp|lt|nbsp);|"
    r"^\[\[|xref:\w|^={2,} \w|^#{1,6} \w",
    re.MULTILINE,
)
_SHOWN = 3


@dataclass
class _Tally:
    """What was found in the files of one ending."""

    files: int = 0
    empty: int = 0
    words: int = 0
    kept: int = 0
    main_words: int = 0
    main_kept: int = 0
    blocks: int = 0
    passages: int = 0
    seconds: float = 0
    refused: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    shares: list[tuple[float, str]] = field(default_factory=list)


def run() -> Iterator[Row]:
    tallies, passages = _tallies([os.environ["RAGSTONE_FORMAT_FILES"]])
    embedder = asyncio.run(_speed(passages))
    yield Row("The embedder alone", embedder, "passages/s", detail=True)
    for ending, tally in sorted(tallies.items()):
        name = ending.removeprefix(".").upper()
        refused = Counter({**tally.refused, "empty": tally.empty})
        why = ", ".join(f"{number} {kind}" for kind, number in refused.items() if number)
        yield Row(f"{name}: files", tally.files, note=why, detail=True)
        if tally.words:
            least = None if ending in MAIN_PART else 0.95
            yield Row(f"{name}: words kept", tally.kept / tally.words, least=least, detail=True)
        if tally.main_words:
            share = tally.main_kept / tally.main_words
            yield Row(f"{name}: words of the main text kept", share, least=0.95, detail=True)
        speed = tally.passages / max(tally.seconds, 1e-9)
        yield Row(f"{name}: reading", speed, "passages/s", detail=True)
        yield Row(f"{name}: reading, by the embedder alone", speed / embedder, "x", detail=True)


def main(folders: Sequence[str]) -> int:
    """Read all files below the folders and print the table. Crashes are the status."""
    tallies, _ = _tallies(folders)
    print("| format | files | failures | empty | words kept | of the main text | marks left "
          "| blocks | passages/s |")  # fmt: skip
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for ending, tally in sorted(tallies.items()):
        share = f"{tally.kept / tally.words:.1%}" if tally.words else "-"
        main = f"{tally.main_kept / tally.main_words:.1%}" if tally.main_words else "-"
        speed = tally.passages / tally.seconds if tally.seconds else 0
        print(
            f"| {ending} | {tally.files} | {len(tally.failures)} | {tally.empty} | {share} "
            f"| {main} | {len(tally.left)} | {tally.blocks} | {speed:.0f} |"
        )
    for ending, tally in sorted(tallies.items()):
        fewest = [f"{share:.0%} {path}" for share, path in sorted(tally.shares)[:_SHOWN]]
        for line in (*tally.failures, *tally.left[: 2 * _SHOWN], *fewest):
            print(f"{ending}: {line}")
    return sum(tally.refused["crash"] for tally in tallies.values())


def _tallies(folders: Sequence[str]) -> tuple[dict[str, _Tally], list[str]]:
    """Return what was found by ending, and passages for the embedder."""
    tallies: dict[str, _Tally] = defaultdict(_Tally)
    passages: list[str] = []
    for path in _files(folders):
        passages += _read(path, tallies[path.suffix.lower()])
    return tallies, passages


async def _speed(passages: Sequence[str]) -> float:
    """Return passages a second of the embedder alone."""
    embedder = MiniLm()
    texts = passages[:: max(1, len(passages) // EMBEDDED)][:EMBEDDED]
    await embedder.embed_passages(["warm"])
    started = time.perf_counter()
    await embedder.embed_passages(texts)
    return len(texts) / (time.perf_counter() - started)


def _files(folders: Sequence[str]) -> Iterator[Path]:
    for folder in folders:
        root = Path(folder)
        for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
            if path.is_file() and path.suffix.lower() in list_endings():
                yield path


def _read(path: Path, tally: _Tally) -> list[str]:
    """Count a file; the first passages of it."""
    tally.files += 1
    started = time.perf_counter()
    try:
        blocks = list(parse(path, SETTINGS).blocks)
        pieces = chunk(iter(blocks), SETTINGS.chunk_size, SETTINGS.chunk_overlap)
        passages = [piece.text for piece in pieces]
    except EmptyDocument:
        tally.empty += 1
        return []
    except DocumentError as error:
        tally.refused[type(error).__name__] += 1
        tally.failures.append(f"{path}: {error}")
        return []
    except Exception as error:
        tally.refused["crash"] += 1
        tally.failures.append(f"CRASH {path}: {type(error).__name__}: {error}")
        return []
    finally:
        tally.seconds += time.perf_counter() - started
    tally.blocks += len(blocks)
    tally.passages += len(passages)
    for block in blocks:
        text = without_spans(block.text)
        if block.kind != "code" and (match := _LEFT.search(text)):
            around = text[max(match.start() - 30, 0) : match.end() + 30]
            tally.left.append(f"{path.name} ({block.kind}): {around!r}")
    source = Counter(_WORD.findall(second(path).lower()))
    is_page = path.suffix.lower() in MAIN_PART
    main = Counter(_WORD.findall(main_text(path).lower() if is_page else ""))
    found = Counter(
        _WORD.findall(" ".join(f"{block.text} {block.label}" for block in blocks).lower())
    )
    words, kept = source.total(), (source & found).total()
    tally.main_words += main.total()
    tally.main_kept += (main & found).total()
    tally.words += words
    tally.kept += kept
    if words > 20:
        tally.shares.append((kept / words, str(path)))
    return list(islice(passages, KEPT_PASSAGES))
