"""Files written for a test, and the blocks read from them."""

from pathlib import Path

from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.parse import parse
from ragstone.settings import IngestSettings


def opened(folder: Path, name: str, source: str, given: Path | None = None) -> Parsed:
    """`given` is the folder that the file was given with."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source, encoding="utf-8")
    return parse(path, IngestSettings(), given)


def read(folder: Path, name: str, source: str) -> list[Block]:
    return list(opened(folder, name, source).blocks)
