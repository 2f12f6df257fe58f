"""Archives that were found, as folders: their members in their place."""

import os
import shutil
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ragstone.core.errors import DocumentError, EmptyDocument, UnreadableDocument
from ragstone.ingest import file_threads, uploads
from ragstone.ingest.files import (
    HIDDEN,
    NO_ENDING,
    FoundFile,
    SkippedFile,
    build_skipped_file,
    is_description_file,
)
from ragstone.ingest.formats.types import list_endings
from ragstone.ingest.parse_messages import ArchiveMember
from ragstone.ingest.places import is_archive, is_hidden
from ragstone.ingest.progress import Tracker

UNPACKED = ".members"
"""What the name of an archive that was handed over gets for the folder of its members."""

ListMembers = Callable[[FoundFile, Path | None], Awaitable[Sequence[ArchiveMember]]]
"""Lists the members of an archive, and unpacks them into a folder; raises DocumentError."""


@dataclass(frozen=True, slots=True)
class OpenedArchives:
    """The files of an ingest, and the archives that some of them are members of."""

    files: Sequence[FoundFile]
    archives: Sequence[FoundFile]


async def open_archives(
    found: Sequence[FoundFile], list_members: ListMembers, tracker: Tracker, *, pictures: bool
) -> OpenedArchives:
    """Put the members of each archive in its place. One that cannot be opened is refused.

    Those of an archive on the disk are unpacked when they are read. One that was handed over is
    deleted in the end, so its members are files beside it until then.
    """
    files: list[FoundFile] = []
    archives: list[FoundFile] = []
    for item in found:
        if item.skipped or not is_archive(item.place) or (item.handed and item.handed.single):
            files.append(item)
            continue
        folder = _member_folder(item) if item.handed else None
        try:
            if folder is not None:
                if uploads.is_ingested(item):
                    continue  # An earlier run of the job has done with all of it.
                await file_threads.run([folder], shutil.rmtree, folder, True)
            members = await list_members(item, folder)
            archives.append(item)
            listed = list(_files(item, members, pictures=pictures))
            readable = [file for file in listed if isinstance(file, FoundFile)]
            files += readable
            for file in listed:
                if isinstance(file, SkippedFile):
                    tracker.count_skipped(file.kind)
                    files += [file.file] if file.file else []
            if not readable:
                raise EmptyDocument(f"{item.source.name} holds no file that can be read.")
        except DocumentError as error:
            files.append(replace(item, refusal=error))
            if folder is not None:
                await file_threads.run([folder], shutil.rmtree, folder, True)
    return OpenedArchives(files, archives)


def forget_archives(archives: Sequence[FoundFile]) -> None:
    """Delete those that were handed over, whose members are done. Blocking."""
    for item in archives:
        if item.handed:
            shutil.rmtree(_member_folder(item), ignore_errors=True)
            uploads.forget(item)


def _member_folder(item: FoundFile) -> Path:
    return item.source.with_name(item.source.name + UNPACKED)


def _files(
    item: FoundFile, members: Sequence[ArchiveMember], *, pictures: bool
) -> Iterator[FoundFile | SkippedFile]:
    endings = list_endings(pictures=pictures)
    for member in members:
        path = f"{item.path}/{member.path}"
        ending = os.path.splitext(member.path)[1].lower()
        if is_hidden(member.path):
            yield SkippedFile(path, HIDDEN)
        elif is_description_file(os.path.basename(member.path)):
            yield SkippedFile(path, ending or NO_ENDING)
        elif ending not in endings:
            yield build_skipped_file(_file(item, member, path), pictures=pictures)
        else:
            yield _file(item, member, path)


def _file(item: FoundFile, member: ArchiveMember, path: str) -> FoundFile:
    refusal = UnreadableDocument(member.refusal) if member.refusal else None
    about, place = item.handed, f"{item.place}/{member.path}"
    if about is not None:
        # One that cannot be unpacked is nowhere.
        place = member.file or str(_member_folder(item) / member.path)
        about = replace(
            about,
            file=place,
            path=path,
            source=f"{about.source}/{member.path}",
            title="",
            metadata={key: value for key, value in about.metadata.items() if key != "title"},
        )
    return FoundFile(
        place=place,
        path=path,
        root=item.root,
        size=member.size,
        modified=item.modified,
        handed=about,
        digest="" if about else member.digest,
        refusal=refusal,
    )
