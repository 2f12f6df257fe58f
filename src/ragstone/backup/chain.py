"""A backup with those that it continues: an incremental one holds what they lack.

Files are known by their content: each names the hash of the whole file before it. Chunks are known
by their digests, so that what was changed in place, embedded or made again since is another chunk.
"""

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ragstone.backup.archive import ArchiveReader
from ragstone.backup.manifest import (
    ORIGINALS,
    ArchivePart,
    Base,
    Batch,
    Digests,
    Manifest,
    Original,
    places,
    sort_digests,
)
from ragstone.core.errors import InputError
from ragstone.ports import Rows

MAX_FILES = 400
"""Files of a chain: each is open while it is read, and Linux lets a process have 1,024."""

Key = tuple[str, str]
"""The tenant and the id of a collection."""

Content = Mapping[Key, Digests]
"""The digests of all chunks of each collection."""


class Chain:
    """The files of a backup, the oldest first; blocks. Raises InputError, which names the file,
    for one that is missing, another one or damaged: those before the last when it is made, the
    last when it is checked."""

    def __init__(self, file: Path, earlier: Sequence[Path] = ()) -> None:
        self._readers: list[ArchiveReader] = []
        try:
            self._open(file, earlier)
        except BaseException:
            self.close()
            raise
        self._content: Content = {}
        self._originals: dict[str, tuple[ArchiveReader, int, Original]] = {}
        self.documents: set[str] = set()

    def _open(self, file: Path, earlier: Sequence[Path]) -> None:
        given = _Given(earlier)
        self._readers.append(ArchiveReader(file))
        while base := self._readers[0].manifest.base:
            if len(self) == MAX_FILES:
                raise InputError(f"{file.name} continues more than {MAX_FILES - 1} others.")
            self._readers.insert(0, given.reader(base, self._readers[0]))
        given.check_used(file)

    def __len__(self) -> int:
        return len(self._readers)

    @property
    def last(self) -> ArchiveReader:
        """The file of the backup itself."""
        return self._readers[-1]

    @property
    def manifest(self) -> Manifest:
        return self.last.manifest

    @property
    def content(self) -> Content:
        """What the backup holds, after it was checked."""
        return self._content

    def check(self, parse: bool = True) -> Iterator[int]:
        """Read everything once, a file in each step; how many files have been read. As
        `ArchiveReader.check`."""
        for done, reader in enumerate(self._readers, 1):
            checked = reader.check(parse)
            content = {
                part.key: self._collection_digests(reader, number, part, checked.digests[number])
                for number, part in enumerate(reader.manifest.parts)
            }
            for number, original in enumerate(reader.originals()):
                if not original.kept:
                    self._originals.setdefault(original.sha256, (reader, number, original))
                elif self._find_original(original) is None:
                    raise reader.damage_error(ORIGINALS)
            self._content, self.documents = content, checked.documents
            yield done

    def _collection_digests(
        self, reader: ArchiveReader, number: int, part: ArchivePart, own: Digests
    ) -> Digests:
        """Return the digests of a collection after one more file."""
        if reader.manifest.base is None:
            return own
        before = self._content.get(part.key, sort_digests(()))
        at = places(reader.read_gone(number), before)
        if not (at < 0).any():
            kept = np.delete(before, at)
            found = sort_digests((kept.tobytes(), own.tobytes()))
            if len(kept) == part.kept and checksum(found) == part.content:
                return found
        raise reader.damage_error(f"index/{number:04}")

    def has_upload(self, sha256: str) -> bool:
        """Tell whether a file of the chain has this content."""
        return sha256 in self._originals

    def _find_original(self, original: Original) -> tuple[ArchiveReader, int, Original] | None:
        held = self._originals.get(original.sha256)
        return held if held and held[2].size == original.size else None

    def rows(self) -> Iterator[Rows]:
        """Return the state."""
        return self.last.rows()

    def copy_original(self, number: int, original: Original, to: BinaryIO) -> None:
        """Write the upload with this number `to` a file."""
        held = self._find_original(original) if original.kept else None
        reader, at, one = held or (self.last, number, original)
        reader.copy_original(at, one, to)

    def batches(self, number: int) -> Iterator[Batch]:
        """Yield the chunks of the collection with this number, from whatever file has them."""
        part = self.manifest.parts[number]
        if len(self) == 1:
            for item in range(part.batches):
                yield self.last.batch(number, item)
            return
        wanted = self._content[part.key]
        taken = np.zeros(len(wanted), bool)
        for reader in self._readers:
            for at, theirs in enumerate(reader.manifest.parts):
                for item in range(theirs.batches if theirs.key == part.key else 0):
                    digests, batch = reader.read_compared(at, item)
                    found = places(digests, wanted)
                    new = found >= 0
                    # A chunk that came back after it was gone is in two files.
                    new[new] = ~taken[found[new]]
                    taken[found[new]] = True
                    if new.any():
                        chunks = [batch.chunks[place] for place in np.flatnonzero(new).tolist()]
                        yield Batch(chunks, batch.vectors, batch.tokens)

    @cached_property
    def base(self) -> Base:
        """The last file as it was when this was asked first, for a backup that continues it."""
        manifest = self.manifest
        return Base(self.last.file.name, manifest.id, self.last.hash(), manifest.made)

    def close(self) -> None:
        for reader in self._readers:
            reader.close()


