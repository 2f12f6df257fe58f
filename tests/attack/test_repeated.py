"""What a document says once and each of its chunks repeats has a bound, whoever says it: else a
file of a megabyte fills the memory of whoever asks, and the disk."""

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict
from email.message import EmailMessage
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from ragstone.ingest.chunk import chunk
from ragstone.ingest.document import Block
from ragstone.ingest.uploads import Spool
from ragstone.service import Handed, IngestRequest, Progress
from tests.attack.house import a_house
from tests.backup.house import House, opened

LONG = "Quokka " * 9_000
TEXT = "The quokka lives on an island and eats leaves. " * 100
MOST_REPEATED = 52_000
"""Characters: metadata, title, headings and path."""


def mail() -> str:
    message = EmailMessage()
    message["Subject"] = LONG
    message["From"] = "ada@example.com"
    message["To"] = ", ".join(f"Person {n} <person{n}@example.com>" for n in range(10_000))
    message["References"] = " ".join(f"<{n}@example.com>" for n in range(10_000))
    message.set_content(TEXT)
    return message.as_string()


NAMES = " ".join(f'<meta name="key{n}" content="{LONG[:1999]}">' for n in range(100))

FILES: dict[str, Callable[[], str]] = {
    "heading.md": lambda: f"# {LONG}\n\n{TEXT}",
    "front.md": lambda: f"---\ntitle: {LONG[:60_000]}\n---\n\n# A\n\n{TEXT}",
    "values.md": lambda: (
        "---\n"
        + "\n".join(f"key{n}: [{', '.join(f'{n}-{m}' for m in range(150))}]" for n in range(50))
        + f"\n---\n\n# A\n\n{TEXT}"
    ),
    "title.html": lambda: f"<title>{LONG}</title><p>{TEXT}</p>",
    "meta.html": lambda: f"<head><title>A</title>{NAMES}</head><p>{TEXT}</p>",
    "caption.html": lambda: (
        f"<table><caption>{LONG}</caption>"
        + "".join(f"<tr><td>{n}</td><td>{TEXT[:200]}</td></tr>" for n in range(200))
        + "</table>"
    ),
    "mail.eml": mail,
    "title.rst": lambda: f"{LONG}\n{'=' * len(LONG)}\n\n{TEXT}",
    "title.txt": lambda: f"{LONG}\n\n{TEXT}",
}


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    (tmp_path / "data").mkdir()
    async with opened(tmp_path / "data") as house:
        yield house


async def list_repeated(house: House) -> list[int]:
    """The characters of each chunk besides its own text."""
    own = ("text", "subject")
    return [
        len(json.dumps({key: value for key, value in chunk.payload().items() if key not in own}))
        for chunk in (await house.chunks()).values()
    ]


@pytest.mark.parametrize("name", FILES)
async def test_what_a_file_says_of_itself_is_repeated_within_bounds(
    house: House, name: str
) -> None:
    house.write(name, FILES[name]())

    await house.ingest()

    repeated = await list_repeated(house)
    assert len(repeated) > 1
    assert max(repeated) < MOST_REPEATED


def test_headings_and_labels_of_any_depth_are_repeated_within_bounds() -> None:
    headings = [Block(f"Heading {n}", "heading", n) for n in range(1, 3_000)]
    table = Block("| a | b |\n" * 2_000, "table", label=LONG)

    pieces = list(chunk([*headings, table], 500, 50))

    assert len(pieces) > 10
    assert max(len(piece.section) for piece in pieces) <= 20
    assert pieces[-1].section[-1] == "Heading 2999"
    assert max(len(block.label) for piece in pieces for block in piece.blocks) <= 1_000


async def ingest(house: House, handed: Handed) -> Progress:
    told: list[Progress] = []
    await house.pipeline.ingest("job", IngestRequest(handed=(handed,)), told.append)
    return told[-1]


def spool(house: House) -> str:
    return Spool(house.data).add(BytesIO(f"# A\n\n{TEXT}".encode()), "a.md")


@pytest.mark.parametrize(
    "given", [{"title": LONG}, {"metadata": {"title": LONG}}], ids=["title", "metadata"]
)
async def test_what_an_upload_is_called_is_cut(house: House, given: dict[str, Any]) -> None:
    handed = Handed(spool(house), "/a.md", "upload:/a.md", **given)

    await ingest(house, handed)

    titles = {len(chunk.title) for chunk in (await house.chunks()).values()}
    assert max(titles) <= 300


@pytest.mark.parametrize(
    "path", ["/" + "d" * 5_000 + ".md", "/" + "d/" * 1_000 + "a.md"], ids=["long", "deep"]
)
async def test_a_path_that_would_fill_the_index_is_refused(house: House, path: str) -> None:
    said = await ingest(house, Handed(spool(house), path, f"upload:{path}"))

    assert [item.reason for item in said.failed] == [
        "Its path is too long, or leads through too many folders. Shorten it."
    ]


@pytest.mark.parametrize(
    "metadata",
    [
        {"nested": {"a": 1}},
        {str(n): n for n in range(1_000)},
        {"list": list(range(1_000))},
        {str(n): "x" * 1_999 for n in range(50)},
    ],
    ids=["nested", "keys", "values", "characters"],
)
async def test_an_editor_gives_no_document_more_metadata_than_anybody(
    tmp_path: Path, metadata: dict[str, Any]
) -> None:
    async with a_house(tmp_path, documents=False) as attacked:
        handed = Handed("file", "/a.md", "upload:/a.md", metadata=metadata)
        request = IngestRequest(handed=(handed,))

        with pytest.raises(Exception, match="The metadata cannot be used") as refused:
            async for _ in attacked.service.ingest(request):
                pass

        assert getattr(refused.value, "code", "") == "invalid_request", asdict(handed)
