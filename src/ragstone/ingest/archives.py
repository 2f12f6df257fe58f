"""ZIP archives as folders: the place of a member is that of its archive with its path in it."""

import os
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, cast

from ragstone.core.errors import DocumentError, UnreadableDocument
from ragstone.ingest.files import FOLDER_FILE
from ragstone.ingest.formats.archive import entries_by_name, unpack
from ragstone.ingest.formats.members import MAX_DEPTH, file_name, is_readable
from ragstone.ingest.formats.package import archive_errors, check_archive, check_totals
from ragstone.ingest.formats.types import ZIP, check_type
from ragstone.ingest.metadata import MAX_METADATA_BYTES
from ragstone.ingest.parse_messages import ArchiveMember
from ragstone.ingest.places import is_archive, is_hidden, locate_member, open_regular

CLOSED = (
    "A ragstone.yaml in the archive says who may read this. Unpack the archive, and ingest the "
    "folder."
)

_NAME_BYTES = 200


@dataclass(frozen=True, slots=True)
class _OpenArchive:
    """An archive that stays open for the next of its members. `identity` tells a changed file from
    the one that was opened."""

    identity: tuple[object, ...]
    file: BinaryIO
    archive: zipfile.ZipFile
    entries: Mapping[str, zipfile.ZipInfo]


_opened: list[_OpenArchive] = []
"""The archive that a member was last asked of, then those in it that lead to that member."""


def list_members(path: Path, max_bytes: int, folder: Path | None = None) -> Iterator[ArchiveMember]:
    """Yield the members of an archive and of the archives in it, which together unpack to at most
    `max_bytes`; with a `folder` those that can be read are unpacked into it.

    Raises WrongType, UnreadableDocument, EncryptedDocument or ArchiveBomb. A member that cannot be
    unpacked says so itself.
    """
    check_type(path, ZIP)
    with open(path, "rb", opener=open_regular) as file:
        yield from _Listing(path, max_bytes, folder).members(file, "", 1)


@contextmanager
def unpack_member(place: Path, max_bytes: int) -> Iterator[Path]:
    """Unpack the member of an archive that has this place, for as long as it is read.

    Raises UnreadableDocument, EncryptedDocument or ArchiveBomb.
    """
    path, name = locate_member(place)
    with tempfile.TemporaryDirectory(prefix="ragstone-") as folder:
        with archive_errors(Path(path)):
            opened, name = _find(path, name, max_bytes)
            target = Path(folder) / _name(name)
            with target.open("wb") as file:
                unpack(opened.archive, opened.entries[name], file)
        yield target


def _find(path: str, name: str, max_bytes: int) -> tuple[_OpenArchive, str]:
    """Return the innermost archive that a member stands in, and its path there."""
    try:
        file = open(path, "rb", opener=open_regular)  # noqa: SIM115 - it stays open
    except OSError as error:
        raise UnreadableDocument(f"{Path(path).name} cannot be read: {error.strerror}.") from error
    about = os.fstat(file.fileno())
    identity: tuple[object, ...] = (path, about.st_ino, about.st_size, about.st_mtime_ns)
    opened = _open(0, identity, file, Path(path), max_bytes)
    for depth in range(1, MAX_DEPTH + 1):
        if name in opened.entries:
            return opened, name
        parts = name.split("/")
        leads = ("/".join(parts[:end]) for end in range(1, len(parts)))
        inner = next((lead for lead in leads if is_archive(lead) and lead in opened.entries), None)
        if inner is None:
            break
        identity, name = (*identity, inner), name[len(inner) + 1 :]
        if len(_opened) > depth and _opened[depth].identity == identity:
            opened = _opened[depth]
            continue
        data = cast(BinaryIO, tempfile.TemporaryFile())  # noqa: SIM115 - it stays open
        unpack(opened.archive, opened.entries[inner], data)
        opened = _open(depth, identity, data, Path(inner), max_bytes)
    raise UnreadableDocument(f"{name} is no longer in {Path(path).name}.")