@dataclass
class _Given:
    """The files in which a chain is looked for, besides the folder of each file that continues
    another."""

    files: Sequence[Path]
    used: set[Path] = field(default_factory=set)

    def reader(self, base: Base, successor: ArchiveReader) -> ArchiveReader:
        """Return the file that another one continues; raises InputError."""
        beside = successor.file.with_name(base.name)
        for file in (*self.files, beside):
            if reader := _open_if_base(file, base):
                self.used.add(file)
                return reader
        for file in (*self.files, beside):
            if file.exists() and (file == beside or _archive_id(file) == base.id != ""):
                raise _other(file, base, successor)
        raise InputError(
            f"{successor.file.name} continues the backup {base.name} of {_day(base.made)}, and "
            f"there is no such file in {successor.file.parent}. Put it there, or name it behind "
            "the file to restore."
        )

    def check_used(self, last: Path) -> None:
        """Raise InputError for a file that is not one of the chain."""
        for file in self.files:
            if not file.exists():
                raise InputError(f"There is no file {file}.")
            if file not in self.used:
                raise InputError(f"{file.name} is not a backup that {last.name} continues.")


def _open_if_base(file: Path, base: Base) -> ArchiveReader | None:
    """Return the file, if it is the one of which another one noted this; its id is compared first,
    as its hash takes reading all of it."""
    try:
        reader = ArchiveReader(file)
    except InputError:
        return None
    try:
        # The id first, as the hash takes reading the whole file.
        if reader.manifest.id == base.id and reader.hash() == base.sha256:
            return reader
    except BaseException:
        reader.close()
        raise
    reader.close()
    return None


def _other(file: Path, base: Base, successor: ArchiveReader) -> InputError:
    """Return the error for a file that is not what it is taken for."""
    name = successor.file.name
    try:
        one = ArchiveReader(file)
    except InputError:
        return InputError(
            f"The backup {file.name}, which {name} continues, is damaged or cut off, or is none. "
            "Take another copy of it."
        )
    one.close()
    if base.id and one.manifest.id == base.id:
        return InputError(
            f"The backup {file.name} is damaged: its checksum is not the one in {name}, which "
            "continues it. Take another copy of it."
        )
    return InputError(
        f"{file.name} is another backup, of {_day(one.manifest.made)}, than the one of "
        f"{_day(base.made)} that {name} continues."
    )


def _archive_id(file: Path) -> str:
    try:
        reader = ArchiveReader(file)
    except InputError:
        return ""
    reader.close()
    return reader.manifest.id


def _day(made: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(made))


def checksum(content: Digests) -> str:
    """Hash all digests of a collection."""
    return hashlib.sha256(content.tobytes()).hexdigest()
