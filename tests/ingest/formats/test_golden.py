"""Files that nobody here wrote (`tests/data/real`): the whole tree that is read of each."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ragstone.ingest.parse import parse
from ragstone.settings import IngestSettings

FOLDER = Path(__file__).parents[2] / "data" / "real"
FILES = sorted(
    file for file in FOLDER.iterdir() if file.suffix != ".tree" and file.name != "LICENCES.md"
)


def tree(file: Path) -> Iterator[str]:
    """Title and facts, then a line for each line of a block; its kind, level, page and label stand
    before the first. Text in pictures is left out: it needs an extra."""
    parsed = parse(file, IngestSettings(ocr_pages=0))
    yield f"title: {parsed.title}"
    for name, value in sorted(parsed.metadata.items()):
        yield f"{name}: {value}"
    for block in parsed.blocks:
        page = f"p{block.page}" if block.page else ""
        level = str(block.level or "")
        about = " ".join(item for item in (block.kind, level, page, block.label) if item)
        first, *more = block.text.split("\n")
        yield f"[{about}] {first}"
        yield from (f"    {line}" for line in more)


def shown(file: Path) -> str:
    return "".join(f"{line}\n" for line in tree(file))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_given_a_real_file_when_read_then_its_tree_is_the_known_one(file: Path) -> None:
    assert shown(file) == (FOLDER / f"{file.name}.tree").read_text(encoding="utf-8")


if __name__ == "__main__":
    for one in FILES:
        (FOLDER / f"{one.name}.tree").write_text(shown(one), encoding="utf-8")
