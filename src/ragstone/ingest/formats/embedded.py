"""Pictures inside documents (Office, LibreOffice, books, pages): what is said of them, and the text
in them, which is recognised where the extra `ocr` is installed."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from ragstone.core.errors import DocumentError
from ragstone.ingest.document import Block
from ragstone.ingest.formats.package import open_archive, unpacked
from ragstone.ingest.formats.picture import embedded_blocks
from ragstone.ingest.formats.recognition import CHOSEN, PICTURES_UNREAD
from ragstone.ingest.formats.types import PICTURES

MOST_PICTURES = 200
"""So many pictures of a document are looked at; their text takes a second or more each."""

_FOLDERS = ("media", "Pictures")
"""Elsewhere in a package stands a preview of the whole document."""

FEWEST_BYTES = 2_000
"""A smaller one holds no text that is worth it: a sign, a rule, a background."""

MOST_BYTES = 32 << 20
_SAID = re.compile(r"\S+\s+\S*[^\W\d]|[^\x00-\u2fff]{4}")
"""What describes a picture is words; a single one is mostly its file's name."""

_NUMBERED = re.compile(
    r"(?:picture|image|grafik|bild|photo|obraz|imagen|immagine) \d+", re.IGNORECASE
)
_GUESSED = re.compile(
    r"\s*(?:Description|Beschreibung) (?:automatically generated|automatisch .*)$"
)


@dataclass(frozen=True, slots=True)
class EmbeddedPicture:
    """One picture: its kind as Pillow calls it, and its bytes when they are wanted."""

    kind: str
    read: Callable[[], bytes]


class Pictures:
    """The pictures of one document by their names, each of which is read where it first stands."""

    def __init__(self, document: str, found: Mapping[str, EmbeddedPicture]) -> None:
        self._document = document
        self._recognition = CHOSEN.get()
        self._waiting = dict(islice(found.items(), MOST_PICTURES))
        self._left_out = len(found) - len(self._waiting)
        self._found = len(found)

    @property
    def metadata(self) -> dict[str, Any]:
        """How many pictures wait for the extra."""
        waits = self._found and self._recognition.wanted and not self._recognition.possible
        return {PICTURES_UNREAD: self._found} if waits else {}

    @property
    def notes(self) -> tuple[str, ...]:
        if not (self._left_out and self._recognition.possible):
            return ()
        return (
            f"{self._document} has {self._found:,} pictures; the text of the first "
            f"{MOST_PICTURES:,} is read.",
        )

    @property
    def recognised(self) -> int:
        """In how many pictures text is looked for."""
        return len(self._waiting) if self._recognition.possible else 0

    def waits(self, name: str) -> bool:
        """Whether the picture with this name is there and has not been read."""
        return self._recognition.possible and name in self._waiting

    def blocks(self, name: str, said: str, page: int | None = None) -> Iterator[Block]:
        """What is said of the picture with this name in the package, and the text in it."""
        said = " ".join(_GUESSED.sub("", said).split())
        if _SAID.search(said) and not _NUMBERED.fullmatch(said):
            yield Block(said, "caption", page=page)
        if not self.waits(name):
            return
        picture = self._waiting.pop(name)
        try:
            found = embedded_blocks(picture.kind, name, picture.read(), self._recognition)
        except DocumentError:
            # A damaged picture does not keep the text around it from being read.
            return
        for block in found:
            kind = "paragraph" if block.kind == "heading" else block.kind
            yield replace(block, kind=kind, level=block.level * (kind == "item"), page=page,
                          places=())  # fmt: skip


def packed_pictures(path: Path, max_bytes: int | None, *, anywhere: bool = False) -> Pictures:
    """Those of a package: in the folders that Office and LibreOffice put them, or `anywhere`."""
    with open_archive(path, max_bytes) as archive:
        found = {
            entry.filename: EmbeddedPicture(
                kind, partial(_unpacked, path, max_bytes, entry.filename)
            )
            for entry in archive.infolist()
            if (kind := picture_kind(entry.filename))
            and (anywhere or PurePosixPath(entry.filename).parent.name in _FOLDERS)
            and is_worth_it(entry.file_size)
        }
    return Pictures(path.name, found)


def _unpacked(path: Path, max_bytes: int | None, name: str) -> bytes:
    with open_archive(path, max_bytes) as archive:
        return unpacked(archive, archive.getinfo(name), MOST_BYTES) or b""


def picture_kind(name: str) -> str:
    """The kind of a picture as Pillow calls it, by its name; "" for one that cannot be read."""
    return PICTURES.get(PurePosixPath(name).suffix.lower().removeprefix("."), "")


def is_worth_it(size: int) -> bool:
    """Whether a picture of so many bytes is looked at."""
    return FEWEST_BYTES <= size <= MOST_BYTES