def _open(
    depth: int, identity: tuple[object, ...], file: BinaryIO, path: Path, max_bytes: int
) -> _OpenArchive:
    """Open the archive in a file, which then is its own, or close the file of one that is open."""
    if len(_opened) > depth and _opened[depth].identity == identity:
        file.close()
        return _opened[depth]
    for old in _opened[depth:]:
        old.archive.close()
        old.file.close()
    del _opened[depth:]
    archive = zipfile.ZipFile(file)
    check_archive(path, archive.infolist(), max_bytes)
    _opened.append(_OpenArchive(identity, file, archive, entries_by_name(archive)))
    return _opened[depth]


def _name(name: str) -> str:
    """Return a name for the disk; errors show it, and it is a title where the document has none."""
    last = name.rpartition("/")[2]
    if sys.platform == "win32" or len(os.fsencode(last)) > _NAME_BYTES:
        return file_name(last, Path(last).suffix.lower())
    return last


class _Listing:
    """Lists an archive with those in it: what they unpack to and hold counts together."""

    def __init__(self, path: Path, max_bytes: int, folder: Path | None) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._folder = folder
        self._entries = self._bytes = self._unpacked = 0

    def members(self, file: BinaryIO, above: str, depth: int) -> Iterator[ArchiveMember]:
        """Yield the members of an archive that is open; `above` is its own path, with a slash."""
        path = Path(above) if above else self._path
        with archive_errors(path), zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
            check_archive(path, infos, self._max_bytes)
            self._entries += len(infos)
            self._bytes += sum(entry.file_size for entry in infos)
            check_totals(self._path, self._entries, self._bytes, self._max_bytes)
            entries = entries_by_name(archive)
            closed = tuple(_find_closed_folders(archive, entries))
            for name, entry in entries.items():
                place = above + name
                member = ArchiveMember(
                    place, entry.file_size, f"{entry.CRC:08x}-{entry.file_size:x}"
                )
                if is_hidden(name) or not is_readable(name):
                    yield member
                elif name.startswith(closed):
                    yield replace(member, refusal=CLOSED)
                elif is_archive(name):
                    yield from self._inner(archive, entry, member, depth + 1)
                elif self._folder:
                    yield self._unpack(archive, entry, member)
                else:
                    yield member

    def _inner(
        self, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, member: ArchiveMember, depth: int
    ) -> Iterator[ArchiveMember]:
        """Yield the members of an archive in another one; itself if it cannot be opened."""
        try:
            if depth > MAX_DEPTH:
                raise UnreadableDocument(
                    f"{member.path} stands too deep in other archives. Unpack it there."
                )
            with archive_errors(Path(member.path)), tempfile.TemporaryFile() as data:
                unpack(archive, entry, cast(BinaryIO, data))
                yield from self.members(cast(BinaryIO, data), f"{member.path}/", depth)
        except DocumentError as error:
            yield _refuse_member(member, error)

    def _unpack(
        self, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, member: ArchiveMember
    ) -> ArchiveMember:
        assert self._folder is not None  # noqa: S101 - asked before
        folder = self._folder / str(self._unpacked)
        self._unpacked += 1
        folder.mkdir(mode=0o700, parents=True)
        target = folder / _name(member.path)
        try:
            with archive_errors(Path(member.path)), target.open("wb") as file:
                unpack(archive, entry, file)
        except DocumentError as error:
            target.unlink(missing_ok=True)
            return _refuse_member(member, error)
        return replace(member, file=str(target))


def _find_closed_folders(
    archive: zipfile.ZipFile, entries: Mapping[str, zipfile.ZipInfo]
) -> Iterator[str]:
    """Yield the folders whose ragstone.yaml names readers, each with a slash behind it. One that
    cannot be read may name some."""
    for name, entry in entries.items():
        folder, _, last = name.rpartition("/")
        if last == FOLDER_FILE:
            try:
                with archive.open(entry) as file:
                    says = b"readers" in file.read(MAX_METADATA_BYTES)
            except (OSError, RuntimeError, ValueError, zipfile.BadZipFile, zlib.error):
                says = True
            if says:
                yield f"{folder}/" if folder else ""


def _refuse_member(member: ArchiveMember, error: DocumentError) -> ArchiveMember:
    return replace(member, refusal=error.message)
