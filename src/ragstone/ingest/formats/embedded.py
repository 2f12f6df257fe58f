"""Pictures inside documents (Office, LibreOffice, books, pages): what is said of them, where they
stand, and the text in them, which is recognised where the extra `ocr` is installed."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from ragstone.core.document import picture_id
from ragstone.core.errors import DocumentError, UnreadableDocument
from ragstone.ingest.document import Block
from ragstone.ingest.formats.image_file import is_figure
from ragstone.ingest.formats.package import open_archive, unpack_entry
from ragstone.ingest.formats.recognition import CHOSEN, PAGE_SECONDS, PICTURES_UNREAD, in_time
from ragstone.ingest.formats.types import PICTURES, Surroundings

MAX_PICTURES = 200
"""So many pictures of a document are read; their text takes a second or more each."""

MAX_SHOWN_PICTURES = 1_000
"""So many pictures of a document can be shown."""

KINDS = {**PICTURES, "gif": "GIF"}
"""The pictures that documents hold, as Pillow calls them, by their ending."""

_FOLDERS = ("media", "Pictures")
"""Elsewhere in a package stands a preview of the whole document."""

MAX_NAMED_PICTURES = 64
"""So many pictures are named whose text is not read."""

MIN_PICTURE_BYTES = 2_000
"""A smaller one holds no text that is worth it: a sign, a rule, a background."""

MAX_PICTURE_BYTES = 32 << 20
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
    """One picture: its kind as Pillow calls it, and its bytes when they are wanted. `name` is that
    in its id, where the one that the document calls it by is too long."""

    kind: str
    read: Callable[[], bytes]
    name: str = ""


class Pictures:
    """The pictures of one document by their names, each of which is read where it first stands."""

    def __init__(self, document: str, found: Mapping[str, EmbeddedPicture]) -> None:
        self._document = document
        self._recognition = CHOSEN.get()
        self._all = found
        self._waiting = dict(islice(found.items(), MAX_SHOWN_PICTURES))
        self._read = frozenset(islice(found, MAX_PICTURES))
        self._unshown = 0
        self._late: list[str] = []

    @property
    def metadata(self) -> dict[str, Any]:
        """How many pictures wait for the extra."""
        waits = self._all and self._recognition.wanted and not self._recognition.possible
        return {PICTURES_UNREAD: len(self._all)} if waits else {}

    @property
    def notes(self) -> tuple[str, ...]:
        count = f"{self._document} has {len(self._all):,} pictures; "
        notes = []
        if len(self._all) > MAX_PICTURES and self._recognition.possible:
            notes.append(f"{count}the text of the first {MAX_PICTURES:,} is read.")
        if len(self._all) > MAX_SHOWN_PICTURES:
            notes.append(f"{count}the first {MAX_SHOWN_PICTURES:,} can be shown.")
        return tuple(notes)

    def last_notes(self) -> tuple[str, ...]:
        """Return what turned out while the document was read."""
        notes = []
        if self._unshown:
            one = self._unshown == 1
            notes.append(
                f"{self._unshown:,} picture{'' if one else 's'} of {self._document} "
                f"{'is' if one else 'are'} damaged or too large, and left out."
            )
        if self._late:
            more = len(self._late) - MAX_NAMED_PICTURES
            named = ", ".join(self._late[:MAX_NAMED_PICTURES]) + (
                f" and {more:,} more" if more > 0 else ""
            )
            notes.append(
                f"The text in these pictures of {self._document} is not read, as recognising took "
                f"longer than {PAGE_SECONDS:,.0f} seconds: "
                f"{named}."
            )
        return tuple(notes)

    @property
    def recognition_count(self) -> int:
        """In how many pictures text is looked for."""
        return len(self._read) if self._recognition.possible else 0

    def waits(self, name: str) -> bool:
        """Tell whether the picture with this name is there and has not been met."""
        return name in self._waiting

    def content(self, name: str) -> bytes:
        """Return the bytes of the picture with this name in its id; raises UnreadableDocument."""
        for key, item in self._all.items():
            if name in (key, item.name):
                return item.read()
        raise UnreadableDocument(f"{self._document} holds no such picture.")

    def blocks(self, name: str, said: str, page: int | None = None) -> Iterator[Block]:
        """Yield what is said of the picture with this name in the package, and the text in it; of
        one of which neither is there, a caption without text."""
        said = " ".join(_GUESSED.sub("", said).split())
        said = said if _SAID.search(said) and not _NUMBERED.fullmatch(said) else ""
        figure, text = self._register_picture(name)
        if said or (figure and not text):
            yield Block(said, "caption", page=page, pictures=figure)
        for block in text:
            kind = "paragraph" if block.kind == "heading" else block.kind
            level = block.level * (kind == "item")
            yield replace(block, kind=kind, level=level, page=page, places=(), pictures=figure)

    def _register_picture(self, name: str) -> tuple[tuple[str, ...], list[Block]]:
        """Return the id of a picture that is met for the first time, none of an ornament, and the
        text in it."""
        if not self.waits(name):
            return (), []
        picture = self._waiting.pop(name)
        try:
            data = picture.read()
            if not is_figure(self._document, data):
                return (), []
        except DocumentError:
            # A damaged picture does not keep the text around it from being read.
            self._unshown += 1
            return (), []
        figure = (picture_id(data, picture.name or name),)
        # It can be shown all the same.
        if name not in self._read or not self._recognition.possible:
            return figure, []
        return figure, self._text(picture, name, data)

    def _text(self, picture: EmbeddedPicture, name: str, data: bytes) -> list[Block]:
        """Return the text in a picture, none once one took too long: what the document itself says
        is not to be lost with it."""
        from ragstone.ingest.formats.picture import read_embedded_picture  # Loads pdfium.

        if not self._late:
            work = partial(read_embedded_picture, picture.kind, name, data, self._recognition)
            try:
                return in_time(work, PAGE_SECONDS)
            except TimeoutError:
                pass
            except DocumentError:
                return []
        self._late.append(PurePosixPath(picture.name or name).name)
        return []


def read_package_pictures(path: Path, max_bytes: int | None, *, anywhere: bool = False) -> Pictures:
    """Those of a package: in the folders that Office and LibreOffice put them, or `anywhere`."""
    with open_archive(path, max_bytes) as archive:
        found = {
            entry.filename: EmbeddedPicture(kind, partial(_unpack, path, max_bytes, entry.filename))
            for entry in archive.infolist()
            if (kind := picture_kind(entry.filename))
            and (anywhere or PurePosixPath(entry.filename).parent.name in _FOLDERS)
            and is_worth_it(entry.file_size)
        }
    return Pictures(path.name, found)


def _unpack(path: Path, max_bytes: int | None, name: str) -> bytes:
    with open_archive(path, max_bytes) as archive:
        return unpack_entry(archive, archive.getinfo(name), MAX_PICTURE_BYTES) or b""


def picture_kind(name: str) -> str:
    """The kind of a picture as Pillow calls it, by its name; "" for one that cannot be read."""
    return KINDS.get(PurePosixPath(name).suffix.lower().removeprefix("."), "")


def is_worth_it(size: int) -> bool:
    """Tell whether a picture of so many bytes is looked at."""
    return MIN_PICTURE_BYTES <= size <= MAX_PICTURE_BYTES


def read_package_picture(
    path: Path, ending: str, max_bytes: int, around: Surroundings | None, name: str
) -> bytes:
    """Return the bytes of the picture with this name in a package; raises UnreadableDocument."""
    return read_package_pictures(path, None, anywhere=True).content(name)
